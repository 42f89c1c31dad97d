import { makeTemplates, startArbiter } from './support/arbiter.mjs'
import { checkMoney } from './support/ledger.mjs'
import { usedBetween } from './support/processes.mjs'
import { startRedis } from './support/redis.mjs'
import { inRounds, median, medianRatio } from './support/rounds.mjs'
import { packOf, rulesOf } from './support/rulebook.mjs'
import { startSender } from './support/sending.mjs'
import { accountIdOf, cardIdOf } from './support/traffic.mjs'

const place = 'anywhere'
const outstanding = 64

export async function run({ smoke, rounds = 5, progress }) {
  const cards = smoke ? 50 : 1_000
  const load = { cards, rules: 100, warmCount: smoke ? 60 : 1_200, count: smoke ? 120 : 1_500 }
  const instances = smoke ? [1, 2] : [1, 2, 4]
  const pack = packOf(rulesOf(load.rules))
  const templates = await makeTemplates({ cards, pack, embedded: false })
  const names = instances.flatMap((count) => [`spread ${count}`, `hot ${count}`])
  const samples = await inRounds(smoke ? 1 : rounds, names, progress, (name, round) =>
    measure(name, templates, { ...load, run: `${round}-` }),
  )
  templates.remove()
  return report(samples, instances, load)
}

async function measure(name, templates, { warmCount, count, run, ...load }) {
  const [kind, instances] = name.split(' ')
  const redis = await startRedis({ copyOf: templates.redisDir, place })
  const servers = []
  const sender = startSender()
  try {
    const starting = Array.from({ length: Number(instances) }, () =>
      startArbiter({ templates, redis, place }),
    )
    servers.push(...(await Promise.all(starting)))
    const ports = servers.map(({ port }) => port)
    const hotCard = kind === 'hot' ? cardIdOf(0) : undefined
    const job = { ...load, mode: 'closed', ports, hotCard, outstanding, maxSeconds: 15 }
    const warm = await sender.drive({ ...job, run: `${run}w-`, count: warmCount })
    const before = await look(servers, redis)
    const result = await sender.drive({ ...job, run: `${run}m-`, count })
    const after = await look(servers, redis)
    await Promise.all(servers.map((server) => server.stop()))
    const env = {
      DATA_DIR: servers[0].dataDir,
      RULES_DIR: templates.rulesDir,
      REDIS_URL: redis.url,
    }
    const accounts = Array.from({ length: kind === 'hot' ? 1 : load.cards }, (_, i) =>
      accountIdOf(i),
    )
    await checkMoney(env, accounts, warm.approvedMinor + result.approvedMinor)
    return { ...result, timeline: undefined, ...costOf(before, after, result.answered) }
  } finally {
    sender.end()
    await Promise.all(servers.map((server) => server.stop()))
    for (const server of servers) server.remove()
    await redis.stop()
    redis.remove()
  }
}

async function look(servers, redis) {
  const figures = await Promise.all(servers.map((server) => server.figures()))
  return { figures, redisUs: redis.cpuUs() }
}

function costOf(before, after, decisions) {
  const serversUs = after.figures
    .map((figures, i) => usedBetween(before.figures[i], figures).processUs)
    .reduce((sum, us) => sum + us, 0)
  return {
    serversUs: serversUs / decisions,
    redisUs: (after.redisUs - before.redisUs) / decisions,
  }
}

function report(samples, instances, load) {
  const of = (name, pick) => median(samples[name].map(pick))
  const allUs = (sample) => sample.serversUs + sample.redisUs
  const rows = Object.keys(samples).map((name) => {
    const [kind, count] = name.split(' ')
    const spread = samples[`spread ${count}`]
    return {
      traffic: kind === 'hot' ? 'one account' : `${load.cards} accounts`,
      servers: Number(count),
      'decisions/s': Math.round(of(name, ({ perSecond }) => perSecond)),
      'of spread': medianRatio(samples[name], spread, ({ perSecond }) => perSecond),
      'by CPU, of spread': 1 / medianRatio(samples[name], spread, allUs),
      'servers µs': of(name, ({ serversUs }) => serversUs),
      'Redis µs': of(name, ({ redisUs }) => redisUs),
      'p50 ms': of(name, ({ p50 }) => p50),
      'p99 ms': of(name, ({ p99 }) => p99),
      'max ms': Math.max(...samples[name].map(({ max }) => max)),
      'default %': 100 * of(name, ({ defaultShare }) => defaultShare),
    }
  })
  return {
    parameters: { ...load, outstanding, rounds: samples['hot 1'].length },
    rows,
    samples,
    aims: instances.map((count) => {
      const row = rows.find((one) => one.traffic === 'one account' && one.servers === count)
      const measured = row['of spread']
      return {
        text: `one hot account, ${count} server${count === 1 ? '' : 's'}: at least 0.8 of spread traffic`,
        measured,
        met: measured >= 0.8,
      }
    }),
    notes: [
      `${outstanding} events at a time, closed loop, in turn to each server; Redis with appendfsync everysec. All servers and Redis share ` +
        'the same cores, so more servers are not more capacity here: what counts is the hot row against its spread row. ' +
        'After each run the accounts held exactly what was approved, to the cent.',
    ],
    plot: {
      type: 'lines',
      title: 'One account against many (decisions/s)',
      xLabel: 'servers on one Redis',
      yLabel: 'decisions/s',
      curves: ['spread', 'hot'].map((kind) => ({
        name: kind,
        points: instances.map((count) => [
          count,
          of(`${kind} ${count}`, ({ perSecond }) => perSecond),
        ]),
      })),
    },
  }
}
