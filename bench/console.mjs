import { get } from 'node:http'
import { makeTemplates, startArbiter } from './support/arbiter.mjs'
import { findKnee } from './support/knee.mjs'
import { logLine } from './support/processes.mjs'
import { inRounds, median, medianRatio } from './support/rounds.mjs'
import { packOf, rulesOf } from './support/rulebook.mjs'
import { startSender } from './support/sending.mjs'

const place = 'anywhere'
const consoles = 50
const rules = 100

/** Decisions at half of the knee, without a console and with many open ones that follow every decision. */
export async function run({ smoke, rounds = 5, seconds = 4, progress }) {
  const cards = smoke ? 50 : 10_000
  const templates = await makeTemplates({ cards, pack: packOf(rulesOf(rules)), redis: false })
  const [without, served] = await Promise.all([
    startArbiter({ templates, place }),
    startArbiter({ templates, place, env: { CONSOLE_PORT: '0' } }),
  ])
  const sender = startSender()
  const job = { cards, rules }
  let opened = []
  try {
    const { consolePort } = await logLine(served, '"serving the console"')
    progress('looking for the knee')
    const warming = { seconds: smoke ? 0.2 : 2, warmCount: smoke ? 100 : 8_000 }
    await findKnee(sender, without, { ...job, ...warming, run: 'w-' }, () => {})
    const knee = await findKnee(sender, served, { ...job, ...warming, run: 'k-' }, () => {})
    const ratePerSecond = knee.ratePerSecond / 2
    const count = Math.ceil(ratePerSecond * (smoke ? 0.3 : seconds))
    const open = { ...job, mode: 'open', ratePerSecond, count }
    const names = ['no console', 'a console, closed', `${consoles} open`]
    const samples = await inRounds(smoke ? 1 : rounds, names, progress, async (name, round) => {
      const server = name === 'no console' ? without : served
      if (name.endsWith('open')) opened = await openConsoles(consolePort)
      try {
        return await sender.drive({ ...open, ports: [server.port], run: `${round}-${name[0]}-` })
      } finally {
        for (const request of opened) request.destroy()
        opened = []
      }
    })
    return report(samples, ratePerSecond)
  } finally {
    sender.end()
    for (const server of [without, served]) {
      await server.stop()
      server.remove()
    }
    templates.remove()
  }
}

/** Each reads what it is told, as a browser on the page of decisions does. */
function openConsoles(port) {
  return Promise.all(
    Array.from({ length: consoles }, () => {
      return new Promise((resolve, reject) => {
        const request = get({ port, host: '127.0.0.1', path: '/live?decisions=1' }, (response) => {
          response.resume()
          response.on('error', () => {})
          resolve(request)
        })
        request.on('error', reject)
      })
    }),
  )
}

function report(samples, ratePerSecond) {
  const alone = samples['no console']
  const rows = Object.entries(samples).map(([name, all]) => ({
    console: name,
    'events/s': Math.round(ratePerSecond),
    'p50 ms': median(all.map(({ p50 }) => p50)),
    'p99 ms': median(all.map(({ p99 }) => p99)),
    'p99.9 ms': median(all.map(({ p999 }) => p999)),
    'p99 ratio': medianRatio(all, alone, ({ p99 }) => p99),
    'default %': 100 * median(all.map(({ defaultShare }) => defaultShare)),
  }))
  const { 'p99 ratio': ratio } = rows.at(-1)
  return {
    parameters: { consoles, rounds: alone.length, eventsPerSecond: Math.round(ratePerSecond) },
    rows,
    samples,
    aims: [
      {
        text: `p99 with ${consoles} open consoles within 1.3 of none`,
        measured: ratio,
        met: ratio <= 1.3,
      },
    ],
    notes: [
      `Decisions at half of the knee; ${consoles} browsers are told every second, as on the page of decisions.`,
    ],
    plot: {
      type: 'bars',
      title: 'Decisions beside consoles (p99, ms)',
      unit: 'ms',
      series: ['p50', 'p99'],
      bars: rows.map((row) => ({ label: row.console, values: [row['p50 ms'], row['p99 ms']] })),
    },
  }
}
