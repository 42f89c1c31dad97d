import { makeTemplates, startArbiter } from './support/arbiter.mjs'
import { buildCommit } from './support/checkout.mjs'
import { costOf, look } from './support/cost.mjs'
import { root } from './support/processes.mjs'
import { startRedis } from './support/redis.mjs'
import { median, quantile } from './support/rounds.mjs'
import { packOf, rulesOf } from './support/rulebook.mjs'
import { startSender } from './support/sending.mjs'

const place = 'anywhere'
const stores = ['embedded', 'Redis everysec']
const outstanding = 64

/** What is compared, and whether more is better. */
const figures = {
  'decisions/s': { of: ({ perSecond }) => perSecond, more: true },
  'all µs': { of: ({ cpu }) => cpu.processUs + cpu.redisUs },
  'gate µs': { of: ({ cpu }) => cpu.threadsUs.gate },
  'engine µs': { of: ({ cpu }) => cpu.threadsUs.engine },
  'V8 µs': { of: ({ cpu }) => cpu.threadsUs.v8 },
  'pool µs': { of: ({ cpu }) => cpu.threadsUs.pool },
  'Redis µs': { of: ({ cpu }) => cpu.redisUs },
  'p50 ms': { of: ({ p50 }) => p50 },
  'p99 ms': { of: ({ p99 }) => p99 },
}

/**
 * Two builds side by side. Both servers live through all portions of a round and are driven in turns, so
 * that what else the machine does hits both alike; each round has fresh ones.
 */
export async function run({ smoke, ref, store, flags = '', rounds = 3, progress }) {
  progress(`building ${ref}`)
  const other = buildCommit(ref)
  const [cards, rules] = smoke ? [50, 100] : [10_000, 100]
  const load = smoke
    ? { warmCount: 100, portions: 2, portion: 60 }
    : { warmCount: 30_000, portions: 12, portion: 1_500 }
  const sides = []
  for (const [name, product, words] of [
    ['before', other.path, ''],
    ['after', root, flags],
  ]) {
    progress(`making stores of ${cards} cards: ${name}`)
    const pack = packOf(rulesOf(rules))
    sides.push({
      name,
      product,
      flags: words.split(' ').filter(Boolean),
      templates: await makeTemplates({ cards, pack, product }),
    })
  }
  const samples = {}
  for (const each of store === undefined ? stores : [store]) {
    samples[each] = []
    for (let round = 0; round < (smoke ? 1 : rounds); round++) {
      const words = (text) => progress(`${each}, round ${round + 1} of ${rounds}: ${text}`)
      samples[each].push(
        ...(await compareOnce(sides, each, { cards, rules, ...load, round }, words)),
      )
    }
  }
  for (const { templates } of sides) templates.remove()
  other.remove()
  return report(samples, other.commit, { cards, rules, outstanding, ...load, rounds, flags })
}

/** Pairs of samples, one of each side, that were measured right after each other. */
async function compareOnce(sides, store, load, progress) {
  const started = []
  try {
    // Who is started and warmed first has more time to settle: the gate of a commit beside itself took 1.06.
    const first = load.round % 2 === 0 ? sides : sides.toReversed()
    for (const side of first) started.push(await startSide(side, store, load))
    progress('warming')
    for (const side of started) await side.drive('w', load.warmCount)
    const pairs = []
    for (let i = 0; i < load.portions; i++) {
      progress(`portion ${i + 1} of ${load.portions}`)
      const order = i % 2 === 0 ? started : started.toReversed()
      const measured = new Map()
      for (const side of order) measured.set(side, await side.drive(`${i}`, load.portion))
      pairs.push(Object.fromEntries(started.map((side) => [side.name, measured.get(side)])))
    }
    return pairs
  } finally {
    for (const side of started) await side.end()
  }
}

async function startSide({ name, product, flags, templates }, store, { cards, rules, round }) {
  const redis =
    store === 'embedded' ? undefined : await startRedis({ copyOf: templates.redisDir, place })
  const server = await startArbiter({ templates, redis, place, product, flags })
  const sender = startSender()
  const job = { cards, rules, mode: 'closed', ports: [server.port], outstanding, maxSeconds: 60 }
  return {
    name,
    async drive(part, count) {
      let before
      const onGo = async () => {
        before = await look(server, redis)
      }
      const result = await sender.drive({ ...job, run: `${round}-${part}-`, count }, onGo)
      const cpu = costOf(before, await look(server, redis), result.answered)
      return { perSecond: result.perSecond, p50: result.p50, p99: result.p99, cpu }
    },
    async end() {
      sender.end()
      await server.stop()
      server.remove()
      await redis?.stop()
      redis?.remove()
    },
  }
}

const resamples = 2_000
/** With fewer the interval says nothing. */
const leastPairs = 8

/**
 * The median of the ratios within pairs, and where 95 of 100 medians lie when the pairs are drawn anew
 * (bootstrap): outside 1, the difference is no chance of these portions.
 */
export function ratioOf(pairs, pick) {
  const ratios = pairs
    .map(({ before, after }) => pick(after) / pick(before))
    .filter((ratio) => Number.isFinite(ratio))
  let state = 1
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 4_294_967_296
  }
  const medians = Array.from({ length: resamples }, () =>
    median(ratios.map(() => ratios[Math.floor(next() * ratios.length)])),
  ).sort((a, b) => a - b)
  return { ratio: median(ratios), low: quantile(medians, 0.025), high: quantile(medians, 0.975) }
}

function verdictOf(pairs, better, worse) {
  if (pairs < leastPairs) return 'too few'
  return better ? 'better' : worse ? 'WORSE' : 'no difference shown'
}

function report(samples, commit, parameters) {
  const rows = Object.entries(samples).flatMap(([store, pairs]) =>
    Object.entries(figures).flatMap(([figure, { of, more = false }]) => {
      const { ratio, low, high } = ratioOf(pairs, of)
      if (Number.isNaN(ratio)) return []
      const better = more ? low > 1 : high < 1
      const worse = more ? high < 1 : low > 1
      return {
        store,
        figure,
        before: median(pairs.map(({ before }) => of(before))),
        after: median(pairs.map(({ after }) => of(after))),
        ratio,
        'from (95 %)': low,
        to: high,
        verdict: verdictOf(pairs.length, better, worse),
      }
    }),
  )
  return {
    parameters: { ...parameters, before: commit },
    history: { before: commit, rows },
    rows,
    samples,
    aims: [],
    notes: [
      `before is ${commit}, after is this folder as it was built${parameters.flags && `, with ${parameters.flags}`}. ${parameters.cards} cards, ${parameters.rules} rules, ` +
        `${outstanding} events at a time, signed, decision log to a file; portions of ${parameters.portion} events in turns. ` +
        'µs are processor time a decision: these can be believed on a busy machine too, decisions/s and ms only on a quiet one.',
    ],
    plot: {
      type: 'bars',
      title: 'Processor time a decision (µs)',
      unit: 'µs',
      series: ['gate', 'engine', 'V8', 'pool', 'Redis'],
      bars: Object.entries(samples).flatMap(([store, pairs]) =>
        ['before', 'after'].map((side) => ({
          label: `${store}, ${side}`,
          values: ['gate µs', 'engine µs', 'V8 µs', 'pool µs', 'Redis µs'].map((figure) =>
            median(pairs.map((pair) => figures[figure].of(pair[side]))),
          ),
        })),
      ),
    },
  }
}
