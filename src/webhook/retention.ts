import { dayMs, type FollowedClock } from '../clock.ts'
import type { Aggregates } from '../engine/aggregates.ts'
import { indexes } from '../engine/format/layout.ts'
import { newestFirst } from '../engine/format/newest-first.ts'
import type { IndexEntry, Store } from '../store/port.ts'
import { readPlace } from './event.ts'

const pageLength = 500

/** Takes events that are over from the list of events; their records are dropped by the store itself. */
export async function unlistOldEvents(
  store: Store,
  aggregates: Aggregates,
  clock: Pick<FollowedClock, 'nowMs' | 'isDoubted'>,
  retentionDays: number,
): Promise<number> {
  // What a wrong clock takes out does not come back.
  if (clock.isDoubted()) return 0
  const beforeMs = clock.nowMs() - retentionDays * dayMs
  let count = 0
  for (let after = ''; ; ) {
    const [first] = await store.range(indexes.events, after, 1)
    if (first === undefined) return count
    const [organizationId = ''] = first.sortKey.split('\n')
    for (let old = `${organizationId}\n${newestFirst(beforeMs)}`; ; ) {
      const page = await store.range(indexes.events, old, pageLength)
      const own = page.filter(({ sortKey }) => sortKey.startsWith(`${organizationId}\n`))
      await Promise.all(own.map((entry) => unlist(aggregates, entry)))
      count += own.length
      if (own.length < pageLength) break
      // One that names no place of its own stays where it is, and must not be met again and again.
      old = own.at(-1)!.sortKey
    }
    const behind = `${organizationId}\u000b`
    // One whose bytes no text stands for comes again after any text.
    if (behind === after) return count
    after = behind
  }
}

function unlist(aggregates: Aggregates, { sortKey, value }: IndexEntry): Promise<void> {
  const { aggregate } = readPlace(value, '')
  const unindex = [{ index: indexes.events, sortKey }]
  return aggregates.change({ aggregate, decide: () => ({ result: undefined, write: { unindex } }) })
}
