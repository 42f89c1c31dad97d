import type { CardEvent } from '../domain/event.ts'
import type { Answer } from '../domain/event-record.ts'

/** Something that the relay was told, in the slot it was told in. */
export interface Told {
  readonly event: CardEvent
  readonly slot: string
  readonly receivedAtMs: number
  readonly answer: Answer
  readonly toldMonoMs: number
}

/** What was told in the last minute, to be booked again when a failover has lost it. */
export interface Recall {
  readonly size: number
  note(told: Told): void
  /** All of it that is not too old, oldest first. */
  all(nowMonoMs: number): Told[]
}

/** Longer than replicas lag behind a master that still takes writes. */
const keptMs = 60_000
/** About 50 MB. Beyond it the oldest are forgotten before their time. */
const maxKept = 50_000

export function createRecall(): Recall {
  const bySlot = new Map<string, Told>()

  function dropOld(nowMonoMs: number): void {
    for (const [slot, { toldMonoMs }] of bySlot) {
      if (bySlot.size <= maxKept && nowMonoMs - toldMonoMs <= keptMs) return
      bySlot.delete(slot)
    }
  }

  return {
    get size() {
      return bySlot.size
    },
    note(told) {
      const known = bySlot.get(told.slot)
      // What is only booked again is no younger for it.
      if (known?.answer === told.answer) return
      // The last word counts, and what was told last is the last to go.
      if (known !== undefined) bySlot.delete(told.slot)
      bySlot.set(told.slot, told)
      dropOld(told.toldMonoMs)
    },
    all(nowMonoMs) {
      dropOld(nowMonoMs)
      return [...bySlot.values()]
    },
  }
}
