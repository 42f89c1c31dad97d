import { makeTemplates, startArbiter } from './support/arbiter.mjs'
import { findKnee, warm } from './support/knee.mjs'
import { checkMoney } from './support/ledger.mjs'
import { starvedBetween } from './support/processes.mjs'
import { startRedis } from './support/redis.mjs'
import { median } from './support/rounds.mjs'
import { packOf, rulesOf } from './support/rulebook.mjs'
import { startSender } from './support/sending.mjs'
import { startStack } from './support/stack.mjs'
import { accountIdOf } from './support/traffic.mjs'

const percents = [25, 50, 75, 100, 120]
/** Too much is met for longer: a queue needs time to grow. */
const longer = { 120: 3 }
/** Gate and engine are two threads: on one core they would measure each other. */
const place = 'anywhere'
const stores = ['embedded', 'Redis everysec']

export async function run({ smoke, rounds = 5, seconds = 1.5, progress }) {
  const cards = smoke ? 50 : 10_000
  const rules = 100
  const job = { cards, rules }
  const templates = await makeTemplates({ cards, pack: packOf(rulesOf(rules)) })
  const rows = []
  const samples = {}
  for (const store of smoke ? ['embedded'] : stores) {
    let knee
    const baseline = []
    const byPercent = Object.fromEntries(percents.map((percent) => [percent, []]))
    for (let round = 0; round < (smoke ? 1 : rounds); round++) {
      await inServer(store, templates, cards, async (server, sender, promise) => {
        const times = { seconds: smoke ? 0.2 : 2, warmCount: smoke ? 100 : 8_000 }
        const toWarm = { ...job, ...times, run: `${round}-` }
        progress(`${store}, round ${round + 1}: warming and looking for the knee`)
        if (knee !== undefined) await warm(sender, server, toWarm, promise)
        else knee = await findKnee(sender, server, toWarm, promise)
        for (const percent of round % 2 === 0 ? percents : percents.toReversed()) {
          progress(
            `${store}, round ${round + 1} of ${rounds}: ${percent} % of ${knee.ratePerSecond}/s`,
          )
          const ratePerSecond = (knee.ratePerSecond * percent) / 100
          const lastsS = (smoke ? 0.3 : seconds) * (longer[percent] ?? 1)
          const count = Math.ceil(ratePerSecond * lastsS)
          const open = { ...job, mode: 'open', ports: [server.port], ratePerSecond, count }
          let before
          const result = await sender.drive({ ...open, run: `${round}-${percent}-` }, async () => {
            before = await server.figures()
          })
          const starved = starvedBetween(before, await server.figures())
          promise(result)
          byPercent[percent].push({ ...result, starved, timeline: undefined })
        }
      })
      // The rates of both stores are much the same.
      if (store !== stores[0]) continue
      progress(`${store}, round ${round + 1} of ${rounds}: Fastify alone at 50 %`)
      const ratePerSecond = knee.ratePerSecond / 2
      const count = Math.ceil(ratePerSecond * (smoke ? 0.3 : seconds))
      const result = await measureBaseline(ratePerSecond, job, count)
      baseline.push({ ...result, timeline: undefined })
    }
    samples[store] = { knee, byPercent, baseline }
    rows.push(...rowsOf(store, knee, byPercent, baseline))
  }
  templates.remove()
  return report(rows, samples)
}

/** Fastify alone with the same sender at the same rate: what of the latency is the machine's. */
async function measureBaseline(ratePerSecond, job, count) {
  const server = await startStack('fastify.mjs', ['limit'], {}, place)
  const sender = startSender()
  try {
    const load = { ...job, ports: [server.port], constant: true }
    const first = { ...load, mode: 'closed', outstanding: 64, maxSeconds: 15 }
    await sender.drive({ ...first, run: 'w-', count: Math.min(8_000, 5 * count) })
    return await sender.drive({ ...load, mode: 'open', ratePerSecond, count, run: 'b-' })
  } finally {
    sender.end()
    await server.stop()
    server.remove()
  }
}

/** A fresh server; at its end its ledger must hold exactly what it approved. */
async function inServer(store, templates, cards, work) {
  const redis =
    store === 'embedded' ? undefined : await startRedis({ copyOf: templates.redisDir, place })
  const server = await startArbiter({ templates, redis, place })
  const sender = startSender()
  let approvedMinor = 0
  try {
    await work(server, sender, (result) => {
      approvedMinor += result.approvedMinor
    })
    sender.end()
    await server.stop()
    const env = { DATA_DIR: server.dataDir, RULES_DIR: templates.rulesDir }
    const accountIds = Array.from({ length: cards }, (_, i) => accountIdOf(i))
    await checkMoney(
      redis === undefined ? env : { ...env, REDIS_URL: redis.url },
      accountIds,
      approvedMinor,
    )
  } finally {
    sender.end()
    await server.stop()
    await redis?.stop()
    redis?.remove()
    server.remove()
  }
}

function rowsOf(store, { ratePerSecond }, byPercent, baseline) {
  const kinds = percents.map((percent) => [store, percent, byPercent[percent]])
  const alone = baseline.length === 0 ? [] : [[`Fastify alone (${store})`, 50, baseline]]
  return [...kinds, ...alone].map(([name, percent, all]) => {
    const of = (pick) => median(all.map(pick))
    return {
      store: name,
      '% of the knee': percent,
      'events/s': Math.round((ratePerSecond * percent) / 100),
      'p50 ms': of(({ p50 }) => p50),
      'p99 ms': of(({ p99 }) => p99),
      'p99.9 ms': of(({ p999 }) => p999),
      'max ms': Math.max(...all.map(({ max }) => max)),
      'past 400 ms': all.reduce((sum, { past }) => sum + past, 0),
      'from sending': all.reduce((sum, { pastSending }) => sum + pastSending, 0),
      'of events': all.reduce((sum, { sent }) => sum + sent, 0),
      'default %': 100 * of(({ defaultShare }) => defaultShare),
      'approved/s': Math.round(of(({ approvedPerSecond }) => approvedPerSecond)),
      'sender late p99 ms': of(({ senderLate99 }) => senderLate99),
      'gate without a core %': 100 * of(({ starved }) => starved ?? Number.NaN),
    }
  })
}

/** A knee far below what the server does flat out was set by other work on the machine. */
function doubtsOf(samples) {
  return Object.entries(samples)
    .filter(([, { knee }]) => knee.ratePerSecond < 0.7 * knee.flatOutPerSecond)
    .map(
      ([store]) =>
        `**${store}: doubtful.** The knee was found far below what the server did flat out: the machine had other work, and 120 % of it is no overload.`,
    )
}

export function report(rows, samples) {
  const aims = Object.entries(samples).flatMap(([store, { knee, byPercent }]) => {
    const row = (percent) =>
      rows.find((one) => one.store === store && one['% of the knee'] === percent)
    const rightShare = 0.94
    const approved = median(byPercent[120].map(({ approvedPerSecond }) => approvedPerSecond))
    const part = approved / (knee.ratePerSecond * rightShare)
    const late = percents.reduce((sum, percent) => sum + row(percent)['past 400 ms'], 0)
    const half = row(50)['p99.9 ms']
    return [
      { text: `${store}: p99.9 under 10 ms at 50 %`, measured: half, met: half < 10 },
      {
        text: `${store}: no answer past 400 ms at any rate up to 120 %`,
        measured: late,
        met: late === 0,
      },
      {
        text: `${store}: approvals at 120 % at least 0.8 of those at the knee`,
        measured: part,
        met: part >= 0.8,
      },
    ]
  })
  return {
    parameters: { percents, rounds: Object.values(samples)[0].baseline.length },
    rows,
    samples,
    aims,
    notes: [
      ...doubtsOf(samples),
      ...Object.entries(samples).map(
        ([store, { knee }]) =>
          `${store}: knee at ${knee.ratePerSecond}/s (p99 within 50 ms, none by default), flat out ${Math.round(knee.flatOutPerSecond)}/s.`,
      ),
      'Open loop, exponential gaps, latency from the intended time of each event: what waits for a connection or for the sender counts, ' +
        'except in "from sending": answers past 400 ms from when the request was written, as the relay counts. ' +
        '"sender late" is how late the sender itself was, which is the machine and not the server; "gate without a core" is the part of the time in which the gate could have run and the cores were busy with the server\'s own other threads or with other work. Medians of the rounds; max and past 400 ms over all of them. ' +
        'About six in a hundred events are declined by a rule. After each round the ledger held exactly what was approved.',
    ],
    plot: {
      type: 'lines',
      title: 'Latency by load (ms, from the intended time)',
      xLabel: '% of the knee',
      yLabel: 'ms',
      logY: true,
      limit: { y: 400, text: '400 ms' },
      curves: Object.keys(samples).flatMap((store) =>
        ['p50', 'p99', 'p99.9', 'max'].map((name) => ({
          name: `${store} ${name}`,
          points: rows
            .filter((row) => row.store === store)
            .map((row) => [row['% of the knee'], row[`${name} ms`]]),
        })),
      ),
    },
  }
}
