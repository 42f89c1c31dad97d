import { indexes } from '../../src/engine/format/layout.ts'
import { logPages } from '../../src/engine/log-reading.ts'
import { allTime, type Page, readPage } from '../../src/projection/listing.ts'
import { loggedIn, projectEntries } from '../../src/projection/projector.ts'
import type { TransactionRow } from '../../src/projection/row.ts'
import { type RowFilters, rowListing } from '../../src/projection/row-desk.ts'
import { rowIndexEntries, rowKey } from '../../src/projection/row-place.ts'
import type { Store } from '../../src/store/port.ts'

const retentionDays = 400

/** All rows that a filter lets through, page by page. */
export async function rowsIn(
  store: Store,
  organizationId: string,
  filters: RowFilters = {},
  limit = 7,
): Promise<TransactionRow[]> {
  const rows: TransactionRow[] = []
  const listing = rowListing(store, organizationId, filters, allTime)
  for (let place: string | null = ''; place !== null; ) {
    const page: Page<TransactionRow> = await readPage(store, listing, place, limit)
    rows.push(...page.items)
    place = page.next
  }
  return rows
}

interface RowCheck {
  readonly rows: number
  /** Rows of the log that the list lacks, or has otherwise, and rows that the log does not have. */
  readonly wrong: readonly TransactionRow[]
  /** Index entries beyond those of the rows, or missing. */
  readonly strayEntries: number
}

/** Compares the list of an organization with what the whole log says. */
export async function checkRows(store: Store, organizationId: string): Promise<RowCheck> {
  const entries = []
  for await (const page of logPages(store)) for (const line of page) entries.push(loggedIn(line)!)
  const expected = new Map<string, TransactionRow>()
  for (const { rows } of await projectEntries(store, entries)) {
    for (const row of rows) {
      if (row.organizationId === organizationId) expected.set(nameOf(row), row)
    }
  }
  const found = await rowsIn(store, organizationId, {}, 100)
  const wrong = found.filter((row) => textOf(row) !== textOf(expected.get(nameOf(row))))
  const seen = new Set(found.map(nameOf))
  wrong.push(...[...expected.values()].filter((row) => !seen.has(nameOf(row))))
  if (seen.size < found.length) wrong.push(...found)
  const wanted = [...expected.values()].flatMap((row) =>
    rowIndexEntries(row, rowKey(row, retentionDays)),
  )
  const kept = await store.range(indexes.rows, '', 1_000_000)
  const own = kept.filter(({ sortKey }) => sortKey.startsWith(`${organizationId}\n`))
  return { rows: found.length, wrong, strayEntries: own.length - wanted.length }
}

function nameOf({ accountId, n, part }: TransactionRow): string {
  return `${accountId} ${n} ${part}`
}

function textOf(row: TransactionRow | undefined): string {
  return JSON.stringify(row)
}
