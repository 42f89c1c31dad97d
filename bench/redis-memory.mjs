/**
 * What the store costs in Redis: bytes for each card, open transaction, event and log entry, and the time
 * of a commit, all with the engine's own records on a real server that this starts and ends.
 *
 *     npm run build && node bench/redis-memory.mjs [cards] [setting=value …]
 *
 * A setting is one of redis.conf, such as hash-max-listpack-value=512.
 */
import { execFileSync } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { cpus, loadavg } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { systemClock } from '../dist/clock.js'
import { createEngine } from '../dist/engine/engine.js'
import { importRows } from '../dist/engine/import.js'
import { loadPack } from '../dist/rules/load/compiler.js'
import { openRedisStore } from '../dist/store/redis/redis.js'
import { freePort, start, temporaryFolder } from './support/processes.mjs'

const words = process.argv.slice(2)
const settings = words.filter((word) => word.includes('=')).map((word) => word.split('='))
const cards = Number(words.find((word) => !word.includes('=')) ?? 20_000)
const folder = temporaryFolder()
const port = await freePort()
/** As in deploy/redis/redis.conf: a commit is on the disk when it is answered. */
const durable = ['--appendonly', 'yes', '--appendfsync', 'always']
const server = start(
  'anywhere',
  'redis-server',
  ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder.path, '--save', ''].concat(
    durable,
    settings.flatMap(([name, value]) => [`--${name}`, value]),
  ),
  { stdio: 'ignore' },
)
const redis = new Redis(port, '127.0.0.1')
redis.on('error', () => {})
try {
  await redis.ping()
  await run()
} finally {
  redis.disconnect()
  server.kill('SIGKILL')
  folder.remove()
}

async function run() {
  const version = /redis_version:(\S+)/.exec(await redis.info('server'))?.[1]
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim()
  const machine = `${cpus().length} × ${cpus()[0]?.model}`
  console.log(`${commit}, Redis ${version}, Node ${process.version}, ${machine}`)
  console.log(`settings: ${settings.map((pair) => pair.join(' ')).join(', ') || 'defaults'}`)
  const urls = [`redis://127.0.0.1:${port}`]
  const store = await openRedisStore({ urls, cluster: false, nowMs: Date.now })
  const waiting = new Map()
  const engine = createEngine({
    store,
    clock: systemClock,
    pack: loadPack(join(import.meta.dirname, '..', 'test', 'support', 'plain-pack'), 45),
    nonce: randomBytes(9).toString('base64url'),
    cacheCards: 2 * cards,
    onAnswer: (slot, answer) => waiting.get(slot)?.(answer),
    onBooked: () => {},
  })

  const empty = await take()
  await inPortions(500, async (from, to) => {
    const rows = Array.from({ length: to - from }, (_, i) => rowOf(from + i))
    const { problems } = await importRows(rows, engine)
    if (problems.length > 0) throw new Error(JSON.stringify(problems[0]))
  })
  const issued = await take()
  report('card (with account, directory and index; no transaction)', empty, issued, cards, ['l'])
  show('  of which account and card', empty, issued, cards, ['a'])
  show('  of which directory', empty, issued, cards, ['d'])
  show('  of which index', empty, issued, cards, ['i'])
  show('log entry of an import', empty, issued, cards, ['l'])

  let before = issued
  for (const perCard of [1, 4, 15]) {
    const incarnation = randomBytes(6).toString('base64url')
    let slots = 0
    for (let round = 0; round < perCard; round++) {
      await inPortions(2_000, (from, to) =>
        Promise.all(
          Array.from({ length: to - from }, (_, i) => {
            const slot = `${incarnation}.${(slots++).toString(36)}`
            return new Promise((resolve) => {
              waiting.set(slot, resolve)
              engine.deliver({
                event: eventOf(from + i),
                slot,
                receivedAtMs: Date.now(),
                said: null,
                mayStillCommit: false,
              })
            }).then(() => waiting.delete(slot))
          }),
        ),
      )
    }
    const after = await take()
    const events = perCard * cards
    const total = perCard === 1 ? 1 : perCard === 4 ? 5 : 20
    console.log(`${perCard} more approved asks for each card, now ${total}:`)
    show('  event kept', before, after, events, ['e'])
    show('  open transaction (and growth of account and card)', before, after, events, ['a'])
    show('  its entry in the index of what is due', before, after, events, ['i'])
    show('  log entry', before, after, events, ['l'])
    report('  all of it', before, after, events, [])
    before = after
  }
  const samples = await sampleValues()
  for (const [name, value] of samples) console.log(`${name}: ${value.length} bytes: ${value}`)
  engine.stop()
  await timeCommits(store)
  await store.close()
}

function rowOf(i) {
  return {
    cardId: `card-${idOf(i)}`,
    customerId: `customer-${idOf(i)}`,
    accountId: `account-${idOf(i)}`,
    type: 'retail',
    currency: 'USD',
    country: 'US',
    balance: '100000.00',
    expiry: '2031-12',
  }
}

/** As long as the ids of a large issuer. */
function idOf(i) {
  return String(4_000_000_000 + i)
}

function eventOf(i) {
  const id = randomUUID().slice(0, 18)
  return {
    eventId: `evt-${id}`,
    requestType: 'Authorization',
    transactionId: `txn-${id}`,
    originalTransactionId: '',
    cardId: `card-${idOf(i)}`,
    // Different ones: the same again and again at one merchant is an anomaly, with an index entry of its own.
    amountMinor: 100 + Math.floor(Math.random() * 5_000),
    currency: 'USD',
    final: null,
    partialApprovalSupported: false,
    merchant: {
      mid: 'MID-100200300',
      mcc: '5411',
      name: 'Corner Shop',
      city: 'Lagos',
      country: 'NG',
    },
    channel: '',
    entryMode: '',
    merchantAmountMinor: 0,
    merchantCurrency: '',
    occurredAtMs: Date.now(),
  }
}

async function inPortions(size, work) {
  for (let from = 0; from < cards; from += size) await work(from, Math.min(from + size, cards))
}

/** Bytes by kind of key: a account, d directory, e events, i index, l log; and of the whole server. */
async function take() {
  const kinds = { a: 0, d: 0, e: 0, i: 0, l: 0, m: 0 }
  let cursor = '0'
  do {
    const [next, keys] = await redis.scan(cursor, 'COUNT', 2_000)
    cursor = next
    const pipeline = redis.pipeline()
    for (const key of keys) pipeline.memory('USAGE', key, 'SAMPLES', '0')
    const sizes = await pipeline.exec()
    keys.forEach((key, i) => {
      kinds[kindOf(key)] += Number(sizes[i][1])
    })
  } while (cursor !== '0')
  const used = Number(/used_memory:(\d+)/.exec(await redis.info('memory'))[1])
  return { ...kinds, used }
}

function kindOf(key) {
  const name = key.slice(key.indexOf('}') + 1)
  if (name.startsWith('ad:')) return 'd'
  return name.includes('\0') ? 'e' : name[0]
}

function show(name, before, after, count, kinds) {
  const bytes = kinds.reduce((sum, kind) => sum + after[kind] - before[kind], 0)
  console.log(`${name}: ${(bytes / count).toFixed(0)} bytes`)
}

/** By the server's own count, which includes what MEMORY USAGE leaves out. */
function report(name, before, after, count, without) {
  const rest = without.reduce((sum, kind) => sum + after[kind] - before[kind], 0)
  const bytes = after.used - before.used - rest
  console.log(`${name}: ${(bytes / count).toFixed(0)} bytes of used_memory`)
}

async function sampleValues() {
  const [, keys] = await redis.scan('0', 'COUNT', 1_000)
  const account = keys.find((key) => key.includes('}aa:') && !key.includes('\0'))
  const events = keys.find((key) => key.includes('\0'))
  const fields = Object.entries(await redis.hgetall(account))
  const of = (start) => fields.find(([field]) => field.startsWith(start))
  return [
    ['account', of('')[1]],
    ['card', `${of('c\0')[0]} ${of('c\0')[1]}`],
    ['transaction', `${of('t\0')[0]} ${of('t\0')[1]}`],
    ['event', Object.entries(await redis.hgetall(events))[0].join(' ')],
    [
      'log entry',
      (
        await redis.xrevrange(
          keys.find((key) => key.endsWith('}l')) ?? '{p00}l',
          '+',
          '-',
          'COUNT',
          1,
        )
      )[0][1][1],
    ],
    [
      'encodings',
      `${await redis.object('ENCODING', account)} ${await redis.object('ENCODING', events)}`,
    ],
  ]
}

/** Commands like an approved ask's: root, card, transaction, event, index entry and log entry. */
async function timeCommits(store) {
  await timePings()
  for (const size of [1, 50, 500]) {
    const rounds = size === 500 ? 60 : size === 50 ? 300 : 2_000
    const versions = new Array(size).fill(null)
    const redisStart = await redisCpuMicros()
    const times = []
    const cpu = { node: 0, redis: 0 }
    for (let round = 0; round < rounds; round++) {
      const commands = versions.map((version, i) => commandOf(size, i, round, version))
      const nodeStart = process.cpuUsage()
      const sentMs = performance.now()
      const outcomes = await store.commit(commands)
      times.push(performance.now() - sentMs)
      const { user, system } = process.cpuUsage(nodeStart)
      cpu.node += user + system
      if (outcomes.some((outcome) => outcome !== 'committed')) throw new Error(`${outcomes}`)
      commands.forEach(({ newVersion }, i) => {
        versions[i] = newVersion
      })
    }
    cpu.redis = (await redisCpuMicros()) - redisStart
    const total = 1_000 * times.reduce((sum, ms) => sum + ms, 0)
    const each = (micros) => (micros / rounds / size).toFixed(1)
    const median = times.sort((a, b) => a - b)[rounds >> 1]
    console.log(
      `commits of ${size}: ${each(total)} µs a command (Node CPU ${each(cpu.node)}, ` +
        `Redis CPU ${each(cpu.redis)}), median call ${median.toFixed(2)} ms`,
    )
  }
}

/** What the machine gives at this moment: a commit is worth so many of the smallest round trips. */
async function timePings() {
  const rounds = 2_000
  const cpu = process.cpuUsage()
  const redisStart = await redisCpuMicros()
  const startedMs = performance.now()
  for (let i = 0; i < rounds; i++) await redis.ping()
  const totalMs = performance.now() - startedMs
  const { user, system } = process.cpuUsage(cpu)
  const redisMicros = (await redisCpuMicros()) - redisStart
  const each = (micros) => (micros / rounds).toFixed(1)
  console.log(
    `baseline, PING: ${each(1_000 * totalMs)} µs (Node CPU ${each(user + system)}, ` +
      `Redis CPU ${each(redisMicros)}), load average ${loadavg()[0]?.toFixed(1)}`,
  )
}

async function redisCpuMicros() {
  const info = await redis.info('cpu')
  const seconds = (name) => Number(new RegExp(`${name}:([\\d.]+)`).exec(info)[1])
  return 1e6 * (seconds('used_cpu_user') + seconds('used_cpu_sys'))
}

function commandOf(size, i, round, version) {
  const event = { group: 'e@90000', id: randomBytes(8).toString('hex') }
  const transaction = { group: 't', id: `card-4000000000\ntxn-${round}` }
  return {
    aggregate: `time-${size}-${i}`,
    expectedVersion: version,
    newVersion: `abcdefghijkl.${round.toString(36)}`,
    root: `[1,"account-4000000000","USD",10000000,${round},10000000,1794650000000,1794650000000,2,"US"]`,
    mustBeAbsent: [event, transaction],
    put: [
      { group: 'c', id: 'card-4000000000', value: 'x'.repeat(110) },
      { ...transaction, value: 'x'.repeat(150) },
      { ...event, value: 'x'.repeat(90) },
    ],
    remove: [],
    index: [{ index: 'time', sortKey: `${1794650000000 + round}\n${size}\n${i}`, value: '' }],
    unindex: [],
    log: ['x'.repeat(500)],
  }
}
