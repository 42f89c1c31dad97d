/**
 * How long a server takes to be ready with many cards in Redis, what the first ask of a card costs that
 * memory does not know yet, and how much of that is saved by reading recently active cards in advance.
 * Starts and ends a Redis and servers of its own.
 *
 *     npm run build && node bench/redis-start.mjs [cards, 1000000; at least 2000]
 */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { cpus, loadavg } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { noAccount } from '../dist/domain/record/account.js'
import { noCard } from '../dist/domain/record/card.js'
import { accountCodec, cardCodec } from '../dist/engine/format/codec.js'
import { accountAggregate, cardKey, directoryKey, indexes } from '../dist/engine/format/layout.js'
import { claimStore } from '../dist/engine/format/meta.js'
import { createRedisKeys, fieldOf, sortedMember } from '../dist/store/redis/keys.js'
import { openRedisStore } from '../dist/store/redis/redis.js'
import { freePort, start, temporaryFolder } from './support/processes.mjs'

const cards = Number(process.argv[2] ?? 1_000_000)
const cardsPerPage = 500
const asks = 300
if (!(cards >= 2_000)) {
  console.error('usage: node bench/redis-start.mjs [cards, 1000000; at least 2000]')
  process.exit(2)
}
/** Cards of the newest entries of the log before the last starts; others are left for each row below. */
const activeCards = Math.min(10_000, cards - 4 * asks)
const lanes = 16
const keys = createRedisKeys('', 16)
const root = join(import.meta.dirname, '..')
const folder = temporaryFolder()
const [redisPort, port, adminPort] = [await freePort(), await freePort(), await freePort()]
const url = `redis://127.0.0.1:${redisPort}`
const settings = ['--hash-max-listpack-value', '512', '--stream-node-max-bytes', '32768']
const place = [
  '--port',
  String(redisPort),
  '--bind',
  '127.0.0.1',
  '--dir',
  folder.path,
  '--save',
  '',
]
/** As in deploy/redis/redis.conf: a commit is on the disk when it is answered. */
const durable = ['--appendonly', 'yes', '--appendfsync', 'always']
const redisArgs = [...place, ...durable, ...settings]
const redisServer = start('anywhere', 'redis-server', redisArgs, { stdio: 'ignore' })
const redis = new Redis(redisPort, '127.0.0.1')
redis.on('error', () => {})
let server
try {
  await redis.ping()
  await run()
} finally {
  redis.disconnect()
  server?.kill('SIGKILL')
  redisServer.kill('SIGKILL')
  folder.remove()
}

async function run() {
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim()
  const version = /redis_version:(\S+)/.exec(await redis.info('server'))?.[1]
  const machine = `${cpus().length} × ${cpus()[0]?.model}, load average ${loadavg()[0]?.toFixed(1)}`
  console.log(`${commit}, Redis ${version}, Node ${process.version}, ${machine}`)
  const baselineMs = await startServer()
  await stop()
  console.log(`baseline: ready after ${baselineMs} ms with an empty Redis`)
  await fill()
  const used = Number(/used_memory:(\d+)/.exec(await redis.info('memory'))[1])
  console.log(`${cards} cards in Redis: ${(used / cards).toFixed(0)} bytes of used_memory a card`)

  console.log(`ready after ${await startServer()} ms`)

  // The first calls of a process are slow by themselves: these are of cards that are not asked below.
  await time('first calls of the process', (i) => cards - 1 - i, 'w')
  await time('first ask of a card', (i) => i, 'a')
  await time('second ask of the same card', (i) => i, 'b')

  await makeActive()
  await startAgain()
}

/** With recently active cards in the log. */
async function startAgain() {
  await stop()
  const readyMs = await startServer()
  console.log(`again:\n  ready after ${readyMs} ms`)
  const neverAsked = (i) => cards - 1 - asks - i
  await time('  first calls of the process', neverAsked, '2-w')
  const lastActive = (i) => asks + activeCards - 1 - i
  await time('  first ask of a recently active card', lastActive, '2-a')
  await time('  second ask of the same card', lastActive, '2-b')
}

async function stop() {
  const ended = once(server, 'exit')
  server.kill('SIGTERM')
  await ended
}

/** One event each for many cards, several at a time. */
async function makeActive() {
  let next = 0
  const lane = async () => {
    while (next < activeCards) {
      const i = next++
      // On a busy machine the watchdog answers some: these cards have no entry in the log yet.
      for (let again = 0; !(await isApproved(`n-${i}-${again}`, asks + i)); again++) {
        if (again === 20) throw new Error('too busy: asks are declined by default')
      }
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  console.log(`${activeCards} cards had an event`)
}

/** Resolves to the milliseconds from the start of the process to `ready`. */
async function startServer() {
  const startedMs = performance.now()
  server = start('anywhere', process.execPath, [join(root, 'dist/main.js')], {
    cwd: root,
    env: {
      PATH: process.env.PATH,
      REDIS_URL: url,
      DATA_DIR: join(folder.path, 'data'),
      PORT: String(port),
      ADMIN_PORT: String(adminPort),
      LOG_LEVEL: 'silent',
    },
    stdio: 'ignore',
  })
  while (!(await isReady())) await new Promise((resolve) => setTimeout(resolve, 5))
  return (performance.now() - startedMs).toFixed(0)
}

async function isReady() {
  const response = await fetch(`http://127.0.0.1:${adminPort}/readyz`).catch(() => null)
  return response?.ok === true && (await response.json()).status === 'ready'
}

async function time(name, cardAt, run) {
  const times = []
  for (let i = 0; i < asks; i++) {
    const sentMs = performance.now()
    if (!(await isApproved(`${run}-${i}`, cardAt(i)))) throw new Error('an ask was not approved')
    times.push(performance.now() - sentMs)
  }
  times.sort((a, b) => a - b)
  const at = (part) => times[Math.floor(part * times.length)].toFixed(2)
  console.log(`${name}: median ${at(0.5)} ms, 95 of 100 within ${at(0.95)} ms`)
}

async function isApproved(id, card) {
  const response = await fetch(`http://127.0.0.1:${port}/authorize`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      eventId: id,
      requestType: 'Authorization',
      transactionId: id,
      cardId: `card-${idOf(card)}`,
      amount: '1.00',
      currency: 'USD',
      merchant: { mid: 'MID1', mcc: '5411', country: 'US' },
      occurredAt: new Date().toISOString(),
    }),
  })
  return (await response.json()).decision === 'approve'
}

/** As `arbiter import` would leave them, without its log; written to Redis without waiting for replies. */
async function fill() {
  const store = await openRedisStore({ urls: [url], cluster: false, nowMs: Date.now })
  await claimStore(store, { eventRetentionDays: 45 })
  await store.close()
  const nonce = randomBytes(6).toString('base64url')
  const startedMs = performance.now()
  const socket = connect(redisPort, '127.0.0.1')
  socket.write('*3\r\n$6\r\nCLIENT\r\n$5\r\nREPLY\r\n$3\r\nOFF\r\n')
  for (let from = 0; from < cards; from += cardsPerPage) {
    const commands = []
    for (let i = from; i < Math.min(from + cardsPerPage, cards); i++) {
      commands.push(...commandsOf(i, nonce))
    }
    if (!socket.write(commands.map(toProtocol).join(''))) await once(socket, 'drain')
  }
  socket.write(toProtocol(['CLIENT', 'REPLY', 'ON']))
  await once(socket, 'data')
  socket.destroy()
  const seconds = (performance.now() - startedMs) / 1_000
  console.log(`filled in ${seconds.toFixed(0)} s`)
}

/** All ids are plain ASCII here, so that lengths are bytes. */
function toProtocol(words) {
  return `*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join('')}`
}

function commandsOf(i, nonce) {
  const [cardId, accountId] = [`card-${idOf(i)}`, `account-${idOf(i)}`]
  const aggregate = accountAggregate(accountId)
  const openedAtMs = Date.now()
  const account = {
    ...noAccount,
    accountId,
    currency: 'USD',
    country: 'US',
    openingMinor: 100_000,
    postedMinor: 100_000,
    openedAtMs,
    lastArrivalMs: openedAtMs,
    entryCount: 1,
  }
  const card = {
    ...noCard,
    cardId,
    customerId: `customer-${idOf(i)}`,
    accountId,
    expiry: '2031-12',
  }
  const directory = directoryKey(cardId)
  const index = keys.index(keys.partitionOf(aggregate), indexes.cards)
  const accountText = `${nonce}.${i}\n${accountCodec.encode(account)}`
  const cardField = fieldOf(cardKey(cardId))
  const directoryName = keys.aggregate(directory.aggregate)
  return [
    ['HSET', keys.aggregate(aggregate), '', accountText, cardField, cardCodec.encode(card)],
    ['HSET', directoryName, '', `${nonce}\n`, fieldOf(directory), accountId],
    ['ZADD', index, '0', sortedMember({ sortKey: cardId, value: accountId })],
  ]
}

/** As long as the ids of a large issuer. */
function idOf(i) {
  return String(4_000_000_000 + i)
}
