import { dayMs } from '../clock.ts'
import { indexes, walletAggregate, walletEntriesPrefix } from '../engine/format/layout.ts'
import { newestFirst } from '../engine/format/newest-first.ts'
import { readOrganizations } from '../management/organization.ts'
import type { RowSweepOptions } from './row-sweep.ts'

const entriesPerTurn = 200

/**
 * Takes entries whose time is over out of the statements of wallets, a portion at a time; resolves to whether there
 * may be more. What a wallet has, and all that ever came into it, are sums of its own that no entry is needed for.
 */
export async function sweepWalletEntries(options: RowSweepOptions): Promise<boolean> {
  const { store, aggregates, clock, retentionDays } = options
  // What a wrong clock takes out does not come back.
  if (clock.isDoubted()) return false
  const oldestMs = clock.nowMs() - retentionDays * dayMs
  for (const { organizationId, currencies } of await readOrganizations(store)) {
    for (const currency of currencies) {
      const prefix = walletEntriesPrefix(organizationId, currency)
      const after = prefix + newestFirst(oldestMs - 1)
      const entries = await store.range(indexes.walletEntries, after, entriesPerTurn)
      const old = entries.filter(({ sortKey }) => sortKey.startsWith(prefix))
      if (old.length === 0) continue
      const unindex = old.map(({ sortKey }) => ({ index: indexes.walletEntries, sortKey }))
      await aggregates.change({
        aggregate: walletAggregate(organizationId, currency),
        decide: () => ({ result: undefined, write: { unindex } }),
      })
      return true
    }
  }
  return false
}
