import { beforeAll, describe, expect, it } from 'vitest'
import { noAccount } from '../../src/domain/record/account.ts'
import { type Card, noCard } from '../../src/domain/record/card.ts'
import { negativeEntries, noCards, withCard } from '../../src/engine/format/account-cards.ts'
import { cardIndexEntries } from '../../src/engine/format/card-index.ts'
import { accountCodec, cardCodec } from '../../src/engine/format/codec.ts'
import { customerIndexEntries } from '../../src/engine/format/customer-index.ts'
import {
  accountAggregate,
  cardKey,
  customerAggregate,
  rowsAggregate,
} from '../../src/engine/format/layout.ts'
import { type CardFilters, cardListing } from '../../src/projection/card-listing.ts'
import { type CustomerFilters, customerListing } from '../../src/projection/customer-listing.ts'
import { allTime, type Listing, readPage } from '../../src/projection/listing.ts'
import { blankRow, type TransactionRow, transactionRowCodec } from '../../src/projection/row.ts'
import { type RowFilters, rowListing } from '../../src/projection/row-desk.ts'
import { rowIndexEntries, rowKey } from '../../src/projection/row-place.ts'
import type { OwnedRecord, Store } from '../../src/store/port.ts'
import { createMemoryState, createMemoryStore } from '../support/memory-store.ts'

const organizationId = 'org-1'
const common = 400
const nowMs = Date.UTC(2026, 10, 16)

function cardRecords(i: number, given: Partial<Card>, currency: string, postedMinor: number) {
  const [accountId, cardId] = [`account-${i}`, `card-${i}`]
  const aggregate = accountAggregate(accountId)
  const issuedAtMs = nowMs + i
  const customerId = `customer-${i}`
  const card: Card = { ...noCard, accountId, cardId, customerId, issuedAtMs, ...given }
  const account = { ...noAccount, accountId, organizationId, currency, postedMinor }
  const negative = negativeEntries(organizationId, account, withCard(noCards, card))
  return [
    { kind: 'root', aggregate, version: 'v', value: accountCodec.encode(account) },
    { kind: 'child', aggregate, ...cardKey(cardId), value: cardCodec.encode(card) },
    ...[...cardIndexEntries(account, card), ...(postedMinor < 0 ? negative : [])].map(
      (entry) => ({ kind: 'index', aggregate, ...entry }) as const,
    ),
  ] satisfies OwnedRecord[]
}

function customerRecords(i: number, given: object) {
  const aggregate = customerAggregate(`customer-${i}`)
  const customer = {
    format: 1,
    customerId: `customer-${i}`,
    organizationId,
    type: 'individual',
    name: 'Adaeze Obi',
    suspended: false,
    createdAtMs: nowMs + i,
    ...given,
  } as const
  return [
    { kind: 'root', aggregate, version: 'v', value: JSON.stringify(customer) },
    ...customerIndexEntries(customer).map(
      (entry) => ({ kind: 'index', aggregate, ...entry }) as const,
    ),
  ] satisfies OwnedRecord[]
}

function rowRecords(i: number, given: Partial<TransactionRow>) {
  const accountId = 'account-1'
  const aggregate = rowsAggregate(accountId)
  const row: TransactionRow = {
    ...blankRow,
    accountId,
    organizationId,
    n: i,
    bookedAtMs: nowMs + i,
    type: 'Authorization',
    status: 'Approved',
    currency: 'USD',
    ...given,
  }
  const key = rowKey(row, 400)
  return [
    { kind: 'child', aggregate, ...key, value: transactionRowCodec.encode(row) },
    ...rowIndexEntries(row, key).map((entry) => ({ kind: 'index', aggregate, ...entry }) as const),
  ] satisfies OwnedRecord[]
}

const rare = {
  cards: [
    [{ status: 'Frozen' }, 'USD', 0],
    [{ type: 'lite' }, 'USD', 0],
    [{}, 'NGN', 0],
    [{}, 'USD', -1],
  ] as const,
  customers: [
    { type: 'business' },
    { clientReference: 'x' },
    { name: 'Zoë Ade' },
    { name: 'Adaeze Zuma' },
  ],
  rows: [
    { status: 'Declined' },
    { status: 'Unmatched' },
    { type: 'TopUp' },
    { currency: 'NGN' },
    { cardId: 'card-x' },
    { customerId: 'customer-x' },
    { transactionId: 'txn-x' },
  ] as const,
}

/** One of each rare kind, older than everything else. */
async function openFilled() {
  const store = createMemoryStore(createMemoryState())
  const records: OwnedRecord[] = []
  for (const [i, [given, currency, posted]] of rare.cards.entries()) {
    records.push(...cardRecords(i, given, currency, posted))
  }
  for (const [i, given] of rare.customers.entries()) records.push(...customerRecords(i, given))
  for (const [i, given] of rare.rows.entries()) records.push(...rowRecords(i, given))
  for (let i = 100; i < 100 + common; i++) {
    records.push(...cardRecords(i, {}, 'USD', 0), ...customerRecords(i, {}), ...rowRecords(i, {}))
  }
  await store.fill(records)
  let reads = 0
  const counting: Store = {
    ...store,
    async range(index, after, limit) {
      const found = await store.range(index, after, limit)
      reads += found.length
      return found
    },
  }
  async function first<T>(listing: Listing<T>): Promise<readonly T[]> {
    reads = 0
    const { items, next } = await readPage(counting, listing, '', 25)
    expect(next).toBeNull()
    expect(reads).toBeLessThan(200)
    return items
  }
  return { store: counting, first }
}

let world: Awaited<ReturnType<typeof openFilled>>
beforeAll(async () => {
  world = await openFilled()
})

describe('a filter that few match, behind many that do not', () => {
  it.each<[CardFilters, string]>([
    [{ status: 'Frozen' }, 'card-0'],
    [{ type: 'lite' }, 'card-1'],
    [{ currency: 'NGN' }, 'card-2'],
    [{ currency: 'NGN', status: 'Active', type: 'retail' }, 'card-2'],
    [{ negative: true }, 'card-3'],
    [{ negative: true, currency: 'USD' }, 'card-3'],
    [{ customerId: 'customer-1' }, 'card-1'],
  ])('finds cards by %j on the first page', async (filters, cardId) => {
    const listing = await cardListing(world.store, organizationId, filters, allTime)
    expect((await world.first(listing)).map(({ card }) => card.cardId)).toEqual([cardId])
  })

  it.each<[CustomerFilters, string]>([
    [{ type: 'business' }, 'customer-0'],
    [{ clientReference: 'x' }, 'customer-1'],
    [{ name: 'zO' }, 'customer-2'],
    [{ name: 'zoë ad' }, 'customer-2'],
    [{ name: 'ADAEZE ZU' }, 'customer-3'],
    [{ negative: true }, 'customer-3'],
  ])('finds customers by %j on the first page', async (filters, customerId) => {
    const listing = await customerListing(world.store, organizationId, filters, allTime)
    const found = (await world.first(listing)).map(({ customer }) => customer.customerId)
    expect(found).toEqual([customerId])
  })

  it.each<[RowFilters, number]>([
    [{ status: 'Declined' }, 0],
    [{ status: 'Unmatched' }, 1],
    [{ transactionType: 'TopUp' }, 2],
    [{ currency: 'NGN' }, 3],
    [{ currency: 'NGN', status: 'Approved', transactionType: 'Authorization' }, 3],
    [{ cardId: 'card-x' }, 4],
    [{ customerId: 'customer-x' }, 5],
    [{ transactionId: 'txn-x' }, 6],
  ])('finds transactions by %j on the first page', async (filters, n) => {
    const found = await world.first(rowListing(world.store, organizationId, filters, allTime))
    expect(found.map((row) => row.n)).toEqual([n])
  })
})
