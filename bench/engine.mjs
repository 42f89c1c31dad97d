/**
 * Where the time and the memory of a decision go in the engine: the product's own engine on an embedded store, in
 * this process and without a server, profiled by V8. Shares of the time come from samples, what is allocated from
 * samples of every allocation, whether it was collected since or not.
 */
import { readFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { join } from 'node:path'
import { systemClock } from '../dist/clock.js'
import { createEngine } from '../dist/engine/engine.js'
import { importRows } from '../dist/engine/import.js'
import { loadPack } from '../dist/rules/load/compiler.js'
import { openStore } from '../dist/store/open.js'
import { writePack } from './support/arbiter.mjs'
import { askOf } from './support/ask.mjs'
import { temporaryFolder } from './support/processes.mjs'
import { packOf, rulesOf } from './support/rulebook.mjs'
import { cardIdOf, cardRow } from './support/traffic.mjs'

/** Rows of a decision that are read before they are written: its account's and its card's. */
const readGroups = ['', 'c']

/** As many as commits settle at with 64 connections. */
const together = 26
const aimUs = 45

const parts = [
  [/^\(garbage collector\)/, 'garbage collector'],
  [/node_modules\/lmdb\//, "LMDB's JavaScript"],
  [/dist\/engine\/format\//, 'rows and log entries'],
  [/dist\/(domain|rules)\//, 'deciding'],
  [/dist\/engine\/memory\//, 'memory of accounts'],
  [/dist\/engine\//, 'queues, batches, commands'],
  [/dist\/store\//, 'the store'],
  [/(?:)/, 'Node and V8'],
]
const ours = /\/bench\//

export async function run({ smoke, progress }) {
  const [cards, warm, asks] = smoke ? [50, 260, 260] : [10_000, 40_000, 26_000]
  progress(`making a store of ${cards} cards`)
  const world = await openWorld(cards, (store) => store)
  progress('warming')
  await world.ask(warm)
  progress('time')
  const time = await timeOf(() => world.ask(asks))
  progress('memory')
  const bytes = await bytesOf(() => world.ask(asks))
  await world.close()
  progress('the same rows without an engine')
  const floor = await floorOf(cards, asks)
  return report(time, bytes, floor, { cards, warm, asks })
}

/**
 * What the rows of decisions alone cost: those that an engine has committed are parsed and written as JSON and
 * committed once more, to another store, by a loop that decides nothing.
 */
async function floorOf(cards, asks) {
  const calls = []
  const world = await openWorld(cards, (store) => recording(store, calls))
  await world.ask(asks)
  const warm = calls.length
  await world.ask(asks)
  await world.close()
  const folder = temporaryFolder()
  const store = await openStore({ redis: null, dataDir: folder.path }, Date.now)
  const known = new Map()
  const steps = calls.map((commands) => commands.map((command) => stepOf(command, known)))
  const replay = async (those) => {
    for (const step of those) {
      const outcomes = await store.commit(step.map(written))
      if (!outcomes.every((outcome) => outcome === 'committed')) throw new Error('not committed')
    }
  }
  await replay(steps.slice(0, warm))
  const beforeUs = processorUs()
  await replay(steps.slice(warm))
  const spentUs = processorUs() - beforeUs
  await store.close()
  folder.remove()
  return spentUs / asks
}

/** A store that keeps what is committed to it. */
function recording(store, calls) {
  return {
    ...store,
    commit(commands) {
      calls.push(commands)
      return store.commit(commands)
    },
  }
}

/** A command with its rows as values, and the texts that a decision would have read. */
function stepOf(command, known) {
  const { aggregate, root, put, log } = command
  const texts = [['', root], ...put.map(({ group, value }) => [group, value])]
  const read = readGroups.map((group) => known.get(`${group} ${aggregate}`) ?? '[]')
  for (const [group, text] of texts) known.set(`${group} ${aggregate}`, text)
  return {
    command,
    read,
    root: rowIn(root),
    put: put.map(({ value }) => rowIn(value)),
    log: log.map(rowIn),
  }
}

/** What an import writes besides rows stays a text. */
function rowIn(text) {
  return text.startsWith('[') ? JSON.parse(text) : text
}

function textOf(row) {
  return typeof row === 'string' ? row : JSON.stringify(row)
}

function written({ command, read, root, put, log }) {
  for (const text of read) rowIn(text)
  return {
    ...command,
    root: textOf(root),
    put: command.put.map((child, i) => ({ ...child, value: textOf(put[i]) })),
    log: log.map(textOf),
  }
}

async function openWorld(cards, watched) {
  const folder = temporaryFolder()
  const rulesDir = join(folder.path, 'rules')
  writePack(rulesDir, packOf(rulesOf(100)))
  const dataDir = join(folder.path, 'data')
  const store = watched(await openStore({ redis: null, dataDir }, Date.now))
  let waiting = 0
  let onAnswered
  const engine = createEngine({
    store,
    clock: systemClock,
    pack: loadPack(rulesDir, 45),
    nonce: 'bench',
    cacheCards: 2 * cards,
    onAnswer() {
      if (--waiting === 0) onAnswered()
    },
    onBooked() {},
  })
  for (let at = 0; at < cards; at += 200) {
    const count = Math.min(200, cards - at)
    await importRows(
      Array.from({ length: count }, (_, i) => cardRow(at + i)),
      engine,
    )
  }
  let number = 0
  const nextAsk = () => {
    const i = number++
    const { event } = askOf({
      eventId: `evt-${i}`,
      transactionId: `txn-${i}`,
      cardId: cardIdOf((i * 7_919) % cards),
      amountMinor: 100 + ((i * 37) % 4_999),
      merchant: { mid: `MID${i % 5_000}`, mcc: '5411', name: 'S', city: 'L', country: 'US' },
    })
    const handed = { slot: `slot-${i}`, receivedAtMs: Date.now(), said: null, origin: 'relay' }
    return { ...handed, event, mayStillCommit: false }
  }
  return {
    async ask(count) {
      for (let done = 0; done < count; done += together) {
        waiting = together
        const answered = new Promise((resolve) => {
          onAnswered = resolve
        })
        for (let i = 0; i < together; i++) engine.deliver(nextAsk())
        await answered
      }
      await engine.idle()
    },
    async close() {
      engine.stop()
      await store.close()
      folder.remove()
    },
  }
}

async function inSession(work) {
  const session = new Session()
  session.connect()
  try {
    return await work((method, words) => session.post(method, words))
  } finally {
    session.disconnect()
  }
}

/** The processor time of this thread by part, as the samples in which it did not wait share it. */
function timeOf(work) {
  return inSession(async (post) => {
    await post('Profiler.enable')
    await post('Profiler.setSamplingInterval', { interval: 200 })
    await post('Profiler.start')
    const beforeUs = processorUs()
    await work()
    const spentUs = processorUs() - beforeUs
    const { profile } = await post('Profiler.stop')
    const us = new Map()
    for (const [i, id] of profile.samples.entries()) {
      us.set(id, (us.get(id) ?? 0) + profile.timeDeltas[i])
    }
    const shares = byPart(profile.nodes.map((node) => [node.callFrame, us.get(node.id) ?? 0]))
    const sampledUs = [...shares.values()].reduce((sum, part) => sum + part)
    return new Map([...shares].map(([part, share]) => [part, (spentUs * share) / sampledUs]))
  })
}

/** Of the main thread alone: LMDB's threads and V8's are others. */
function processorUs() {
  const [ns] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')
  return Number(ns) / 1_000
}

function bytesOf(work) {
  return inSession(async (post) => {
    await post('HeapProfiler.startSampling', {
      samplingInterval: 4_096,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    })
    await work()
    const { profile } = await post('HeapProfiler.stopSampling')
    const found = []
    const walk = (node) => {
      found.push([node.callFrame, node.selfSize])
      node.children.forEach(walk)
    }
    walk(profile.head)
    return byPart(found)
  })
}

function byPart(found) {
  const sums = new Map(parts.map(([, name]) => [name, 0]))
  for (const [{ functionName, url }, value] of found) {
    if (functionName === '(idle)' || ours.test(url)) continue
    const [, name] = parts.find(([pattern]) => pattern.test(url || functionName))
    sums.set(name, sums.get(name) + value)
  }
  return sums
}

function report(time, bytes, floor, parameters) {
  const { asks } = parameters
  const rows = parts.map(([, part]) => ({
    part,
    'µs a decision': time.get(part) / asks,
    'KB allocated': bytes.get(part) / asks / 1_000,
  }))
  const sum = (column) => rows.reduce((total, row) => total + row[column], 0)
  const columns = ['µs a decision', 'KB allocated']
  rows.push({ part: 'all', ...Object.fromEntries(columns.map((name) => [name, sum(name)])) })
  const all = rows.at(-1)['µs a decision']
  rows.push({ part: 'floor', 'µs a decision': floor, 'KB allocated': null })
  return {
    parameters,
    rows,
    samples: { rows },
    aims: [
      {
        text: `the engine takes at most ${aimUs} µs a decision`,
        measured: all,
        met: all <= aimUs,
      },
    ],
    notes: [
      `${asks} approved asks after ${parameters.warm}, ${together} at a time over ${parameters.cards} cards, 100 rules, embedded store. Time is the processor time of the thread, shared out by samples; what is allocated is the same on any machine. What JSON takes counts for whoever calls it. The messages between gate and engine are not in it.`,
      `The floor decides nothing: the same rows are parsed, written as JSON and committed as the engine did. Where it is above the aim, nothing that keeps these rows in LMDB as text can meet it.`,
    ],
    plot: {
      type: 'bars',
      title: 'The engine, µs a decision by part',
      unit: 'µs',
      series: ['µs a decision'],
      bars: rows.map((row) => ({ label: row.part, values: [row['µs a decision']] })),
    },
  }
}
