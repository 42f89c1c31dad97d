import { makeTemplates, startArbiter } from './support/arbiter.mjs'
import { driveClosed } from './support/closed-loop.mjs'
import { pinning } from './support/machine.mjs'
import { startRedis } from './support/redis.mjs'
import { inRounds, median, medianRatio } from './support/rounds.mjs'
import { packOf, rulesOf } from './support/rulebook.mjs'
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
  templates.remove()
  return report(samples, load)
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
  if (name === 'bare' || name === 'limit') return startStack('fastify.mjs', [name], {})
  if (name === 'today')
    return startStack('today.mjs', [], { REDIS_URL: redis.url, RULES: String(rules) })
  return startArbiter({ templates, redis })
}

/** Every answer of Arbiter has its line in the decision log, which is written in these figures too. */
function checkLog(name, server, { answered, warm }) {
  if (name === 'bare' || name === 'limit' || name === 'today') return
  const lines = server.log().split('"msg":"decided"').length - 1
  const least = answered + warm.answered
  if (lines < least) throw new Error(`${name}: ${lines} lines in the log for ${least} answers`)
}

const allUs = ({ cpu }) => cpu.processUs + cpu.redisUs
const busiestUs = ({ cpu }) =>
  Math.max(cpu.processUs - othersUs(cpu), cpu.redisUs, cpu.threadsUs.engine ?? 0)
const othersUs = ({ threadsUs }) => (threadsUs.engine ?? 0) + (threadsUs.other ?? 0)

export function report(samples, load) {
  const slow = countsOf(variants.today, load)
  const { limit, today } = samples
  const of = (name, pick) => median(samples[name].map(pick))
  const rows = Object.keys(samples).map((name) => ({
    variant: variants[name].text,
    'decisions/s': Math.round(of(name, ({ perSecond }) => perSecond)),
    'of (b)': medianRatio(samples[name], limit, ({ perSecond }) => perSecond),
    'by CPU, of (b)': 1 / medianRatio(samples[name], limit, allUs),
    'a core per thread, of (b)': 1 / medianRatio(samples[name], limit, busiestUs),
    'server µs': of(name, ({ cpu }) => cpu.processUs),
    'gate µs': of(name, ({ cpu }) => cpu.threadsUs.gate ?? Number.NaN),
    'engine µs': of(name, ({ cpu }) => cpu.threadsUs.engine ?? 0),
    'other µs': of(name, ({ cpu }) => cpu.threadsUs.other ?? 0),
    'Redis µs': of(name, ({ cpu }) => cpu.redisUs),
    'p50 ms': of(name, ({ latencyMs }) => latencyMs.p50),
    'p99 ms': of(name, ({ latencyMs }) => latencyMs.p99),
    'client busy': of(name, ({ clientBusy }) => clientBusy),
  }))
  const cheaper = (name, pick) => medianRatio(today, samples[name], pick)
  return {
    parameters: { ...load, rounds: limit.length, pinning },
    rows,
    samples,
    notes: [
      `${load.cards} cards, ${load.rules} rules, ${load.connections} connections, every event another, signed; ` +
        'decision log to a file; every answer compared with the one that is due. ' +
        `${load.count} events, after ${load.warmCount} to warm it; (e) ${slow.count} after ${slow.warmCount}, because it is slow.`,
      'µs are processor time a decision. "by CPU" compares server and Redis together, as on one core; "a core per ' +
        'thread" is calculated and not run: the busiest thread (gate, engine or Redis) against that of (b), as if each had a core of its own.',
      clientNote(rows),
    ],
    aims: ['embedded', 'redis']
      .filter((name) => name in samples)
      .flatMap((name) => {
        const text = variants[name].text
        const row = rows.find(({ variant }) => variant === text)
        return [
          aim(`${text}: at least 0.75 of (b), by CPU on one core`, row['by CPU, of (b)'], 0.75),
          aim(
            `${text}: at least 0.75 of (b), a core per thread`,
            row['a core per thread, of (b)'],
            0.75,
          ),
          aim(`${text}: at least 5 times (e), by CPU on one core`, cheaper(name, allUs), 5),
          aim(`${text}: at least 5 times (e), a core per thread`, cheaper(name, busiestUs), 5),
        ]
      }),
    plot: {
      type: 'bars',
      title: 'Processor time a decision (µs)',
      unit: 'µs',
      series: ['gate', 'engine', 'other', 'Redis'],
      bars: rows.map((row) => ({
        label: row.variant,
        values: [row['gate µs'], row['engine µs'], row['other µs'], row['Redis µs']],
      })),
    },
  }
}

function aim(text, measured, least) {
  return { text, measured: Number(measured.toFixed(2)), met: measured >= least }
}

function clientNote(rows) {
  const bound = rows
    .filter((row) => row['client busy'] > 0.9)
    .map(({ variant }) => variant.slice(0, 4).trim())
  if (bound.length === 0) return 'The client was below nine tenths of its core in all variants.'
  return `The client itself was the bottleneck for ${bound.join(', ')} (its core more than nine tenths busy): there the CPU columns say more than decisions/s.`
}
