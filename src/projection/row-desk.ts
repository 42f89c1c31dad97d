import type { Entry } from '../domain/ledger/entry.ts'
import type { Aggregates } from '../engine/aggregates.ts'
import { indexes, rowsAggregate } from '../engine/format/layout.ts'
import { unlessUnreadable } from '../engine/format/row-codec.ts'
import type { IndexEntry, Store } from '../store/port.ts'
import type { Consumer } from './consumer.ts'
import { allTime, type Listing, readPage, type Span } from './listing.ts'
import {
  type RowStatus,
  type TransactionRow,
  type TransactionType,
  transactionRowCodec,
} from './row.ts'
import {
  type Facet,
  facetPrefix,
  hasFacet,
  isRowAt,
  rowIndexEntries,
  rowKey,
  rowPlaceOf,
} from './row-place.ts'

/** What rows are asked for; '' and null ask for all. */
export interface RowFilters {
  readonly cardId?: string | undefined
  readonly customerId?: string | undefined
  readonly transactionId?: string | undefined
  readonly currency?: string | undefined
  readonly transactionType?: TransactionType | undefined
  readonly status?: RowStatus | undefined
}

/** The rows of an organization that a filter lets through, from the list that has the fewest others. */
export function rowListing(
  store: Pick<Store, 'load'>,
  organizationId: string,
  filters: RowFilters,
  span: Span,
): Listing<TransactionRow> {
  const { cardId = '', customerId = '', transactionId = '', currency = '' } = filters
  const { transactionType, status } = filters
  const narrowing: readonly Facet[] = [
    ['transaction', transactionId],
    ['card', cardId],
    ['customer', customerId],
    ...(status === undefined ? [] : [['status', status] as const]),
    ...(transactionType === undefined ? [] : [['type', transactionType] as const]),
    ['currency', currency],
    ['all', ''],
  ]
  const facet = narrowing.find(hasFacet)!
  return {
    index: indexes.rows,
    prefix: facetPrefix(organizationId, facet),
    ...span,
    async read(entries) {
      const rows = await readRows(store, entries)
      return rows.map((row) => (row !== null && matches(row, filters) ? row : null))
    },
  }
}

function matches(row: TransactionRow, filters: RowFilters): boolean {
  const { cardId, customerId, transactionId, currency, transactionType, status } = filters
  return (
    (cardId === undefined || row.cardId === cardId) &&
    (customerId === undefined || row.customerId === customerId) &&
    (transactionId === undefined || row.transactionId === transactionId) &&
    (currency === undefined || row.currency === currency) &&
    (transactionType === undefined || row.type === transactionType) &&
    (status === undefined || row.status === status)
  )
}

/** null where an entry's row is gone, cannot be read, or is another. */
async function readRows(
  store: Pick<Store, 'load'>,
  entries: readonly IndexEntry[],
): Promise<(TransactionRow | null)[]> {
  const places = entries.map(rowPlaceOf)
  const found = await store.load(places.flatMap((place) => place?.key ?? []))
  let at = 0
  return places.map((place) => {
    const row = place === null ? null : decodeRow(found[at++]?.value)
    return row !== null && isRowAt(row, place!) ? row : null
  })
}

function decodeRow(value: string | null | undefined): TransactionRow | null {
  if (value === null || value === undefined) return null
  return unlessUnreadable(() => transactionRowCodec.decode(value))
}

const rowsPerSearch = 100

/** The row of the event that an entry is about; it is among those of its lifecycle. */
export async function findEventRow(
  store: Store,
  organizationId: string,
  { accountId, transaction, eventKey }: Entry,
): Promise<TransactionRow | null> {
  const listing = rowListing(store, organizationId, { transactionId: transaction[1] }, allTime)
  for (let place: string | null = ''; place !== null; ) {
    const page: Awaited<ReturnType<typeof readPage<TransactionRow>>> = await readPage(
      store,
      listing,
      place,
      rowsPerSearch,
    )
    const found = page.items.find((row) => row.accountId === accountId && keyOf(row) === eventKey)
    if (found !== undefined) return found
    place = page.next
  }
  return null
}

/** What the event of a row is kept under; '' for rows of no event. */
export function keyOf({ eventKey, eventId }: TransactionRow): string {
  return eventKey === '' ? eventId : eventKey
}

export interface RowDeskOptions {
  readonly aggregates: Aggregates
  readonly retentionDays: number
  readonly nowMs: () => number
}

/** Writes the rows of the transactions list. */
export function createRowDesk({ aggregates, retentionDays, nowMs }: RowDeskOptions): Consumer {
  return {
    name: 'the transactions list',
    async take(entries) {
      const oldestMs = nowMs() - retentionDays * 86_400_000
      const byAggregate = new Map<string, TransactionRow[]>()
      for (const row of entries.flatMap(({ rows }) => rows)) {
        if (row.bookedAtMs < oldestMs || row.organizationId === '') continue
        const aggregate = rowsAggregate(row.accountId)
        const rows = byAggregate.get(aggregate)
        if (rows === undefined) byAggregate.set(aggregate, [row])
        else rows.push(row)
      }
      await Promise.all([...byAggregate].map(([aggregate, rows]) => write(aggregate, rows)))
    },
  }

  function write(aggregate: string, rows: readonly TransactionRow[]): Promise<void> {
    const made = lastOfEach(rows).map((row) => {
      const { group, id } = rowKey(row, retentionDays)
      return { row, put: { group, id, value: transactionRowCodec.encode(row) } }
    })
    return aggregates.change({
      aggregate,
      reads: made.map(({ put: { group, id } }) => ({ group, id })),
      decide(view) {
        const written = made.filter(({ row, put }) => !isThere(view.child(put), row, put.value))
        if (written.length === 0) return { result: undefined, write: null }
        const put = written.map((one) => one.put)
        const index = written.flatMap((one) => rowIndexEntries(one.row, one.put))
        // A row that changes leaves the lists of what it was.
        const unindex = put.flatMap((key) => {
          const there = decodeRow(view.child(key))
          return there === null ? [] : rowIndexEntries(there, key)
        })
        return { result: undefined, write: { put, index, unindex } }
      },
    })
  }
}

/** An entry that comes again must not undo what a later one said of the same event. */
function isThere(found: string | null, row: TransactionRow, value: string): boolean {
  if (found === value) return true
  const there = decodeRow(found)
  return there !== null && keyOf(there) === keyOf(row) && there.revision > row.revision
}

/** A row that several entries of one turn made and changed is written as the last one left it. */
function lastOfEach(rows: readonly TransactionRow[]): TransactionRow[] {
  return [...new Map(rows.map((row) => [`${row.accountId}\n${row.n}\n${row.part}`, row])).values()]
}
