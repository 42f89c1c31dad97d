import type { Clock } from '../clock.ts'
import { createTouchCell, readTouchCell, type TouchCell } from '../engine/quarantine/touch-cell.ts'
import { type Condemned, createCondemned } from './condemned.ts'

/** Sees which account an engine is deciding on, and condemns the one that engines died of. */
export interface TouchWatch extends Pick<Condemned, 'list' | 'forget'> {
  /** For the next engine to show it in. */
  newCell(): TouchCell
  /** What it was deciding on when it ended is what it ended by, unless that is chance: see `Condemned`. */
  suspect(): void
  /** How many looks in a row have found the engine inside one and the same decision. */
  looksInside(): number
}

export function createTouchWatch(
  clock: Clock,
  onDamage: (record: string, problem: string) => void,
): TouchWatch {
  const condemned = createCondemned(clock)
  let touched = createTouchCell()
  let sequenceSeen = -1
  let looks = 0
  return {
    list: condemned.list,
    forget: condemned.forget,
    newCell() {
      touched = createTouchCell()
      return touched
    },
    suspect() {
      const { aggregate } = readTouchCell(touched)
      if (aggregate === '' || !condemned.died(aggregate)) return
      onDamage(aggregate, 'engines died while they decided on it: it is left alone for a while')
    },
    looksInside() {
      const { aggregate, sequence } = readTouchCell(touched)
      looks = aggregate !== '' && sequence === sequenceSeen ? looks + 1 : 0
      sequenceSeen = sequence
      return looks
    },
  }
}
