import type { Filter, FoundEntry } from '../backoffice/log-search.ts'
import type { LogLine, Store } from '../store/port.ts'

/** Follows the newest decisions for all browsers that want them, by one read a second. */
export interface DecisionWatch {
  /** What came in since the look before, newest first, as far as a filter wants it. */
  fresh(filter: Filter): readonly FoundEntry[]
  /** More came in than are followed. */
  readonly skipped: boolean
  look(): Promise<void>
}

/** A look reads no further back: nobody reads more than this in a second. */
const maxFollowed = 100
/** When several servers write at once, an entry may appear behind one that was read. */
const maxSeen = 3_000

export function createDecisionWatch(store: Pick<Store, 'tailLog'>): DecisionWatch {
  let seen = new Set<string>()
  let skipped = false
  let fresh: readonly LogLine[] = []

  return {
    get skipped() {
      return skipped
    },
    fresh(filter) {
      return fresh.flatMap((line) => filter(line) ?? [])
    },
    async look() {
      const lines = await store.tailLog(maxFollowed)
      const unseen = lines.filter(({ cursor }) => !seen.has(cursor))
      fresh = unseen.toReversed()
      skipped = seen.size > 0 && unseen.length === maxFollowed
      seen = new Set([...[...seen].slice(-maxSeen), ...unseen.map(({ cursor }) => cursor)])
    },
  }
}
