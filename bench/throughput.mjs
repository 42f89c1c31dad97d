import { makeTemplates, startArbiter } from './support/arbiter.mjs'
import { driveClosed } from './support/closed-loop.mjs'
import { costOf, look } from './support/cost.mjs'
import { allCores, pinning } from './support/machine.mjs'
import { startRedis } from './support/redis.mjs'
import { inRounds, median, medianRatio } from './support/rounds.mjs'
import { packOf, rulesOf } from './support/rulebook.mjs'
import { startSender } from './support/sending.mjs'
import { startStack } from './support/stack.mjs'
import { cardIdOf, openingMinor } from './support/traffic.mjs'

/**
 * In the order of the table; `part` is the part of the events that a slow one is measured with, `warmPart`
 * of those it is warmed with: with a tenth of them its compiler was still at work, for a tenth of its time.
 */
const variants = {
  bare: { text: '(a) bare Fastify, schema, constant answer' },
  limit: { text: '(b) the same with authentication and log line' },
  embedded: { text: '(c) Arbiter, embedded store' },
  redis: { text: '(d) Arbiter, Redis, appendfsync always' },
  today: {
    text: '(e) Fastify, json-rules-engine, rate-limiter-flexible, Lua',
    part: 0.1,
    warmPart: 1 / 3,
  },
}

function countsOf({ part = 1, warmPart = 1 }, { warmCount, count }) {
  return { warmCount: Math.round(warmCount * warmPart), count: Math.round(count * part) }
}

/** One of each kind of server. */
const smokeVariants = ['limit', 'embedded', 'today']

/** On all cores: unsigned, without a log line, as (a) is; our own client, which costs less than autocannon. */
const spread = {
  bare: { text: '(a) bare Fastify, schema, constant answer' },
  embedded: { text: '(c) Arbiter, embedded store, no log line' },
  redis: { text: '(d) Arbiter, Redis everysec, no log line', redis: true },
  threads: { text: '(f) (a) with another thread that answers', floor: true },
  one: { text: '(g) (f) that writes one value with LMDB', floor: true },
  six: { text: '(h) (f) that writes six, as a first ask does', floor: true },
  three: { text: '(i) (f) that writes the same as three', floor: true },
  script: { text: '(j) (f) that writes six in Redis, everysec', floor: true, redis: true },
  decided: { text: '(k) (h) that decides, in memory', floor: true },
  decidedRedis: { text: '(l) (j) that decides, in memory', floor: true, redis: true },
}
const connectionCounts = { 1: 400, 8: 2_000, 64: 4_000, 256: 4_000 }
const maxSpreadRounds = 3

export async function run({ smoke, rounds = 5, progress }) {
  const [cards, rules] = smoke ? [100, 100] : [10_000, 100]
  const counts = smoke ? { warmCount: 50, count: 200 } : { warmCount: 12_000, count: 4_000 }
  progress(`making stores of ${cards} cards`)
  const templates = await makeTemplates({ cards, pack: packOf(rulesOf(rules)) })
  const names = smoke ? smokeVariants : Object.keys(variants)
  const load = { connections: smoke ? 5 : 50, cards, rules, ...counts, maxSeconds: 20 }
  const samples = await inRounds(smoke ? 1 : rounds, names, progress, (name, round) =>
    measure(name, templates, { ...load, run: `${name}-${round}-` }),
  )
  const spreadCounts = smoke ? { 1: 20, 8: 60 } : connectionCounts
  const spreadNames = smoke ? ['bare', 'embedded', 'three', 'decidedRedis'] : Object.keys(spread)
  const spreadRounds = smoke ? 1 : Math.min(rounds, maxSpreadRounds)
  const onAll = await inRounds(spreadRounds, spreadNames, progress, (name, round) =>
    measureSpread(name, templates, { cards, rules, counts: spreadCounts, round, smoke }),
  )
  templates.remove()
  return report(samples, load, onAll)
}

async function measureSpread(name, templates, { cards, rules, counts, round, smoke }) {
  const redis = await redisOf(spread[name], templates)
  const server = await startSpread(name, templates, redis)
  const sender = startSender()
  const job = { cards, rules, mode: 'closed', ports: [server.port], maxSeconds: 20 }
  const drive = async (run, outstanding, count) => {
    let before
    const onGo = async () => {
      before = await look(server, redis)
    }
    const constant = decidesNothing(name)
    const load = { ...job, constant, run: `${round}-${run}-`, outstanding, count }
    const { answered, perSecond, p50, p99, p999 } = await sender.drive(load, onGo)
    const cpu = costOf(before, await look(server, redis), answered)
    return { perSecond, latencyMs: { p50, p99, p999 }, cpu }
  }
  try {
    await warmUp(drive, smoke ? 60 : 5_000)
    const byConnections = {}
    for (const [outstanding, count] of Object.entries(counts)) {
      byConnections[outstanding] = await drive(`c${outstanding}`, Number(outstanding), count)
    }
    return byConnections
  } finally {
    sender.end()
    await server.stop()
    server.remove()
    await redis?.stop()
    redis?.remove()
  }
}

function redisOf({ redis, floor }, templates) {
  if (!redis) return undefined
  return startRedis({ place: allCores, ...(floor ? {} : { copyOf: templates.redisDir }) })
}

function decidesNothing(name) {
  return name === 'bare' || spread[name].floor === true
}

function startSpread(name, templates, redis) {
  const env = { RULES_DIR: templates.rulesDir, ...(redis && { REDIS_URL: redis.url }) }
  if (spread[name].floor) return startStack('floor.mjs', [name], env, allCores)
  if (name === 'bare') return startStack('fastify.mjs', ['bare'], {}, allCores)
  return startArbiter({ templates, redis, place: allCores, bare: true })
}

const leastWarmUps = 8
const mostWarmUps = 16
const standing = 0.05

/**
 * Until the processor time of a decision no longer falls: a compiler at work is not the product. It is at work for
 * long: after 20,000 decisions V8's helper took three times what it took after 60,000.
 */
async function warmUp(drive, count) {
  const seen = []
  while (seen.length < mostWarmUps) {
    const { cpu } = await drive(`w${seen.length}`, 64, count)
    seen.push(cpu.processUs)
    const best = Math.min(...seen.slice(0, -2))
    if (seen.length >= leastWarmUps && Math.min(...seen.slice(-2)) > (1 - standing) * best) return
  }
}

async function measure(name, templates, load) {
  const redis = await redisFor(name, templates, load.cards)
  const server = await serverFor(name, templates, redis, load.rules)
  try {
    const counts = countsOf(variants[name], load)
    const constant = name === 'bare' || name === 'limit'
    const sample = await driveClosed({ server, redis, ...load, ...counts, constant })
    await server.stop()
    checkLog(name, server, sample)
    return sample
  } finally {
    await server.stop()
    await redis?.stop()
    redis?.remove()
    server.remove()
  }
}

async function redisFor(name, templates, cards) {
  if (name === 'today') {
    const redis = await startRedis({ appendfsync: 'everysec' })
    const pipeline = redis.client.pipeline()
    for (let i = 0; i < cards; i++) {
      pipeline.hset(`account:${cardIdOf(i)}`, 'posted', openingMinor, 'held', 0)
    }
    await pipeline.exec()
    return redis
  }
  if (name !== 'redis') return undefined
  const redis = await startRedis({ appendfsync: 'always', copyOf: templates.redisDir })
  return { ...redis, durability: 'fsync' }
}

async function serverFor(name, templates, redis, rules) {
  if (name === 'bare' || name === 'limit') return startStack('fastify.mjs', [name], {}, 'one')
  if (name === 'today')
    return startStack('today.mjs', [], { REDIS_URL: redis.url, RULES: String(rules) }, 'one')
  return startArbiter({ templates, redis, place: 'one' })
}

/** Every answer of Arbiter has its line in the decision log, which is written in these figures too. */
function checkLog(name, server, { answered, warm }) {
  if (name === 'bare' || name === 'limit' || name === 'today') return
  const lines = server.log().split('"msg":"decided"').length - 1
  const least = answered + warm.answered
  if (lines < least) throw new Error(`${name}: ${lines} lines in the log for ${least} answers`)
}

const allUs = ({ cpu }) => cpu.processUs + cpu.redisUs
const perSecondOf = ({ perSecond }) => perSecond

function rowOf(variant, cores, connections, samples, ratios) {
  const of = (pick) => median(samples.map(pick))
  return {
    variant,
    cores,
    connections,
    'decisions/s': Math.round(of(perSecondOf)),
    'of (a)': ratios.bare,
    'of (b)': ratios.limit,
    'by CPU, of (b)': ratios.byCpu,
    'server µs': of(({ cpu }) => cpu.processUs),
    'gate µs': of(({ cpu }) => cpu.threadsUs.gate),
    'engine µs': of(({ cpu }) => cpu.threadsUs.engine),
    'V8 µs': of(({ cpu }) => cpu.threadsUs.v8),
    'pool µs': of(({ cpu }) => cpu.threadsUs.pool),
    'Redis µs': of(({ cpu }) => cpu.redisUs),
    'gate busy': of(({ cpu }) => cpu.busy.gate),
    'engine busy': of(({ cpu }) => cpu.busy.engine),
    'server cores busy': of(({ cpu }) => cpu.busy.process),
    'machine idle': of(({ cpu }) => cpu.machineIdle),
    'p50 ms': of(({ latencyMs }) => latencyMs.p50),
    'p99 ms': of(({ latencyMs }) => latencyMs.p99),
    'client busy': of(({ clientBusy }) => clientBusy ?? Number.NaN),
  }
}

function spreadRows(onAll) {
  return Object.keys(onAll.bare?.[0] ?? {}).flatMap((connections) =>
    Object.keys(onAll).map((name) => {
      const at = (of) => onAll[of].map((round) => round[connections])
      const ratios = {
        bare: medianRatio(at(name), at('bare'), perSecondOf),
        limit: Number.NaN,
        byCpu: Number.NaN,
      }
      return rowOf(spread[name].text, 'all', Number(connections), at(name), ratios)
    }),
  )
}

/** The table: what a decision may cost beside bare Fastify, on all cores with 64 connections. */
function spreadAims(rows) {
  const found = (name) =>
    rows.find((row) => row.variant === spread[name].text && row.connections === 64)
  const [bare, embedded, redis] = ['bare', 'embedded', 'redis'].map(found)
  if (bare === undefined || embedded === undefined || redis === undefined) return []
  const gate = bare['gate µs']
  return [
    aim('(c) on all cores: at least 0.45 of (a)', embedded['of (a)'], 0.45),
    aim('(d) on all cores: at least 0.40 of (a)', redis['of (a)'], 0.4),
    atMost('(c) gate µs, at most 48/33 of (a)', embedded['gate µs'] / gate, 48 / 33),
    atMost(
      '(c) engine µs, at most 45/33 of the gate of (a)',
      embedded['engine µs'] / gate,
      45 / 33,
    ),
    atMost('(c) V8 µs, at most 10/33 of the gate of (a)', embedded['V8 µs'] / gate, 10 / 33),
    atMost('(c) pool µs, at most 15/33 of the gate of (a)', embedded['pool µs'] / gate, 15 / 33),
    atMost('(c) p50 ms with 64 connections, at most 5', embedded['p50 ms'], 5),
    atMost('(c) p99 ms with 64 connections, at most 20', embedded['p99 ms'], 20),
  ]
}

export function report(samples, load, onAll) {
  const slow = countsOf(variants.today, load)
  const { limit, today, bare } = samples
  const pinned = Object.keys(samples).map((name) =>
    rowOf(variants[name].text, 'one', load.connections, samples[name], {
      bare: bare === undefined ? Number.NaN : medianRatio(samples[name], bare, perSecondOf),
      limit: medianRatio(samples[name], limit, perSecondOf),
      byCpu: 1 / medianRatio(samples[name], limit, allUs),
    }),
  )
  const rows = [...pinned, ...spreadRows(onAll)]
  const cheaper = (name, pick) => medianRatio(today, samples[name], pick)
  return {
    parameters: { ...load, rounds: limit.length, pinning, allCores },
    rows,
    samples: { ...samples, onAll },
    history: rows,
    notes: [
      `${load.cards} cards, ${load.rules} rules, ${load.connections} connections, every event another, signed; ` +
        'decision log to a file; every answer compared with the one that is due. ' +
        `${load.count} events, after ${load.warmCount} to warm it; (e) ${slow.count} after ${slow.warmCount}, because it is slow.`,
      'On one core the client is autocannon, on another core. On all cores it is our own, and nothing is signed or logged, as in (a); ' +
        'each server is warmed until its processor time no longer falls. ' +
        (allCores === 'anywhere'
          ? 'This machine has two cores: there the client shares them with the server, and with Redis.'
          : 'The client has a core of its own.'),
      '(f) to (j) decide nothing: they are what threads, a store and its keys alone cost, below which (c) and (d) cannot come. ' +
        '(k) and (l) decide too, by the functions of Arbiter and with its rows, and do nothing around it: no queue, no slot, no watchdog, no read of the store, no metrics.',
      'µs are processor time a decision; "pool" is the threads that write for LMDB. "busy" is the part of the time in which a thread ' +
        'ran. "by CPU" compares server and Redis together, as on one core.',
      clientNote(pinned),
    ],
    aims: ['embedded', 'redis']
      .filter((name) => name in samples)
      .flatMap((name) => {
        const text = variants[name].text
        const row = pinned.find(({ variant }) => variant === text)
        return [
          aim(`${text}: at least 0.75 of (b), by CPU on one core`, row['by CPU, of (b)'], 0.75),
          aim(`${text}: at least 5 times (e), by CPU on one core`, cheaper(name, allUs), 5),
        ]
      })
      .concat(spreadAims(rows)),
    plot: {
      type: 'bars',
      title: 'Processor time a decision (µs)',
      unit: 'µs',
      series: ['gate', 'engine', 'V8', 'pool', 'Redis'],
      bars: pinned.map((row) => ({
        label: row.variant,
        values: ['gate', 'engine', 'V8', 'pool', 'Redis'].map((thread) => row[`${thread} µs`]),
      })),
    },
  }
}

function aim(text, measured, least) {
  return { text, measured: Number(measured.toFixed(2)), met: measured >= least }
}

function atMost(text, measured, most) {
  return { text, measured: Number(measured.toFixed(2)), met: measured <= most }
}

function clientNote(rows) {
  const bound = rows
    .filter((row) => row['client busy'] > 0.9)
    .map(({ variant }) => variant.slice(0, 4).trim())
  if (bound.length === 0) return 'The client was below nine tenths of its core in all variants.'
  return `The client itself was the bottleneck for ${bound.join(', ')} (its core more than nine tenths busy): there the CPU columns say more than decisions/s.`
}
