import type { Transaction } from '../domain/record/transaction.ts'
import { customerIndexEntries } from '../engine/format/customer-index.ts'
import { decodeEntry } from '../engine/format/entry-codec.ts'
import {
  accountAggregate,
  blocksAggregate,
  chargeSortKey,
  clientAggregate,
  customerAggregate,
  indexes,
  kycAggregate,
  rowsAggregate,
  splitSortKey,
  strayAggregate,
  trippedAggregate,
  walletAggregate,
} from '../engine/format/layout.ts'
import { RecordUnreadable } from '../engine/format/row-codec.ts'
import { entryIn } from '../engine/log-reading.ts'
import { decodePlace } from '../engine/quarantine/damage.ts'
import { duePlace } from '../engine/sweeper.ts'
import { dueSortKey } from '../engine/writes.ts'
import { decodeKyc, dueKyc, listedKyc } from '../kyc/kyc.ts'
import { decodeClient, listedClient } from '../management/client.ts'
import { decodeCustomer } from '../management/customer.ts'
import { decodeTransfer, movingEntry } from '../management/transfer/transfer.ts'
import { decodeWalletEntry } from '../management/wallet.ts'
import { transactionRowCodec } from '../projection/row.ts'
import { rowGroup, rowIndexEntries, rowPlaceOf } from '../projection/row-place.ts'
import type { IndexEntryPut, IndexRecord, Key, Store } from '../store/port.ts'
import { decodeEvent, entriesOfEvent, eventGroup, readPlace } from '../webhook/event.ts'

type Entry = Pick<IndexRecord, 'sortKey' | 'value'>
type IndexName = (typeof indexes)[keyof typeof indexes]

/** What the entries of one index are. */
interface IndexKind {
  /** The aggregate that wrote an entry: a store in partitions keeps the two together. */
  ownerOf(entry: Entry): string
  /** Throws RecordUnreadable. */
  check(entry: Entry): void
}

function partsOf(sortKey: string): string[] {
  return sortKey.split('\n')
}

function insist(holds: boolean, otherwise: string): void {
  if (!holds) throw new RecordUnreadable(otherwise)
}

function namedByValue(what: string, aggregateOf: (id: string) => string): IndexKind {
  return {
    ownerOf: ({ value }) => aggregateOf(value),
    check: ({ value }) => insist(decodePlace(value) !== '', `it names no ${what}`),
  }
}

/** What people should look at: the entry of the log that says so. */
const work: IndexKind = {
  ownerOf({ sortKey, value }) {
    return ownerOfEntry(value, accountAggregate(splitSortKey(sortKey).parts[0] ?? ''))
  },
  check: ({ value }) => void decodeEntry(value),
}

const eventPlace: IndexKind = {
  ownerOf: ({ value }) => readPlace(value, '').aggregate,
  check: ({ value }) =>
    insist(readPlace(value, '').group.startsWith(eventGroup), 'it names no event'),
}

/** An event whose card nobody knew belongs to no account, and what nobody can read to no one we know. */
export function ownerOfEntry(text: string, otherwise = strayAggregate('')): string {
  const entry = entryIn({ entry: text })
  if (entry === null) return otherwise
  const { accountId, event, notice } = entry
  if (notice !== undefined) return 'ruleId' in notice ? trippedAggregate : blocksAggregate
  return accountId === '' ? strayAggregate(event?.eventId ?? '') : accountAggregate(accountId)
}

/** Nothing is built with an index that is not here: what is not known can be neither copied nor checked. */
const byName: Readonly<Record<IndexName, IndexKind>> = {
  due: {
    ownerOf: ({ sortKey }) => accountAggregate(splitSortKey(sortKey).parts[0] ?? ''),
    check: ({ sortKey }) => insist(duePlace(sortKey) !== null, 'it names no transaction'),
  },
  unmatched: work,
  anomalies: work,
  cards: namedByValue('account', accountAggregate),
  clients: namedByValue('client', clientAggregate),
  customers: namedByValue('customer', customerAggregate),
  'organization-cards': namedByValue('account', accountAggregate),
  'customer-cards': namedByValue('account', accountAggregate),
  accounts: {
    ownerOf: ({ sortKey }) => accountAggregate(partsOf(sortKey)[0]!),
    check: ({ sortKey }) => insist(partsOf(sortKey).length === 2, 'it names no card'),
  },
  negative: {
    ownerOf: ({ sortKey }) => accountAggregate(partsOf(sortKey)[2] ?? ''),
    check: ({ sortKey }) => insist(partsOf(sortKey).length === 3, 'it names no account'),
  },
  rows: {
    ownerOf: (entry) => rowPlaceOf(entry)?.key.aggregate ?? rowsAggregate(''),
    check: (entry) => insist(rowPlaceOf(entry) !== null, 'it names no row'),
  },
  events: eventPlace,
  deliveries: eventPlace,
  kycs: namedByValue('KYC', kycAggregate),
  'kycs-due': namedByValue('KYC', kycAggregate),
  charges: {
    ownerOf: ({ sortKey }) => accountAggregate(partsOf(sortKey)[0]!),
    check: ({ sortKey, value }) =>
      insist(partsOf(sortKey).length === 3 && /^\d+$/.test(value), 'it names no pending charge'),
  },
  moving: {
    ownerOf: ({ sortKey }) => splitSortKey(sortKey).parts[0] ?? '',
    check: ({ sortKey }) => insist(partsOf(sortKey).length === 4, 'it names no transfer'),
  },
  'wallet-entries': {
    ownerOf({ sortKey }) {
      const [organizationId = '', currency = ''] = partsOf(sortKey)
      return walletAggregate(organizationId, currency)
    },
    check: ({ value }) => void decodeWalletEntry(value),
  },
}

const kinds = new Map<string, IndexKind>(Object.entries(byName))

/** Null for one that another release made. */
export function indexKindOf(index: string): IndexKind | null {
  return kinds.get(index) ?? null
}

/** Of these lists something goes on by itself, at a time: what has lost its place there would wait for ever. */
export const workIndexes: readonly string[] = [indexes.moving, indexes.deliveries, indexes.kycsDue]

/**
 * The places that a record must have, as it says itself; those of cards and their transactions follow from their
 * account. Throws RecordUnreadable.
 */
export function listPlacesOf(key: Key, value: string): IndexEntryPut[] {
  const { aggregate, group } = key
  if (value === '') return []
  if (group === 'x') return [{ ...movingEntry(decodeTransfer(value)), value: '' }]
  if (group.startsWith(eventGroup)) return entriesOfEvent(key, decodeEvent(value))
  if (group.startsWith(rowGroup)) return rowIndexEntries(transactionRowCodec.decode(value), key)
  if (group !== '') return []
  switch (aggregate.split(':', 1)[0]) {
    case 'k':
      return [listedClient(decodeClient(value)!)]
    case 'cu':
      return customerIndexEntries(decodeCustomer(value))
    case 'ky': {
      const kyc = decodeKyc(value)!
      return [listedKyc(kyc), ...dueKyc(kyc)]
    }
    default:
      return []
  }
}

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
