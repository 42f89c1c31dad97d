import type { Transaction } from '../domain/record/transaction.ts'
import { chargeSortKey, indexes } from '../engine/format/layout.ts'
import { dueSortKey } from '../engine/writes.ts'
import type { IndexEntryPut, Store } from '../store/port.ts'

const chargesPerRead = 500

/** Since when charges are pending stands in their list alone; the oldest is taken first. */
export async function pendingSince(
  store: Store,
  accountId: string,
): Promise<ReadonlyMap<string, string>> {
  const since = new Map<string, string>()
  const prefix = `${accountId}\n`
  for (let after = prefix; ; ) {
    const page = await store.range(indexes.charges, after, chargesPerRead)
    const own = page.filter(({ sortKey }) => sortKey.startsWith(prefix))
    for (const { sortKey, value } of own) since.set(sortKey, value)
    if (own.length < chargesPerRead) return since
    after = own.at(-1)!.sortKey
  }
}

/** Where a transaction stands among what is looked at again, and among what is taken later. */
export function placesOfTransaction(
  accountId: string,
  record: Transaction,
  since: ReadonlyMap<string, string>,
): IndexEntryPut[] {
  const places: IndexEntryPut[] = []
  if (record.chargePendingMinor > 0) {
    const sortKey = chargeSortKey(accountId, record)
    const value = since.get(sortKey) ?? String(record.lastEventAtMs)
    places.push({ index: indexes.charges, sortKey, value })
  }
  if (record.dueAtMs !== 0) {
    places.push({ index: indexes.due, sortKey: dueSortKey(accountId, record), value: '' })
  }
  return places
}
