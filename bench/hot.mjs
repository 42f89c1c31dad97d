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
  const load = { cards, rules: 100, warmEach: smoke ? 60 : 2_500, count: smoke ? 120 : 1_500 }
  const instances = smoke ? [1] : [1, 2, 4]
  const pack = packOf(rulesOf(load.rules))
  const templates = await makeTemplates({ cards, pack, embedded: false })
  let samples = {}
  for (const count of instances) {
    progress(`${count} of ${instances.join(', ')} servers: starting and warming`)
    const settings = [`spread ${count}`, `hot ${count}`].map((name) => [name, templates, load])
    const fleets = await Promise.all(settings.map((each) => startFleet(...each)))
    const byName = new Map(fleets.map((fleet) => [fleet.name, fleet]))
    try {
      for (const fleet of fleets) await fleet.warm()
      const names = [...byName.keys()]
      const measured = await inRounds(smoke ? 1 : rounds, names, progress, (name, round) =>
        byName.get(name).measure(`${round}-`),
      )
      samples = { ...samples, ...measured }
      for (const fleet of fleets) await fleet.check()
    } finally {
      for (const fleet of fleets) await fleet.end()
    }
  }
  templates.remove()
  return report(samples, instances, load)
}

/** Servers on a Redis of their own, for all rounds: each has compiled its code when they begin. */
async function startFleet(name, templates, { warmEach, count, ...load }) {
  const [kind, instances] = name.split(' ')
  const redis = await startRedis({ copyOf: templates.redisDir, place })
  const servers = await Promise.all(
    Array.from({ length: Number(instances) }, () => startArbiter({ templates, redis, place })),
  )
  const sender = startSender()
  const ports = servers.map(({ port }) => port)
  const hotCard = kind === 'hot' ? cardIdOf(0) : undefined
  const job = { ...load, mode: 'closed', ports, hotCard, outstanding, maxSeconds: 20 }
  let approvedMinor = 0

  async function drive(run, events) {
    const result = await sender.drive({ ...job, run, count: events })
    approvedMinor += result.approvedMinor
    return result
  }

  return {
    name,
    warm: () => drive('w-', warmEach * servers.length),
    async measure(run) {
      const before = await look(servers, redis)
      const result = await drive(`${run}m-`, count)
      const after = await look(servers, redis)
      return { ...result, timeline: undefined, ...costOf(before, after, result.answered) }
    },
    async check() {
      await Promise.all(servers.map((server) => server.stop()))
      const env = {
        DATA_DIR: servers[0].dataDir,
        RULES_DIR: templates.rulesDir,
        REDIS_URL: redis.url,
      }
      const accounts = Array.from({ length: kind === 'hot' ? 1 : load.cards }, (_, i) =>
        accountIdOf(i),
      )
      await checkMoney(env, accounts, approvedMinor)
    },
    async end() {
      sender.end()
      await Promise.all(servers.map((server) => server.stop()))
      for (const server of servers) server.remove()
      await redis.stop()
      redis.remove()
    },
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
        'Each is a fresh process for all rounds. At the end the accounts held exactly what was approved, to the cent.',
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
