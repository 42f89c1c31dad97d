import { readdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeTemplates, startArbiter } from './support/arbiter.mjs'
import { checkMoney } from './support/ledger.mjs'
import { memoryOf } from './support/processes.mjs'
import { median } from './support/rounds.mjs'
import { packOf, rulesOf } from './support/rulebook.mjs'
import { startSender } from './support/sending.mjs'
import { accountIdOf } from './support/traffic.mjs'

export async function run({ smoke, minutes = 10, progress }) {
  const sliceS = smoke ? 1 : 10
  const slices = smoke ? 4 : Math.max(6, Math.round((minutes * 60) / sliceS))
  const job = { cards: smoke ? 50 : 2_000, rules: 100, ratePerSecond: smoke ? 50 : 300 }
  const pack = packOf(rulesOf(job.rules))
  const templates = await makeTemplates({ cards: job.cards, pack, redis: false })
  const server = await startArbiter({ templates, place: 'anywhere' })
  const sender = startSender()
  const samples = []
  let approvedMinor = 0
  try {
    const count = job.ratePerSecond * sliceS
    const open = { ...job, mode: 'open', ports: [server.port], count }
    const startedMs = performance.now()
    for (let slice = 0; slice < slices; slice++) {
      progress(`${slice + 1} of ${slices} parts of ${sliceS} s at ${job.ratePerSecond}/s`)
      const result = await sender.drive({ ...open, run: `${slice}-` })
      approvedMinor += result.approvedMinor
      // Its connections are closed by then.
      await sleep(300)
      const { memory } = await server.figures()
      samples.push({
        minutes: (performance.now() - startedMs) / 60_000,
        ...memoryOf(server.child.pid),
        gateHeapMb: memory.heapUsed / 2 ** 20,
        descriptors: readdirSync(`/proc/${server.child.pid}/fd`).length,
        p50: result.p50,
        p99: result.p99,
        max: result.max,
        past: result.pastSending,
        defaults: result.defaults,
      })
    }
    sender.end()
    await server.stop()
    const env = { DATA_DIR: server.dataDir, RULES_DIR: templates.rulesDir }
    const accountIds = Array.from({ length: job.cards }, (_, i) => accountIdOf(i))
    await checkMoney(env, accountIds, approvedMinor)
  } finally {
    sender.end()
    await server.stop()
    server.remove()
    templates.remove()
  }
  return report(samples, { ...job, sliceS })
}

/** Least squares: what a minute adds. */
function slopeOf(points) {
  const mean = (pick) => points.reduce((sum, point) => sum + pick(point), 0) / points.length
  const [mx, my] = [mean(([x]) => x), mean(([, y]) => y)]
  const above = points.reduce((sum, [x, y]) => sum + (x - mx) * (y - my), 0)
  const below = points.reduce((sum, [x]) => sum + (x - mx) ** 2, 0)
  return above / below
}

function report(samples, job) {
  const third = Math.max(1, Math.floor(samples.length / 3))
  const thirds = [samples.slice(0, third), samples.slice(third, -third), samples.slice(-third)]
  const rows = thirds.map((part, i) => {
    const of = (pick) => median(part.map(pick))
    return {
      part: ['first third', 'second third', 'last third'][i],
      'until minute': part.at(-1)?.minutes ?? Number.NaN,
      'own memory MB': of(({ ownMb }) => ownMb),
      'resident MB': of(({ residentMb }) => residentMb),
      'gate heap MB': of(({ gateHeapMb }) => gateHeapMb),
      descriptors: Math.max(...part.map(({ descriptors }) => descriptors)),
      'p50 ms': of(({ p50 }) => p50),
      'p99 ms': of(({ p99 }) => p99),
      'max ms': Math.max(...part.map(({ max }) => max)),
      'past 400 ms from sending': part.reduce((sum, { past }) => sum + past, 0),
      'by default': part.reduce((sum, { defaults }) => sum + defaults, 0),
    }
  })
  const half = samples.slice(samples.length >> 1)
  const slope = slopeOf(half.map(({ minutes, ownMb }) => [minutes, ownMb]))
  const grown = Math.max(...thirds[2].map(({ descriptors }) => descriptors)) - rows[1].descriptors
  const drift = rows[2]['p50 ms'] / rows[1]['p50 ms']
  return {
    parameters: job,
    rows,
    samples,
    aims: [
      {
        text: 'no more descriptors in the last third than in the second',
        measured: grown,
        met: grown <= 0,
      },
      {
        text: 'p50 of the last third at most 1.2 times the second',
        measured: drift,
        met: drift <= 1.2,
      },
    ],
    notes: [
      `${job.ratePerSecond} events a second, open loop, in parts of ${job.sliceS} s, embedded store, ${job.cards} cards. ` +
        `In the second half its own memory grew by ${slope.toFixed(2)} MB a minute (least squares), which a short run cannot tell from a collector that has not run yet; the pages of the store's file are in the resident figure only.`,
      'At the end the ledger held exactly what was approved, to the cent.',
    ],
    plot: [
      plotOf('Own memory (MB)', 'MB', samples, ({ ownMb }) => ownMb),
      plotOf('p99 (ms)', 'ms', samples, ({ p99 }) => p99),
    ],
  }
}

function plotOf(title, yLabel, samples, pick) {
  const points = samples.map((sample) => [sample.minutes, pick(sample)])
  return { type: 'lines', title, xLabel: 'minutes', yLabel, curves: [{ name: title, points }] }
}
