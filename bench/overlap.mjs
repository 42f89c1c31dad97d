import { readFileSync } from 'node:fs'
import { makeTemplates, startArbiter } from './support/arbiter.mjs'
import { root } from './support/processes.mjs'
import { packOf, rulesOf } from './support/rulebook.mjs'
import { startSender } from './support/sending.mjs'

const place = 'anywhere'
const everyMs = 0.4
const stripMs = 200
const stripStepMs = 2

/**
 * Whether gate and engine work at the same time: the states of their threads, looked at every half millisecond while
 * the server is saturated. On a machine with few cores the looking itself takes a part of one.
 */
export async function run({ smoke, progress }) {
  const cards = smoke ? 50 : 10_000
  const [warmCount, seconds] = smoke ? [100, 0.3] : [40_000, 2]
  progress(`making a store of ${cards} cards`)
  const rules = 100
  const pack = packOf(rulesOf(rules))
  const templates = await makeTemplates({ cards, pack, redis: false, product: root })
  const server = await startArbiter({ templates, place, product: root, bare: true })
  const sender = startSender()
  const job = { cards, rules, mode: 'closed', ports: [server.port], maxSeconds: 60 }
  const samples = []
  try {
    progress('warming')
    await sender.drive({ ...job, run: 'w-', outstanding: 64, count: warmCount })
    for (const outstanding of smoke ? [8] : [8, 64, 256]) {
      progress(`${outstanding} events at a time`)
      samples.push({ outstanding, ...(await watch(server, sender, job, outstanding, seconds)) })
    }
  } finally {
    sender.end()
    await server.stop()
    server.remove()
    templates.remove()
  }
  return report(samples, { cards, rules, warmCount, seconds })
}

async function watch(server, sender, job, outstanding, seconds) {
  const { threads } = await server.figures()
  const files = ['main', 'engine'].map((name) => {
    const { task } = threads.find((thread) => thread.name === name)
    return `/proc/${server.child.pid}/task/${task}/stat`
  })
  let states
  const onGo = () => {
    // When the load has begun, and before it ends.
    setTimeout(() => {
      states = statesOf(files, seconds * 1_000)
    }, 300)
  }
  const count = Math.round(outstanding * 30 + seconds * 8_000)
  const { perSecond } = await sender.drive(
    { ...job, run: `${outstanding}-`, outstanding, count },
    onGo,
  )
  return { perSecond, states }
}

/** At each look which of the threads could run; nothing else is done meanwhile. */
function statesOf(files, forMs) {
  const clock = new Int32Array(new SharedArrayBuffer(4))
  const states = []
  const startedMs = performance.now()
  for (let nowMs = 0; nowMs < forMs; nowMs = performance.now() - startedMs) {
    const [gate, engine] = files.map((file) => /\) R/.test(readFileSync(file, 'utf8')))
    states.push({ atMs: nowMs, gate, engine })
    Atomics.wait(clock, 0, 0, everyMs)
  }
  return states
}

function partOf(states, wanted) {
  return states.filter(wanted).length / states.length
}

function report(samples, parameters) {
  const rows = samples.map(({ outstanding, perSecond, states }) => ({
    'events at a time': outstanding,
    'decisions/s': perSecond,
    'both at work': partOf(states, ({ gate, engine }) => gate && engine),
    'gate only': partOf(states, ({ gate, engine }) => gate && !engine),
    'engine only': partOf(states, ({ gate, engine }) => !gate && engine),
    neither: partOf(states, ({ gate, engine }) => !gate && !engine),
  }))
  const { states, outstanding } = samples[Math.floor(samples.length / 2)]
  return {
    parameters,
    rows,
    samples: [],
    aims: [],
    notes: [
      `Parts of the looks, one every ${everyMs} ms for ${parameters.seconds} s, at which a thread was running or could have run; ` +
        '"neither" means that both wait, for the store or for the client.',
      `${stripMs} ms of ${outstanding} events at a time, ${stripStepMs} ms a sign: █ at work, · waiting.\n\n` +
        `    gate    ${stripOf(states, 'gate')}\n    engine  ${stripOf(states, 'engine')}`,
    ],
    plot: {
      type: 'bars',
      title: 'Which of the two threads could run (part of the time)',
      unit: '',
      series: ['both at work', 'gate only', 'engine only', 'neither'],
      bars: rows.map((row) => ({
        label: `${row['events at a time']} at a time`,
        values: [row['both at work'], row['gate only'], row['engine only'], row.neither],
      })),
    },
  }
}

/** A sign is at work when the thread was at more than half of its looks. */
function stripOf(states, thread) {
  const signs = []
  for (let fromMs = 0; fromMs < stripMs; fromMs += stripStepMs) {
    const part = states.filter(({ atMs }) => atMs >= fromMs && atMs < fromMs + stripStepMs)
    signs.push(part.filter((state) => state[thread]).length * 2 > part.length ? '█' : '·')
  }
  return signs.join('')
}
