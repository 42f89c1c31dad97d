/**
 * Writes the tables of docs/CAPACITY.md from the results of the benchmarks: node bench/capacity.mjs. What is
 * computed here was not run: it is parts that were measured, multiplied.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { machineLine } from './support/machine.mjs'
import { markdownTable } from './support/table.mjs'

const page = join(import.meta.dirname, '..', 'docs', 'CAPACITY.md')
const begin = '<!-- computed by node bench/capacity.mjs -->'
const end = '<!-- end -->'

/** A thread or a Redis that is busier than this answers late when traffic is uneven. */
const share = 0.6
const eventDays = 45
const logDays = 30
const secondsPerDay = 86_400
/** Of a store in Redis; each is on one shard, and they take as much each. */
const partitions = 16

function resultOf(name) {
  return JSON.parse(readFileSync(join(import.meta.dirname, 'results', `${name}.json`), 'utf8'))
}

function figureOf(rows, words) {
  const row = rows.find(({ what }) => what.includes(words))
  if (row === undefined) throw new Error(`no result has "${words}"`)
  return row.figure
}

/** Of an ask among others of the same card: the first one of a card costs more. */
export function partsOf(throughput, memory) {
  const [redis] = throughput.rows.filter(({ variant }) => variant.startsWith('(d)'))
  const later = memory.rows.filter(({ what }) => what.startsWith('4 more'))
  return {
    serverUs: redis['server µs'],
    busiestUs: Math.max(redis['gate µs'], redis['engine µs']),
    redisUs: redis['Redis µs'],
    cardBytes: figureOf(memory.rows, 'card (with account'),
    eventBytes: figureOf(later, 'event kept'),
    openBytes: figureOf(later, 'open transaction') + figureOf(later, 'due'),
    logBytes: figureOf(later, 'log entry'),
  }
}

export function instanceOf({ serverUs, busiestUs, redisUs }) {
  const perInstance = (share * 1e6) / busiestUs
  return {
    perInstance,
    coresPerInstance: (perInstance * serverUs) / 1e6 / share,
    perShard: (share * 1e6) / redisUs,
  }
}

/** A shard has whole partitions: where two are too much for one, each has its own. */
function shardsFor(perSecond, perShard) {
  const stores = Math.ceil(perSecond / (partitions * perShard))
  const perPartition = perSecond / stores / partitions
  const ofShard = Math.floor(perShard / perPartition)
  return { stores, shards: stores * Math.ceil(partitions / ofShard) }
}

function trafficRow(perSecond, parts) {
  const { perInstance, coresPerInstance, perShard } = instanceOf(parts)
  const instances = Math.ceil(perSecond / perInstance)
  const { stores, shards } = shardsFor(perSecond, perShard)
  const events = perSecond * secondsPerDay
  const keptBytes = eventDays * (parts.eventBytes + parts.openBytes) + logDays * parts.logBytes
  return {
    'decisions/s': perSecond,
    instances,
    cores: Math.ceil(instances * coresPerInstance),
    'Redis shards, by processor': shards,
    stores,
    'GB of log a day': (events * parts.logBytes) / 1e9,
    'TB when nothing more is dropped': (events * keptBytes) / 1e12,
  }
}

function cardRow(cards, parts) {
  return { cards, 'GB in Redis, without events': (cards * parts.cardBytes) / 1e9 }
}

/** Servers, Redis and client on the same cores: what the cores can give at most, against what was counted. */
function checkRow(row, cores) {
  const limit = (cores * 1e6) / (row['servers µs'] + row['Redis µs'])
  return {
    'servers on one Redis': row.servers,
    'by the model, at most': Math.round(limit),
    measured: row['decisions/s'],
    'of it': row['decisions/s'] / limit,
  }
}

function tables() {
  const [throughput, memory, hot] = ['throughput', 'redis-memory', 'hot'].map(resultOf)
  const parts = partsOf(throughput, memory)
  const { perInstance, coresPerInstance, perShard } = instanceOf(parts)
  const cores = Number.parseInt(hot.machine.cpus, 10)
  const spread = hot.rows.filter(({ traffic }) => traffic !== 'one account')
  return [
    `From \`throughput\` (${machineLine(throughput.machine)}), \`redis-memory\` and \`hot\`.`,
    markdownTable([
      { part: 'decisions a second of one instance', figure: Math.round(perInstance) },
      { part: 'cores of one instance', figure: coresPerInstance },
      { part: 'decisions a second of one Redis shard', figure: Math.round(perShard) },
      { part: 'bytes of a card', figure: parts.cardBytes },
      { part: `bytes of an event, for ${eventDays} days`, figure: parts.eventBytes },
      { part: `bytes of an open transaction, for ${eventDays} days`, figure: parts.openBytes },
      { part: `bytes of a log entry, for ${logDays} days`, figure: parts.logBytes },
    ]),
    markdownTable([1e3, 1e5, 1e6].map((perSecond) => trafficRow(perSecond, parts))),
    markdownTable([1e6, 1e7, 1e8, 1e9].map((cards) => cardRow(cards, parts))),
    'The same arithmetic against runs of `hot` with its accounts spread, where all share the same cores with the client:',
    markdownTable(spread.map((row) => checkRow(row, cores))),
  ].join('\n\n')
}

if (process.argv[1] === import.meta.filename) {
  const text = readFileSync(page, 'utf8')
  const [before, rest] = text.split(begin)
  const after = rest?.split(end)[1]
  if (after === undefined) throw new Error(`${page} lacks the line ${begin} or the line ${end}`)
  writeFileSync(page, `${before}${begin}\n\n${tables()}\n\n${end}${after}`)
}
