/**
 * What the References of the management API cost: bytes for each in the embedded store and in Redis, for
 * calls that only read and for calls that change something. Starts and ends a Redis of its own, with the
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
import { bindReference } from '../dist/management/reference.js'
import { openStore } from '../dist/store/open.js'
import { freePort, start, temporaryFolder } from './support/processes.mjs'

const calls = Number(process.argv[2] ?? 100_000)
/** A client names calls by random texts of this length, as the contract's examples do. */
const referenceChars = 20
const atOnce = 2_000
const accounts = 10_000
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

function newCall(method, path) {
  const reference = randomBytes(15).toString('base64url').slice(0, referenceChars)
  const hash = createHash('sha256').update(reference).digest('base64url').slice(0, 12)
  return { clientId, reference, hash, method, path }
}

async function read(aggregates) {
  const endedAtMs = Date.now()
  const end = { done: true, endedAtMs, httpStatus: 200, code: '000', message: 'Success' }
  const call = newCall('GET', '/api/v1/cards/card_01JCQ8A1B2C3D4E5F6G7H8J9KM')
  await bindReference(aggregates, { ...call, home: '' }, endedAtMs, end)
}

async function change(effects) {
  const path = '/api/v1/cards/card_01JCQ8A1B2C3D4E5F6G7H8J9KM/topup'
  const { reference, hash, method } = newCall('POST', path)
  const call = {
    caller: { clientId, reference },
    request: { hash, method, path },
    nowMs: Date.now(),
  }
  const home = `w:${Math.floor(Math.random() * accounts)}`
  await effects.onAggregate(call, home, () => ({ data: transfer, write: { root: '0' } }))
}

async function inPortions(work) {
  for (let done = 0; done < calls; done += atOnce) {
    const count = Math.min(atOnce, calls - done)
    await Promise.all(Array.from({ length: count }, work))
  }
}

/** Bytes after nothing, after the reads, and after the changes. */
async function measure(store, bytesOf) {
  let versions = 0
  const aggregates = createAggregates({ store, newVersion: () => `bench.${versions++}` })
  const effects = createEffects({ engine: null, aggregates, clock: systemClock })
  const fillHomes = Array.from({ length: accounts }, (_, i) =>
    aggregates.change({ aggregate: `w:${i}`, decide: () => ({ result: 0, write: { root: '0' } }) }),
  )
  await Promise.all(fillHomes)
  const empty = await bytesOf()
  await inPortions(() => read(aggregates))
  const afterReads = await bytesOf()
  await inPortions(() => change(effects))
  const afterChanges = await bytesOf()
  await store.close()
  return [afterReads - empty, afterChanges - afterReads]
}

function report(name, [reads, changes]) {
  console.log(`${name}:`)
  console.log(`  a call that reads: ${Math.round(reads / calls)} bytes`)
  console.log(`  a call that changes, with its note: ${Math.round(changes / calls)} bytes`)
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
