/**
 * What the References of the management API cost: bytes for each in the embedded store and in Redis, for
 * calls that only read, that move money, and that change a card and answer with all of it. Starts and ends a Redis of its own, with the
 * settings of deploy/redis/redis.conf.
 *
 *     npm run build && node bench/references.mjs [calls, 100000]
 */
import { createHash, randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { createEffects } from '../dist/api/effects.js'
import { systemClock } from '../dist/clock.js'
import { createAggregates } from '../dist/engine/aggregates.js'
import { accountAggregate, walletAggregate } from '../dist/engine/format/layout.js'
import { newId } from '../dist/management/id.js'
import { bindReference } from '../dist/management/reference.js'
import { openStore } from '../dist/store/open.js'
import { freePort, start, temporaryFolder } from './support/processes.mjs'

const calls = Number(process.argv[2] ?? 100_000)
const issuedAtMs = Date.UTC(2026, 10, 3, 8, 11, 2, 118)
/** A client names calls by random texts of this length, as the contract's examples do. */
const referenceChars = 20
const atOnce = 2_000
const accounts = 10_000
/** Where a transfer is noted, and where a change of a card is: keys are as long as they are in a real store. */
const wallet = walletAggregate('org-demo', 'USD')
const homes = Array.from({ length: accounts }, () => newId('acct', issuedAtMs))
/** Of a day of calls, by our guess: most of them look. */
const mixedDay = { reads: 0.7, transfers: 0.2, cards: 0.1 }
const clientId = 'cli_01JCQ7Z8M4T0V5XK3N9R2B6DYE'

/** `data` of a transfer, about as large as an answer to a change is. */
const transfer = {
  transferId: 'trf_01JCQ8A1B2C3D4E5F6G7H8J9KM',
  type: 'TopUp',
  amount: 25.5,
  currency: 'USD',
  cardId: 'card_01JCQ8A1B2C3D4E5F6G7H8J9KM',
  balances: { posted: 525.5, held: 12.5, withheld: 0, available: 513, chargesPending: 0 },
  wallet: { currency: 'USD', balance: 99974.5 },
  completedAt: '2026-11-15T10:00:00.040Z',
}

/** `data` of a changed card: the longest that answers usually have. */
const card = {
  cardId: 'card_01JCQ8A1B2C3D4E5F6G7H8J9KM',
  customerId: 'cus_01JCQ8A0ZX9W7V5T3S1R0Q8P6N',
  type: 'retail',
  status: 'Active',
  terminatedBy: null,
  maskedPan: '999999******6788',
  expiry: '2029-11',
  currency: 'USD',
  balances: { posted: 525.5, held: 12.5, withheld: 0, available: 513, chargesPending: 0 },
  cardLimits: { dailyLimit: 400, transactionLimit: null },
  whiteListedMccs: [],
  blackListedMccs: ['7995'],
  whiteListedMids: [],
  blackListedMids: ['MID-7'],
  unblockedMids: [],
  swipesLeft: null,
  replaces: null,
  contactlessPayment: false,
  nameOnCard: 'CHIDI OKONKWO',
  address: { line1: '14 Awolowo Road', city: 'Ikoyi', state: 'Lagos', country: 'NG' },
  metadata: {},
  createdAt: '2026-11-03T08:11:02.118Z',
}

function newCall(method, path) {
  const reference = randomBytes(15).toString('base64url').slice(0, referenceChars)
  const hash = createHash('sha256').update(reference).digest('base64url').slice(0, 12)
  return { clientId, reference, hash, method, path }
}

async function read(aggregates) {
  const endedAtMs = Date.now()
  const end = { done: true, endedAtMs, httpStatus: 200, code: '000', message: 'Success' }
  const call = newCall('GET', `/api/v1/cards/${newId('card', issuedAtMs)}`)
  await bindReference(aggregates, { ...call, home: '' }, endedAtMs, { end })
}

async function change(effects, home, { method, path, data }) {
  const { reference, hash } = newCall(method, path)
  const call = {
    caller: { clientId, reference },
    request: { hash, method, path },
    nowMs: Date.now(),
  }
  await effects.onAggregate(call, home, () => ({ data, write: { root: '0' } }))
}

/** Another card each time, with ids of its own. */
async function changeCard(effects) {
  const accountId = homes[Math.floor(Math.random() * accounts)]
  const cardId = newId('card', issuedAtMs)
  const customerId = newId('cus', issuedAtMs - 86_400_000)
  const data = { ...card, cardId, customerId, accountId }
  const path = `/api/v1/cards/${cardId}`
  await change(effects, accountAggregate(accountId), { method: 'PATCH', path, data })
}

async function topUp(effects) {
  const cardId = newId('card', issuedAtMs)
  const ids = { transferId: newId('trf', Date.now()), cardId }
  const data = { ...transfer, ...ids, completedAt: new Date().toISOString() }
  const path = `/api/v1/cards/${cardId}/topup`
  await change(effects, wallet, { method: 'POST', path, data })
}

async function inPortions(work) {
  for (let done = 0; done < calls; done += atOnce) {
    const count = Math.min(atOnce, calls - done)
    await Promise.all(Array.from({ length: count }, work))
  }
}

/** bytes of each kind. */
async function measure(store, bytesOf) {
  let versions = 0
  const aggregates = createAggregates({ store, newVersion: () => `bench.${versions++}` })
  const effects = createEffects({ engine: null, aggregates, clock: systemClock })
  const fillHomes = homes.map((accountId) =>
    aggregates.change({
      aggregate: accountAggregate(accountId),
      decide: () => ({ result: 0, write: { root: '0' } }),
    }),
  )
  await Promise.all(fillHomes)
  const empty = await bytesOf()
  await inPortions(() => read(aggregates))
  const afterReads = await bytesOf()
  await inPortions(() => topUp(effects))
  const afterTransfers = await bytesOf()
  await inPortions(() => changeCard(effects))
  const afterCards = await bytesOf()
  await store.close()
  return [afterReads - empty, afterTransfers - afterReads, afterCards - afterTransfers]
}

function report(name, [reads, transfers, cards]) {
  const shown = (bytes) => `${Math.round(bytes / calls)} bytes, ${(bytes / 1e6).toFixed(1)} MB`
  console.log(`${name}:`)
  console.log(`  a call that reads: ${shown(reads)}`)
  console.log(`  a call that moves money, with its note: ${shown(transfers)}`)
  console.log(`  a call that changes a card, with its note: ${shown(cards)}`)
  const { reads: looks, transfers: moves, cards: changes } = mixedDay
  const mixed = looks * reads + moves * transfers + changes * cards
  console.log(
    `  a day of ${100 * looks} % reads, ${100 * moves} % transfers and ${100 * changes} % changes: ${shown(mixed)}`,
  )
}

const folder = temporaryFolder()
const port = await freePort()
const listpack = ['--hash-max-listpack-entries', '128', '--hash-max-listpack-value', '512']
const place = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder.path]
const server = start('anywhere', 'redis-server', [...place, '--save', '', ...listpack], {
  stdio: 'ignore',
})
const redis = new Redis(port, '127.0.0.1')
redis.on('error', () => {})
let snapshots = 0
try {
  console.log(`${calls} calls of each kind in a day`)
  const embedded = await openStore({ redis: null, dataDir: folder.path }, Date.now)
  // Free pages are left out: what is written next takes them.
  const used = await measure(embedded, async () => {
    const copy = join(folder.path, `copy-${snapshots++}`)
    await embedded.snapshot(copy)
    return statSync(join(copy, 'data.mdb')).size
  })
  report('embedded store', used)
  await redis.ping()
  const address = { urls: [`redis://127.0.0.1:${port}`], cluster: false }
  const shared = await openStore({ redis: address, dataDir: folder.path }, Date.now)
  const taken = await measure(shared, async () =>
    Number(/used_memory:(\d+)/.exec(await redis.info('memory'))[1]),
  )
  report('Redis', taken)
} finally {
  redis.disconnect()
  server.kill('SIGKILL')
  folder.remove()
}
