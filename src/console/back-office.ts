import { indexes, splitSortKey } from '../engine/format/layout.ts'
import { lookedAfterMs } from '../management/transfer/transfer.ts'
import type { IndexEntry, Store } from '../store/port.ts'
import { readPending } from '../webhook/pending.ts'
import { countedUpTo } from './page/counted.ts'
import type { BackOfficeShown } from './shape/now.ts'

/** What is under way besides decisions, of all instances. */
export async function readBackOffice(store: Store): Promise<BackOfficeShown> {
  const [webhooks, moving, kycs] = await Promise.all([
    readPending(store),
    store.range(indexes.moving, '', countedUpTo.transfers),
    store.range(indexes.kycsDue, '', countedUpTo.kycs),
  ])
  return {
    webhooks: webhooks.pending,
    oldestWebhookMs: webhooks.oldestMs,
    transfers: moving.length,
    oldestTransferMs: startedMs(moving),
    kycs: kycs.length,
  }
}

/** The list is in the order of when somebody must look after them. */
function startedMs([oldest]: readonly IndexEntry[]): number | null {
  return oldest === undefined ? null : splitSortKey(oldest.sortKey).atMs - lookedAfterMs
}
