import { join } from 'node:path'
import { makeTemplates, startArbiter, writePack } from './support/arbiter.mjs'
import { memoryOf, temporaryFolder, usedBetween } from './support/processes.mjs'
import { inRounds, median, medianRatio } from './support/rounds.mjs'
import { packOf, rulesOf } from './support/rulebook.mjs'
import { startSender } from './support/sending.mjs'

/** `events` are in the load that is measured: another card each time, as far as there are cards. */
function pointsOf({ smoke, million }) {
  if (smoke) {
    return { cards: [50], rules: [0], entries: [100], warmed: 100, events: 100, fewCards: 50 }
  }
  return {
    cards: [1_000, 10_000, 100_000, ...(million ? [1_000_000] : [])],
    // A hundred rules are those of the rows above.
    rules: [0, 1_000, 10_000],
    entries: [100_000, 1_000_000],
    warmed: 6_000,
    events: 1_500,
    fewCards: 10_000,
  }
}

export async function run({ smoke, million, rounds = 5, progress }) {
  const points = pointsOf({ smoke, million })
  const folder = temporaryFolder()
  const stores = new Map()
  for (const cards of new Set([...points.cards, points.fewCards])) {
    progress(`importing ${cards} cards`)
    const startedMs = performance.now()
    const pack = packOf(rulesOf(100))
    const templates = await makeTemplates({ cards, pack, redis: false })
    stores.set(cards, { templates, importMs: performance.now() - startedMs })
  }
  const subjects = subjectsOf(points, stores, folder.path)
  const names = Object.keys(subjects)
  const servers = new Map()
  let samples
  try {
    for (const name of names) {
      progress(`starting and warming ${name}`)
      servers.set(name, await startSubject(subjects[name], points))
    }
    samples = await inRounds(smoke ? 1 : rounds, names, progress, (name, round) =>
      servers.get(name).measure(round),
    )
  } finally {
    for (const server of servers.values()) await server.end()
  }
  folder.remove()
  for (const { templates } of stores.values()) templates.remove()
  return report(samples, subjects, points, stores)
}

function subjectsOf({ cards, rules, entries, fewCards }, stores, folder) {
  const few = stores.get(fewCards).templates
  const packIn = (name, files) => {
    const rulesDir = join(folder, name)
    writePack(rulesDir, files)
    return rulesDir
  }
  return Object.fromEntries([
    ...cards.map((size) => [
      `cards ${size}`,
      { templates: stores.get(size).templates, cards: size, rules: 100, size },
    ]),
    ...rules.map((size) => [
      `rules ${size}`,
      {
        templates: few,
        cards: fewCards,
        rules: size,
        size,
        rulesDir: packIn(`rules-${size}`, packOf(rulesOf(size))),
      },
    ]),
    ...entries.map((size) => [
      `list entries ${size}`,
      {
        templates: few,
        cards: fewCards,
        rules: 100,
        size,
        rulesDir: packIn(`list-${size}`, packWithList(size)),
      },
    ]),
  ])
}

/** The list comes last, so that the first rule that holds is the same one as without it. */
function packWithList(size) {
  const entries = Array.from({ length: size }, (_, i) => `LISTED${i}`)
  const rule = {
    id: 'listed',
    when: 'merchant.mid in lists.listed',
    decline: '186',
    why: 'bench',
  }
  return {
    ...packOf(rulesOf(100), { 'lists/listed.txt': `${entries.join('\n')}\n` }),
    'z-list.rules.yaml': `- ${JSON.stringify(rule)}\n`,
  }
}

/** A server for all rounds: it has compiled its code when they begin. */
async function startSubject({ templates, rulesDir, cards, rules }, { warmed, events }) {
  const server = await startArbiter({ templates, rulesDir })
  const sender = startSender()
  const load = { cards, rules, ports: [server.port], mode: 'closed', outstanding: 64 }
  const job = { ...load, maxSeconds: 20 }
  await sender.drive({ ...job, run: 'w-', count: warmed })
  return {
    async measure(round) {
      const from = warmed + round * events
      const before = await server.figures()
      const result = await sender.drive({ ...job, run: `${round}-`, count: events, from })
      const { processUs, threads } = usedBetween(before, await server.figures())
      return {
        ...result,
        timeline: undefined,
        startMs: server.startMs,
        cpuUs: processUs / result.answered,
        engineUs: (threads.engine ?? Number.NaN) / result.answered,
        ...memoryOf(server.child.pid),
      }
    },
    async end() {
      sender.end()
      await server.stop()
      server.remove()
    },
  }
}

function report(samples, subjects, points, stores) {
  const of = (name, pick) => median(samples[name].map(pick))
  const rows = Object.keys(subjects).map((name) => ({
    what: name.slice(0, name.lastIndexOf(' ')),
    size: subjects[name].size,
    'decisions/s': Math.round(of(name, ({ perSecond }) => perSecond)),
    'CPU µs': of(name, ({ cpuUs }) => cpuUs),
    'engine µs': of(name, ({ engineUs }) => engineUs),
    'p50 ms': of(name, ({ p50 }) => p50),
    'max ms': Math.max(...samples[name].map(({ max }) => max)),
    'past 400 ms': samples[name].reduce((sum, { past }) => sum + past, 0),
    'own memory MB': of(name, ({ ownMb }) => ownMb),
    'resident MB': of(name, ({ residentMb }) => residentMb),
    'start ms': of(name, ({ startMs }) => startMs),
  }))
  return {
    parameters: { ...points, rounds: Object.values(samples)[0].length },
    rows,
    samples,
    aims: aimsOf(samples, rows),
    notes: [
      'Embedded store, 64 events at a time, flat out on the cores of the server: max and past 400 ms are over all rounds, and no load that a relay should send. Each is a fresh process for all rounds, warmed with other cards than those that are measured, as far as there are so many: ' +
        'of 100,000 and more cards each is asked for the first time, the worst case. 100 rules where not said; 10,000 cards where not said.',
      `Imported before: ${[...stores].map(([cards, { importMs }]) => `${cards} cards in ${(importMs / 1_000).toFixed(1)} s`).join(', ')}. ` +
        (points.cards.includes(1_000_000) ? '' : 'A million cards only with --million.'),
    ],
    plot: plotsOf(rows),
  }
}

function aimsOf(samples, rows) {
  const aims = []
  const cost = ({ cpuUs }) => cpuUs
  const bound = (text, measured, met) => aims.push({ text, measured, met })
  for (const size of [100_000, 1_000_000]) {
    const name = `cards ${size}`
    if (!(name in samples)) continue
    const ratio = medianRatio(samples[name], samples['cards 10000'], cost)
    bound(`${size} cards: at most 1.2 times the decision time (CPU) of 10,000`, ratio, ratio <= 1.2)
    const own = rows.find((row) => row.what === 'cards' && row.size === size)['own memory MB']
    bound(`${size} cards: within 1,536 MB of its own`, own, own <= 1_536)
  }
  if ('rules 1000' in samples) {
    const ratio = 1 / medianRatio(samples['rules 1000'], samples['rules 0'], cost)
    bound('1,000 rules: at least 0.9 of the throughput with none, by CPU', ratio, ratio >= 0.9)
  }
  return aims
}

function plotsOf(rows) {
  const kinds = ['cards', 'rules', 'list entries']
  const curvesOf = (column) =>
    kinds.map((kind) => ({
      name: kind,
      points: rows
        .filter((row) => row.what === kind)
        .map((row) => [Math.max(1, row.size), row[column]]),
    }))
  return [
    ['CPU µs', 'Processor time a decision (µs)'],
    ['own memory MB', 'Memory of its own (MB)'],
    ['start ms', 'Start until it serves (ms)'],
  ].map(([column, title]) => ({
    type: 'lines',
    title,
    xLabel: 'how many (1 stands for none)',
    yLabel: column,
    logX: true,
    curves: curvesOf(column),
  }))
}
