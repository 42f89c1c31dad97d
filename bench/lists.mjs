/**
 * What a page of a list costs: the first and the thousandth, in a store with many cards and transaction rows,
 * against the first page in one with a thousand of each; then what issuing many cards in a row takes.
 *
 *     npm run build && node bench/lists.mjs [cards, 1000000] [rows, 10000000] [issued, 10000]
 *
 *     --redis           in a Redis of its own, and not in the embedded store
 *     --keep FOLDER     fills an embedded store there, or goes on where it was left, and keeps it
 *     --seconds N       with --keep: fills no longer than that, and says whether it is full
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { systemClock } from '../dist/clock.js'
import { createEngine } from '../dist/engine/engine.js'
import { importRows } from '../dist/engine/import.js'
import { sumOfCards } from '../dist/management/customer.js'
import { cardListing } from '../dist/projection/card-listing.js'
import { customerListing } from '../dist/projection/customer-listing.js'
import { allTime, readPage } from '../dist/projection/listing.js'
import { rowListing } from '../dist/projection/row-desk.js'
import { loadPack } from '../dist/rules/load/compiler.js'
import { openStore } from '../dist/store/open.js'
import { nameOf, organizationId, partsOf } from './support/list-records.mjs'
import { temporaryFolder } from './support/processes.mjs'
import { startRedis } from './support/redis.mjs'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    redis: { type: 'boolean' },
    keep: { type: 'string' },
    seconds: { type: 'string' },
  },
})
const [cards = 1_000_000, rows = 10_000_000, issued = 10_000] = positionals.map(Number)
const few = 1_000
const pageItems = 25
const deepPage = 1_000
/** More at once would take Redis longer than a command may. */
const recordsAtOnce = values.redis ? 2_000 : 20_000
/** What few have: there is more than a page of it in both stores. */
const rareOneIn = (count) => Math.max(20, Math.min(5_000, count / 200))

/** Fills what is not yet filled; resolves to whether all is. `progress` says how far each part is. */
async function fill(store, sizes, progress, deadlineMs, save) {
  for (const [name, { count, make }] of Object.entries(partsOf(sizes))) {
    let portion = []
    for (let i = progress[name] ?? 0; i < count; i++) {
      for (const record of make(i)) portion.push(record)
      if (portion.length < recordsAtOnce) continue
      await store.fill(portion)
      portion = []
      progress[name] = i + 1
      save()
      if (performance.now() > deadlineMs) return false
    }
    await store.fill(portion)
    progress[name] = count
    save()
  }
  return true
}

const listings = {
  'cards, all': (store) => cardListing(store, organizationId, {}, allTime),
  'cards, Active': (store) => cardListing(store, organizationId, { status: 'Active' }, allTime),
  'cards, Frozen (rare)': (store) =>
    cardListing(store, organizationId, { status: 'Frozen' }, allTime),
  'cards, lite (rare)': (store) => cardListing(store, organizationId, { type: 'lite' }, allTime),
  'cards in NGN (rare)': (store) =>
    cardListing(store, organizationId, { currency: 'NGN' }, allTime),
  'cards, negative (rare)': (store) =>
    cardListing(store, organizationId, { negative: true }, allTime),
  'cards of a customer': (store) =>
    cardListing(store, organizationId, { customerId: nameOf('customer', 7) }, allTime),
  'customers, all': (store) => customerListing(store, organizationId, {}, allTime),
  'customers, business (rare)': (store) =>
    customerListing(store, organizationId, { type: 'business' }, allTime),
  'customers by name (rare)': (store) =>
    customerListing(store, organizationId, { name: 'zainab' }, allTime),
  'customers by name (one in six)': (store) =>
    customerListing(store, organizationId, { name: 'chi' }, allTime),
  'customers, negative (rare)': (store) =>
    customerListing(store, organizationId, { negative: true }, allTime),
  'transactions, all': (store) => rowListing(store, organizationId, {}, allTime),
  'transactions of a card': (store) =>
    rowListing(store, organizationId, { cardId: nameOf('card', 7) }, allTime),
  'transactions of a customer': (store) =>
    rowListing(store, organizationId, { customerId: nameOf('customer', 7) }, allTime),
  'transactions, Refund (rare)': (store) =>
    rowListing(store, organizationId, { transactionType: 'Refund' }, allTime),
  'transactions, Declined (rare)': (store) =>
    rowListing(store, organizationId, { status: 'Declined' }, allTime),
  'transactions in NGN (rare)': (store) =>
    rowListing(store, organizationId, { currency: 'NGN' }, allTime),
  'one lifecycle': (store) =>
    rowListing(store, organizationId, { transactionId: nameOf('txn', 7) }, allTime),
}

/** The median of many calls. */
async function timeOf(work) {
  const samples = []
  for (let i = 0; i < 40; i++) {
    const startedMs = performance.now()
    await work()
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

/** As a call does it: whatever is read to find the list counts. */
async function measure(store) {
  const found = {}
  for (const [name, listingOf] of Object.entries(listings)) {
    const read = async (place) => readPage(store, await listingOf(store), place, pageItems)
    const first = await timeOf(() => read(''))
    const place = await placeOfPage(store, await listingOf(store), deepPage)
    found[name] = { first, deep: place === null ? null : await timeOf(() => read(place)) }
  }
  const holder = { organizationId, customerId: nameOf('customer', 3) }
  const first = await timeOf(() => sumOfCards(store, holder))
  return { ...found, 'cards of a customer counted, and whether any is negative': { first } }
}

function sizesOf(cardCount, rowCount) {
  return { cards: cardCount, rows: rowCount, endMs: Date.now(), rareOneIn: rareOneIn(cardCount) }
}

async function inStore(cardCount, rowCount, work) {
  const folder = temporaryFolder()
  const server = values.redis ? await startRedis() : null
  try {
    const redis = server && { urls: [server.url], cluster: false }
    const store = await openStore({ redis, dataDir: folder.path }, Date.now)
    const sizes = sizesOf(cardCount, rowCount)
    await fill(store, sizes, {}, Number.POSITIVE_INFINITY, () => {})
    const result = await work(store, server)
    await store.close()
    return result
  } finally {
    await server?.stop()
    server?.remove()
    folder.remove()
  }
}

/** The same in a folder that stays; null while it is not full. */
async function inKept(folder, work) {
  const file = join(folder, 'filled.json')
  mkdirSync(folder, { recursive: true })
  const state = existsSync(file)
    ? JSON.parse(readFileSync(file, 'utf8'))
    : { sizes: sizesOf(cards, rows), progress: {} }
  const { sizes, progress } = state
  const save = () => writeFileSync(file, JSON.stringify(state))
  const seconds = Number(values.seconds ?? Number.POSITIVE_INFINITY)
  const store = await openStore({ redis: null, dataDir: folder }, Date.now)
  const isFull = await fill(store, sizes, progress, performance.now() + 1_000 * seconds, save)
  if (!isFull) console.log(`not yet full: ${JSON.stringify(progress)}`)
  if (isFull && values.seconds === undefined) await work(store, null)
  await store.close()
}

const issuedAtOnce = 100

/** How long the first and the last tenth of the new cards take, a hundred at once. */
async function issue(store) {
  const pack = loadPack('rules', 45)
  const options = { store, clock: systemClock, pack, nonce: 'bench', cacheCards: 10_000 }
  const engine = createEngine({ ...options, onAnswer() {}, onBooked() {} })
  const run = Date.now()
  const times = []
  for (let at = 0; at < issued; at += issuedAtOnce) {
    const startedMs = performance.now()
    const { problems } = await importRows(
      Array.from({ length: issuedAtOnce }, (_, i) => ({
        cardId: `new-${run}-${at + i}`,
        customerId: `holder-${at + i}`,
        accountId: `opened-${run}-${at + i}`,
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

async function report(store, server) {
  const large = await measure(store)
  for (const [name, { first, deep }] of Object.entries(large)) {
    const times = (Math.max(first, deep ?? 0) / small[name].first).toFixed(1)
    const cells = [
      `first ${ms(first)}`,
      ...(deep === undefined ? [] : [`page ${deepPage} ${ms(deep)}`]),
      `of ${few}: ${ms(small[name].first)}`,
    ]
    console.log(`${name}: ${cells.join(', ')}, ${times} times`)
  }
  const { first, last } = await issue(store)
  console.log(
    `${issued} cards issued in a row: ${ms(first)} a card in the first tenth, ${ms(last)} in the last`,
  )
  const { rss, heapUsed } = process.memoryUsage()
  const mib = (bytes) => `${Math.round(bytes / 2 ** 20)} MiB`
  console.log(
    `memory of JavaScript: ${mib(heapUsed)}, and of the process ${mib(rss)}, with what it maps of the store`,
  )
  if (server !== null) {
    const used = (await server.client.info('memory')).match(/used_memory:(\d+)/)[1]
    console.log(`memory of Redis: ${mib(Number(used))}`)
  }
}

console.log(`pages of ${pageItems}; ${few} cards and rows, then ${cards} cards and ${rows} rows`)
// A store that is only filled is compared with nothing.
const small = values.seconds === undefined ? await inStore(few, few, measure) : null
if (values.keep === undefined) await inStore(cards, rows, report)
else await inKept(values.keep, report)
