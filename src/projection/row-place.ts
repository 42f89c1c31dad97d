import { dayMs } from '../clock.ts'
import { indexes, rowsAggregate } from '../engine/format/layout.ts'
import { newestFirst, newestFirstAt } from '../engine/format/newest-first.ts'
import { lastDayOf } from '../store/dated-group.ts'
import type { ChildKey, IndexEntry, IndexEntryPut, IndexKey, Key } from '../store/port.ts'
import type { RowStatus, TransactionRow, TransactionType } from './row.ts'

/**
 * Where rows of the transactions list lie. A row is a child of a group that the store drops whole when
 * its time is over. Every list that it stands in has an entry in the index `rows`:
 *
 *     <organization> <facet> <value> <time, newest first> <account> <number of its entry> <part>
 */

/**
 * The types and states that are a good part of the rows of any organization: a list of them is found among
 * all rows. Which currency is rare differs from one organization to the next, so each has entries.
 */
const commonTypes: readonly TransactionType[] = ['Authorization', 'Settlement']
const commonStatuses: readonly RowStatus[] = ['Approved', 'Booked']

/** What a list of rows is narrowed by; each narrowing has entries of its own. */
export type Facet =
  | readonly ['all', '']
  | readonly ['card', string]
  | readonly ['customer', string]
  | readonly ['transaction', string]
  | readonly ['type', TransactionType]
  | readonly ['status', RowStatus]
  | readonly ['currency', string]

/** Whether there are entries for it; other narrowings are looked for among more rows. */
export function hasFacet(facet: Facet): boolean {
  const [name, value] = facet
  if (name === 'type') return !commonTypes.includes(value)
  if (name === 'status') return !commonStatuses.includes(value)
  return name === 'all' || value !== ''
}

function facetsOf(row: TransactionRow): readonly Facet[] {
  const facets: readonly Facet[] = [
    ['card', row.cardId],
    ['customer', row.customerId],
    ['transaction', row.transactionId],
    ['type', row.type],
    ['status', row.status],
    ['currency', row.currency],
  ]
  return facets.filter(hasFacet)
}

const letters = {
  all: 'a',
  card: 'c',
  customer: 'u',
  transaction: 't',
  type: 'k',
  status: 's',
  currency: 'm',
}

/** What the sort keys of a list begin with. */
export function facetPrefix(organizationId: string, [name, value]: Facet): string {
  return `${organizationId}\n${letters[name]}\n${value}\n`
}

function tailOf({ bookedAtMs, accountId, n, part }: TransactionRow): string {
  return `${newestFirst(bookedAtMs)}\n${accountId}\n${newestFirst(n)}\n${part}`
}

/** The last day on which a row is kept. */
function lastDayOfRow(bookedAtMs: number, retentionDays: number): number {
  return Math.floor(bookedAtMs / dayMs) + retentionDays
}

export function rowKey(row: TransactionRow, retentionDays: number): ChildKey {
  return childAt(lastDayOfRow(row.bookedAtMs, retentionDays), row.accountId, row.n, row.part)
}

/** What the groups of rows begin with; the last day that they are kept on follows. */
export const rowGroup = 'row@'

function childAt(lastDay: number, accountId: string, n: number, part: number): ChildKey {
  return { group: `${rowGroup}${lastDay}`, id: `${accountId}\n${n}\n${part}` }
}

/**
 * Where a row stands that lies under this key. The entry among all rows says in which other lists the row stands, so that it can be taken out of all of
 * them when it is no longer there to say so.
 */
export function rowIndexEntries(row: TransactionRow, { group }: ChildKey): IndexEntryPut[] {
  const lastDay = lastDayOf(group)
  const facets = facetsOf(row)
  const tail = tailOf(row)
  const entryAt = (facet: Facet, value: string): IndexEntryPut => ({
    index: indexes.rows,
    sortKey: facetPrefix(row.organizationId, facet) + tail,
    value,
  })
  const ofAll = JSON.stringify([lastDay, ...facets])
  return [entryAt(['all', ''], ofAll), ...facets.map((facet) => entryAt(facet, `[${lastDay}]`))]
}

/** Where the row of an index entry is, and what must be in it. */
export interface RowPlace {
  readonly key: Key
  readonly bookedAtMs: number
  /** In which lists besides that of all rows it stands; told by the entries among all rows. */
  readonly facets: readonly Facet[]
}

/** null for an entry that names no row. */
export function rowPlaceOf({ sortKey, value }: IndexEntry): RowPlace | null {
  const [, , , at = '', accountId = '', number = '', last = ''] = sortKey.split('\n')
  const [bookedAtMs, n] = [newestFirstAt(at, 0), newestFirstAt(number, 0)]
  const part = Number(last)
  const told = readValue(value)
  if (told === null || ![bookedAtMs, n, part].every(Number.isSafeInteger)) return null
  const [lastDay, ...facets] = told
  const key = { aggregate: rowsAggregate(accountId), ...childAt(lastDay, accountId, n, part) }
  return { key, bookedAtMs, facets }
}

function readValue(value: string): [number, ...Facet[]] | null {
  try {
    const told = JSON.parse(value)
    return Array.isArray(told) && Number.isSafeInteger(told[0]) ? (told as never) : null
  } catch {
    return null
  }
}

/** A number may be used again after a failover that lost what had it: then an older entry names another row. */
export function isRowAt(row: TransactionRow, { bookedAtMs }: RowPlace): boolean {
  return row.bookedAtMs === bookedAtMs
}

/** All entries of the row that an entry among all rows names. */
export function indexKeysAt(
  organizationId: string,
  { sortKey }: IndexEntry,
  place: RowPlace,
): IndexKey[] {
  const tail = sortKey.slice(facetPrefix(organizationId, ['all', '']).length)
  return [
    { index: indexes.rows, sortKey },
    ...place.facets.map((facet) => ({
      index: indexes.rows,
      sortKey: facetPrefix(organizationId, facet) + tail,
    })),
  ]
}
