import { keepNewest } from '../bounded-map.ts'
import { type Clock, dayMs } from '../clock.ts'

/** Accounts that engines died of: two deaths, and the next engine does not touch it for a while. */
export interface Condemned {
  /** An engine ended while it decided on this account; true when it is set aside now. */
  died(aggregate: string): boolean
  /** What the next engine must not touch, and for how long. */
  list(): readonly CondemnedAccount[]
  /** Something else decides from now on: nothing is known about it. */
  forget(): void
}

interface CondemnedAccount {
  readonly aggregate: string
  readonly leftMs: number
}

const deathsToCondemn = 2
/** Deaths that are further apart have other reasons. */
const nearMs = 600_000
const firstMs = 600_000
const longestMs = dayMs
/** The oldest go first. */
export const maxSuspects = 1_000

interface Suspect {
  deaths: number
  diedMonoMs: number
  untilMonoMs: number
  lastsMs: number
}

export function createCondemned(clock: Pick<Clock, 'monoMs'>): Condemned {
  const suspects = new Map<string, Suspect>()

  return {
    died(aggregate) {
      const nowMonoMs = clock.monoMs()
      const known = suspects.get(aggregate)
      const fresh = { deaths: 0, diedMonoMs: nowMonoMs, untilMonoMs: 0, lastsMs: firstMs }
      const near = known && nowMonoMs - Math.max(known.diedMonoMs, known.untilMonoMs) < nearMs
      const suspect: Suspect = near ? known : fresh
      suspect.deaths++
      suspect.diedMonoMs = nowMonoMs
      keepNewest(suspects, aggregate, suspect, maxSuspects)
      if (suspect.deaths < deathsToCondemn) return false
      suspect.untilMonoMs = nowMonoMs + suspect.lastsMs
      // It was tried again, and an engine died again.
      suspect.lastsMs = Math.min(longestMs, 2 * suspect.lastsMs)
      return true
    },
    list() {
      const nowMonoMs = clock.monoMs()
      return [...suspects]
        .map(([aggregate, { untilMonoMs }]) => ({ aggregate, leftMs: untilMonoMs - nowMonoMs }))
        .filter(({ leftMs }) => leftMs > 0)
    },
    forget: () => suspects.clear(),
  }
}
