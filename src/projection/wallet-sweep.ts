import { dayMs } from '../clock.ts'
import { indexes, walletAggregate, walletEntriesPrefix } from '../engine/format/layout.ts'
import { newestFirst } from '../engine/format/newest-first.ts'
import { createIndexRound } from './index-round.ts'
import type { SweepOptions } from './row-sweep.ts'

const entriesPerTurn = 200

/**
 * Takes entries whose time is over out of the statements of wallets, a portion at a time; resolves to whether there
 * may be more. What a wallet has, and all that ever came into it, are sums of its own that no entry is needed for.
 */
export function createWalletSweep(options: SweepOptions): () => Promise<boolean> {
  const { store, aggregates, clock, retentionDays } = options
  /** The last that was looked at of the wallet at hand: an entry that cannot be taken out is met once. */
  let last = ''
  const round = createIndexRound(store, indexes.walletEntries, 2, async (names) => {
    const [organizationId = '', currency = ''] = names
    const oldestMs = clock.nowMs() - retentionDays * dayMs
    const prefix = walletEntriesPrefix(organizationId, currency)
    const after = last.startsWith(prefix) ? last : prefix + newestFirst(oldestMs - 1)
    last = ''
    const entries = await store.range(indexes.walletEntries, after, entriesPerTurn)
    const old = entries.filter(({ sortKey }) => sortKey.startsWith(prefix))
    if (old.length === 0) return false
    const unindex = old.map(({ sortKey }) => ({ index: indexes.walletEntries, sortKey }))
    await aggregates.change({
      aggregate: walletAggregate(organizationId, currency),
      decide: () => ({ result: undefined, write: { unindex } }),
    })
    if (old.length < entriesPerTurn) return false
    last = old.at(-1)!.sortKey
    return true
  })
  // What a wrong clock takes out does not come back.
  return async () => !clock.isDoubted() && round()
}
