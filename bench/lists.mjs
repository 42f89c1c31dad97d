/**
 * What a page of a list costs: the first and the thousandth, in a store with many cards and transaction rows,
 * against the first page in one with a thousand of each; then what issuing many cards in a row takes.
 *
 *     npm run build && node bench/lists.mjs [cards, 1000000] [rows, 10000000] [issued, 10000]
 */
import { systemClock } from '../dist/clock.js'
import { noAccount } from '../dist/domain/record/account.js'
import { noCard } from '../dist/domain/record/card.js'
import { createEngine } from '../dist/engine/engine.js'
import { cardIndexEntries } from '../dist/engine/format/card-index.js'
import { accountCodec, cardCodec } from '../dist/engine/format/codec.js'
import {
  accountAggregate,
  customerAggregate,
  customerIndexEntries,
  directoryKey,
  rowsAggregate,
} from '../dist/engine/format/layout.js'
import { importRows } from '../dist/engine/import.js'
import { cardListing } from '../dist/projection/card-listing.js'
import { customerListing } from '../dist/projection/customer-listing.js'
import { allTime, readPage } from '../dist/projection/listing.js'
import { blankRow, transactionRowCodec } from '../dist/projection/row.js'
import { rowListing } from '../dist/projection/row-desk.js'
import { rowIndexEntries, rowKey } from '../dist/projection/row-place.js'
import { loadPack } from '../dist/rules/load/compiler.js'
import { openStore } from '../dist/store/open.js'
import { temporaryFolder } from './support/processes.mjs'

const [cards = 1_000_000, rows = 10_000_000, issued = 10_000] = process.argv.slice(2).map(Number)
const few = 1_000
const pageItems = 25
const deepPage = 1_000
const retentionDays = 400
const organizationId = 'org-1'
const endMs = Date.now()
const rareOneIn = 5_000

const rare = (i) => i % rareOneIn === 0

function* cardRecords(count) {
  for (let i = 0; i < count; i++) {
    const [accountId, cardId, customerId] = [`account-${i}`, `card-${i}`, `customer-${i >> 1}`]
    const aggregate = accountAggregate(accountId)
    const issuedAtMs = endMs - (count - i) * 1_000
    const status = rare(i) ? 'Frozen' : 'Active'
    const card = { ...noCard, cardId, customerId, accountId, status, issuedAtMs }
    const account = {
      ...noAccount,
      accountId,
      organizationId,
      currency: 'USD',
      openedAtMs: issuedAtMs,
    }
    yield { kind: 'root', aggregate, version: 'v', value: accountCodec.encode(account) }
    yield { kind: 'child', aggregate, group: 'c', id: cardId, value: cardCodec.encode(card) }
    yield { kind: 'child', ...directoryKey(cardId), value: accountId }
    for (const entry of cardIndexEntries(organizationId, card)) {
      yield { kind: 'index', aggregate, ...entry }
    }
    if (i % 2 === 0) yield* customerRecords(customerId, issuedAtMs)
  }
}

function* customerRecords(customerId, createdAtMs) {
  const aggregate = customerAggregate(customerId)
  const customer = { format: 1, customerId, organizationId, type: 'individual', name: 'Ada Obi' }
  const value = JSON.stringify({ ...customer, suspended: false, createdAtMs })
  yield { kind: 'root', aggregate, version: 'v', value }
  for (const entry of customerIndexEntries(customer, createdAtMs)) {
    yield { kind: 'index', aggregate, ...entry }
  }
}

function* rowRecords(count, ofCards) {
  for (let i = 0; i < count; i++) {
    const card = (i * 7_919) % ofCards
    const row = {
      ...blankRow,
      accountId: `account-${card}`,
      n: i,
      revision: i,
      bookedAtMs: endMs - (count - i) * 10,
      organizationId,
      type: rare(i) ? 'Refund' : 'Authorization',
      status: rare(i) ? 'Booked' : 'Approved',
      cardId: `card-${card}`,
      customerId: `customer-${card >> 1}`,
      amountMinor: 1_250,
      currency: 'USD',
      transactionId: `txn-${i}`,
      eventId: `evt-${i}`,
      mid: 'MID-1',
      mcc: '5411',
      merchantName: 'Shop',
      merchantCity: 'Lagos',
      merchantCountry: 'NG',
    }
    const aggregate = rowsAggregate(row.accountId)
    const value = transactionRowCodec.encode(row)
    yield { kind: 'child', aggregate, ...rowKey(row, retentionDays), value }
    for (const entry of rowIndexEntries(row, retentionDays))
      yield { kind: 'index', aggregate, ...entry }
  }
}

async function fill(store, records) {
  let portion = []
  for (const record of records) {
    portion.push(record)
    if (portion.length < 5_000) continue
    await store.fill(portion)
    portion = []
  }
  await store.fill(portion)
}

const listings = (store) => ({
  'cards, all': cardListing(store, organizationId, {}, allTime),
  'cards, Frozen (one in 5,000)': cardListing(store, organizationId, { status: 'Frozen' }, allTime),
  'cards of a customer': cardListing(store, organizationId, { customerId: 'customer-7' }, allTime),
  'customers, all': customerListing(store, organizationId, {}, allTime),
  'transactions, all': rowListing(store, organizationId, {}, allTime),
  'transactions of a card': rowListing(store, organizationId, { cardId: 'card-7' }, allTime),
  'transactions of a customer': rowListing(
    store,
    organizationId,
    { customerId: 'customer-7' },
    allTime,
  ),
  'transactions, Refund (one in 5,000)': rowListing(
    store,
    organizationId,
    { transactionType: 'Refund' },
    allTime,
  ),
  'one lifecycle': rowListing(store, organizationId, { transactionId: 'txn-7' }, allTime),
})

/** The median of many readings of one page. */
async function timeOf(store, listing, place) {
  const samples = []
  for (let i = 0; i < 40; i++) {
    const startedMs = performance.now()
    await readPage(store, listing, place, pageItems)
    samples.push(performance.now() - startedMs)
  }
  return samples.sort((a, b) => a - b)[20]
}

async function placeOfPage(store, listing, page) {
  let place = ''
  for (let i = 1; i < page && place !== null; i++) {
    place = (await readPage(store, listing, place, pageItems)).next
  }
  return place
}

async function measure(store) {
  const found = {}
  for (const [name, listing] of Object.entries(listings(store))) {
    const first = await timeOf(store, listing, '')
    const place = await placeOfPage(store, listing, deepPage)
    found[name] = { first, deep: place === null ? null : await timeOf(store, listing, place) }
  }
  return found
}

async function inStore(cardCount, rowCount, work) {
  const folder = temporaryFolder()
  try {
    const store = await openStore({ redis: null, dataDir: folder.path }, Date.now)
    await fill(store, cardRecords(cardCount))
    await fill(store, rowRecords(rowCount, cardCount))
    const result = await work(store)
    await store.close()
    return result
  } finally {
    folder.remove()
  }
}

const issuedAtOnce = 100

/** How long the first and the last tenth of the new cards take, a hundred at once. */
async function issue(store) {
  const pack = loadPack('rules', 45)
  const options = { store, clock: systemClock, pack, nonce: 'bench', cacheCards: 10_000 }
  const engine = createEngine({ ...options, onAnswer() {}, onBooked() {} })
  const times = []
  for (let at = 0; at < issued; at += issuedAtOnce) {
    const startedMs = performance.now()
    const { problems } = await importRows(
      Array.from({ length: issuedAtOnce }, (_, i) => ({
        cardId: `new-${at + i}`,
        customerId: `holder-${at + i}`,
        accountId: `opened-${at + i}`,
        organizationId,
        type: 'retail',
        currency: 'USD',
        country: 'US',
        balance: '10.00',
      })),
      engine,
    )
    if (problems.length > 0) throw new Error(JSON.stringify(problems))
    times.push(performance.now() - startedMs)
  }
  engine.stop()
  const tenth = Math.max(1, Math.floor(times.length / 10))
  const perCard = (part) => part.reduce((sum, ms) => sum + ms, 0) / part.length / issuedAtOnce
  return { first: perCard(times.slice(0, tenth)), last: perCard(times.slice(-tenth)) }
}

const ms = (value) => (value === null ? 'no such page' : `${value.toFixed(2)} ms`)

console.log(`pages of ${pageItems}; ${few} cards and rows, then ${cards} cards and ${rows} rows`)
const small = await inStore(few, few, measure)
await inStore(cards, rows, async (store) => {
  const large = await measure(store)
  for (const [name, { first, deep }] of Object.entries(large)) {
    const times = (Math.max(first, deep ?? 0) / small[name].first).toFixed(1)
    const cells = [
      `first ${ms(first)}`,
      `page ${deepPage} ${ms(deep)}`,
      `of ${few}: ${ms(small[name].first)}`,
    ]
    console.log(`${name}: ${cells.join(', ')}, ${times} times`)
  }
  const { first, last } = await issue(store)
  console.log(
    `${issued} cards issued in a row: first tenth ${ms(first)} a card, last tenth ${ms(last)}`,
  )
  console.log(`memory of the process: ${Math.round(process.memoryUsage().rss / 2 ** 20)} MiB`)
})
