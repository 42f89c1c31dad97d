import { dayMs, type FollowedClock } from '../clock.ts'
import type { Aggregates } from '../engine/aggregates.ts'
import { indexes } from '../engine/format/layout.ts'
import { newestFirst } from '../engine/format/newest-first.ts'
import type { IndexEntry, IndexKey, Store } from '../store/port.ts'
import { createIndexRound } from './index-round.ts'
import { facetPrefix, indexKeysAt, rowPlaceOf } from './row-place.ts'

export interface SweepOptions {
  readonly store: Store
  readonly aggregates: Aggregates
  readonly clock: FollowedClock
  readonly retentionDays: number
}

const rowsPerTurn = 200

/**
 * Takes rows whose time is over out of the lists, a portion at a time; resolves to whether there may be more.
 * The rows themselves lie in groups that the store drops. All that is older than a time stands behind it in
 * the list of an organization, so nothing else is looked at.
 */
export function createRowSweep(options: SweepOptions): () => Promise<boolean> {
  const { store, clock, retentionDays } = options
  /** The last that was looked at of the organization at hand: an entry that cannot be taken out is met once. */
  let last = ''
  const round = createIndexRound(store, indexes.rows, 1, async ([organizationId = '']) => {
    const oldestMs = clock.nowMs() - retentionDays * dayMs
    const prefix = facetPrefix(organizationId, ['all', ''])
    const after = last.startsWith(prefix) ? last : prefix + newestFirst(oldestMs - 1)
    last = ''
    const entries = await store.range(indexes.rows, after, rowsPerTurn)
    const old = entries.filter(({ sortKey }) => sortKey.startsWith(prefix))
    const keys = keysByAggregate(organizationId, old)
    await Promise.all([...keys].map(([aggregate, own]) => unindex(options, aggregate, own)))
    if (old.length < rowsPerTurn) return false
    last = old.at(-1)!.sortKey
    return true
  })
  // What a wrong clock takes out does not come back.
  return async () => !clock.isDoubted() && round()
}

function keysByAggregate(
  organizationId: string,
  entries: readonly IndexEntry[],
): ReadonlyMap<string, readonly IndexKey[]> {
  const byAggregate = new Map<string, IndexKey[]>()
  for (const entry of entries) {
    const place = rowPlaceOf(entry)
    if (place === null) continue
    const { aggregate } = place.key
    const keys = byAggregate.get(aggregate) ?? []
    byAggregate.set(aggregate, [...keys, ...indexKeysAt(organizationId, entry, place)])
  }
  return byAggregate
}

function unindex(
  { aggregates }: SweepOptions,
  aggregate: string,
  keys: readonly IndexKey[],
): Promise<void> {
  return aggregates.change({
    aggregate,
    decide: () => ({ result: undefined, write: { unindex: keys } }),
  })
}
