import { expect, it } from 'vitest'
import { createAggregates } from '../../src/engine/aggregates.ts'
import { indexes } from '../../src/engine/format/layout.ts'
import type { ProjectedEntry } from '../../src/projection/consumer.ts'
import { allTime, readPage } from '../../src/projection/listing.ts'
import { blankRow, type TransactionRow } from '../../src/projection/row.ts'
import { createRowDesk, type RowFilters, rowListing } from '../../src/projection/row-desk.ts'
import { createMemoryStore } from '../support/memory-store.ts'

const nowMs = Date.UTC(2026, 10, 15, 10)
const dayMs = 86_400_000

const asked: TransactionRow = {
  ...blankRow,
  accountId: 'account-1',
  organizationId: 'org-1',
  n: 7,
  revision: 7,
  bookedAtMs: nowMs,
  type: 'CashWithdrawal',
  status: 'Declined',
  cardId: 'card-1',
  transactionId: 'txn-1',
  eventId: 'evt-1',
}

function openDesk() {
  const store = createMemoryStore()
  let versions = 0
  const aggregates = createAggregates({ store, newVersion: () => `v${versions++}` })
  const desk = createRowDesk({ aggregates, retentionDays: 30, nowMs: () => nowMs })
  const take = (...rows: TransactionRow[]) => desk.take([{ rows } as unknown as ProjectedEntry])
  const listed = async (filters: RowFilters = {}) => {
    const listing = rowListing(store, 'org-1', filters, allTime)
    const { items } = await readPage(store, listing, '', 10)
    return items.map(({ eventId, revision, status }) => [eventId, revision, status])
  }
  const entries = async () => (await store.range(indexes.rows, '', 100)).length
  return { store, take, listed, entries }
}

it('a row that changes leaves the lists of what it was, and an entry that comes again undoes nothing', async () => {
  const { take, listed, entries } = openDesk()
  await take(asked)
  const before = await entries()
  const refunded = { ...asked, status: 'Unmatched', revision: 9 } as const
  await take(refunded)
  expect(await entries()).toBe(before)
  await take(asked)
  expect(await listed()).toEqual([['evt-1', 9, 'Unmatched']])
  expect(await listed({ status: 'Declined' })).toEqual([])
})

it('a number that is used again after a loss has the row of its new event, and that one once', async () => {
  const { take, listed } = openDesk()
  await take({ ...asked, revision: 9 })
  const again = { ...asked, eventId: 'evt-2', bookedAtMs: nowMs + 1 }
  await take(again)
  expect(await listed()).toEqual([['evt-2', 7, 'Declined']])
})

it('a row whose number is used again while a list is read is not shown in the place of the one before', async () => {
  const { store, take } = openDesk()
  await take(asked)
  const { index, prefix, read } = rowListing(store, 'org-1', {}, allTime)
  const [entry] = await store.range(index, prefix, 1)
  await take({ ...asked, eventId: 'evt-2', bookedAtMs: nowMs + 1 })
  expect(await read([entry!])).toEqual([null])
})

it('a row that is older than rows are kept is not written', async () => {
  const { take, listed, entries } = openDesk()
  await take({ ...asked, bookedAtMs: nowMs - 31 * dayMs }, { ...asked, n: 8, eventId: 'evt-2' })
  expect(await listed()).toEqual([['evt-2', 7, 'Declined']])
  expect(await entries()).toBeGreaterThan(0)
})
