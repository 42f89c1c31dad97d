/**
 * The command of all benchmarks: npm run bench -- --help
 */
import { spawnSync } from 'node:child_process'
import { accessSync, constants, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { describeMachine } from './support/machine.mjs'
import { printResult, redraw, remember, updateReadme, writeResult } from './support/results.mjs'
import { runScript } from './support/script.mjs'

/** In the order in which they run; `apart` runs only when it is named, `unlisted` is not in the README. */
const benchmarks = {
  throughput: {
    file: './throughput.mjs',
    about: 'decisions per second and what each costs, against Fastify alone and a common stack',
  },
  latency: {
    file: './latency.mjs',
    about: 'latency at rates below and above the knee, from the intended time of each event',
  },
  stall: {
    file: './stall.mjs',
    about: 'what is answered, and when, while the engine hangs or Redis stops',
  },
  hot: {
    file: './hot.mjs',
    about: 'one account against many, with one, two and four servers on one Redis',
  },
  profiles: {
    file: './profiles.mjs',
    about: 'what reading an event costs under each relay profile',
  },
  scale: {
    file: './scale.mjs',
    about: 'cards, rules and lists: decisions, memory and start time as they grow',
  },
  rules: {
    file: './rules.mjs',
    about: 'the rules of a decision, indexed or not, against the evaluator of the CEL library',
  },
  engine: {
    file: './engine.mjs',
    about: 'where the time and the memory of a decision go in the engine, by part',
    apart: true,
  },
  'rules-peers': {
    file: './rules-peers.mjs',
    about: 'the rules of a decision beside four other rule engines',
    apart: true,
  },
  windows: {
    file: './windows.mjs',
    about: 'an ask on a card with 70 merchants, with twenty windows by merchant and without',
    apart: true,
  },
  backtest: {
    file: './backtest.mjs',
    about: 'how fast a log is decided again by two packs',
    apart: true,
  },
  'redis-memory': {
    script: 'redis-memory.mjs',
    about: 'bytes of each kind of record in Redis, and the time of a commit',
    words: ({ smoke }) => [
      smoke ? 20 : 4_000,
      'hash-max-listpack-value=512',
      'stream-node-max-bytes=32768',
    ],
    notes: 'Bytes in Redis, with the settings of deploy/redis/redis.conf.',
    apart: true,
  },
  'redis-start': {
    script: 'redis-start.mjs',
    about: 'start with many cards in Redis, and the first ask of a card',
    words: ({ smoke, million }) => [smoke ? 2_000 : million ? 1_000_000 : 100_000],
    notes:
      'From the start of the process until it serves, and the first ask of a card; then again with recently active cards in the log.',
    apart: true,
  },
  api: {
    file: './api.mjs',
    about: 'signed calls of the management API against Fastify alone, and decisions beside them',
    apart: true,
  },
  transfers: {
    file: './transfers.mjs',
    about: 'transfers between wallets and cards against one Lua script, and decisions beside them',
    apart: true,
  },
  webhooks: {
    file: './webhooks.mjs',
    about: 'decisions while each is told by a webhook, beside receivers that are down',
    apart: true,
  },
  console: {
    file: './console.mjs',
    about: 'decisions beside no console, one that nobody looks at, and fifty open ones',
    apart: true,
  },
  lists: {
    script: 'lists.mjs',
    about: 'the first and the thousandth page of each list, and cards issued in a row',
    words: ({ smoke, million, store, keep, seconds }) => [
      ...(smoke
        ? [2_000, 4_000, 200]
        : million
          ? [1_000_000, 10_000_000, 10_000]
          : [50_000, 200_000, 5_000]),
      ...(store === 'redis' ? ['--redis'] : []),
      ...(keep === undefined ? [] : ['--keep', keep]),
      ...(seconds === undefined ? [] : ['--seconds', seconds]),
    ],
    notes:
      'Of the embedded store, or with --store redis of Redis. At most three times the first page of a store with a thousand of each is the aim.',
    apart: true,
  },
  references: {
    script: 'references.mjs',
    about: 'bytes of each Reference of the management API, embedded and in Redis',
    words: ({ smoke }) => [smoke ? 200 : 100_000],
    notes: 'A hundred thousand of a day are to take 40 MB at most: 400 bytes for each.',
    apart: true,
  },
  overlap: {
    file: './overlap.mjs',
    about: 'whether gate and engine work at the same time while the server is saturated',
    apart: true,
  },
  compare: {
    file: './compare.mjs',
    about: 'this build against another commit, in turns: compare REF',
    apart: true,
    unlisted: true,
  },
  soak: {
    file: './soak.mjs',
    about: 'memory, descriptors and latency over minutes of steady traffic',
    apart: true,
  },
}

const nameWidth = 2 + Math.max(...Object.keys(benchmarks).map((name) => name.length))

const usage = `Usage: npm run bench -- [name …] [options]

Without a name all are run, but for those marked *.

${Object.keys(benchmarks)
  .map(
    (name) =>
      `  ${`${name}${benchmarks[name].apart ? ' *' : ''}`.padEnd(nameWidth)}  ${benchmarks[name].about}`,
  )
  .join('\n')}

  --rounds N     rounds, of which the medians are shown (5)
  --seconds N    latency, stall: length of a measured part (1.5, 8); 3 times that above the knee
  --smoke        seconds, not minutes: only whether it works; nothing is written
  --out FOLDER   where results go (bench/results; then bench/README.md is written too)
  --million      scale: also a million cards; redis-start: a million; lists: a million, and ten million rows. It takes minutes
  --keep FOLDER  lists: fill a store there and keep it; with --seconds for so long, to go on another time
  --pack FOLDER  backtest: the pack of a whole programme (rules/examples/issuer)
  --minutes N    soak: how long (10)
  --store NAME   compare: only embedded, or only "Redis everysec"; lists: redis
  --flags=TEXT   compare: more flags of Node for this build, as --flags=--max-semi-space-size=64
  --draw         only draw the plots and write bench/README.md again, from bench/results
  --help         show this

Example: npm run bench -- throughput --rounds 3
`

function readArguments() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        rounds: { type: 'string' },
        seconds: { type: 'string' },
        minutes: { type: 'string' },
        store: { type: 'string' },
        flags: { type: 'string' },
        keep: { type: 'string' },
        pack: { type: 'string' },
        smoke: { type: 'boolean' },
        million: { type: 'boolean' },
        draw: { type: 'boolean' },
        out: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    })
    if (values.help) {
      process.stdout.write(usage)
      process.exit(0)
    }
    // The word after compare is a commit.
    if (positionals[0] === 'compare') values.ref = positionals.splice(1, 1)[0] ?? 'HEAD'
    const unknown = positionals.find((name) => !Object.hasOwn(benchmarks, name))
    if (unknown !== undefined) {
      refuse(`there is no benchmark ${unknown}, only ${Object.keys(benchmarks).join(', ')}`)
    }
    for (const name of ['rounds', 'seconds', 'minutes']) values[name] = positive(name, values[name])
    return { names: positionals, values }
  } catch (error) {
    // Its further sentences are about words that begin with a dash, of which there are none.
    return refuse(error.message.split('. ')[0])
  }
}

function positive(name, text) {
  if (text === undefined) return undefined
  const number = Number(text)
  if (!(number > 0 && number <= 10_000)) refuse(`--${name} must be a number above 0, not ${text}`)
  if (name === 'rounds' && !Number.isInteger(number)) refuse('--rounds must be a whole number')
  return number
}

function refuse(message) {
  process.stderr.write(`${message}: see npm run bench -- --help\n`)
  process.exit(2)
}

/** A line that stays on a terminal, and one a step elsewhere would only fill logs. */
function showProgress(name, startedMs) {
  const terminal = process.stderr.isTTY
  return (words) => {
    const line = `${name}: ${words} (${Math.round((performance.now() - startedMs) / 1000)} s)`
    if (terminal) process.stderr.write(`\r\u001b[K${line.slice(0, process.stderr.columns - 1)}`)
  }
}

const { names, values } = readArguments()
const chosen =
  names.length > 0 ? names : Object.keys(benchmarks).filter((name) => !benchmarks[name].apart)
const results = join(import.meta.dirname, 'results')
const readme = join(import.meta.dirname, 'README.md')
const order = Object.keys(benchmarks)
if (values.draw) {
  redraw(readme, results, order)
  process.exit(0)
}
const isListed = chosen.every((name) => !benchmarks[name].unlisted)
const out = values.out ?? (values.smoke || !isListed ? null : results)
if (out !== null) makeWritable(out)

if (chosen.length === 1) await runHere(chosen[0])
else for (const name of chosen) runApart(name)
process.exit(0)

/** Now, and not after a quarter of an hour. */
function makeWritable(folder) {
  try {
    mkdirSync(folder, { recursive: true })
    accessSync(folder, constants.W_OK)
  } catch ({ code }) {
    refuse(`${folder} cannot be written (${code}), name another with --out`)
  }
}

async function runHere(name) {
  const machine = describeMachine()
  const progress = showProgress(name, performance.now())
  const result = await runOf(benchmarks[name])({ ...defined(values), progress })
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K')
  printResult(name, machine, result)
  if (!values.smoke && result.history !== undefined) remember(name, machine, result.history)
  if (out === null) return
  writeResult(out, name, machine, result)
  if (out === results) updateReadme(readme, results, order)
}

/** In a fresh process: what one has compiled, and the heap it leaves, are no business of the next. */
function runApart(name) {
  const options = process.argv.slice(2).filter((word) => !names.includes(word))
  const words = [import.meta.filename, name, ...options]
  const { status, signal } = spawnSync(process.execPath, words, { stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? (signal === 'SIGINT' ? 130 : 1))
}

function runOf({ file, script, words, notes }) {
  if (file !== undefined) return async (options) => (await import(file)).run(options)
  return (options) => {
    options.progress(script)
    return runScript(script, words(options), notes)
  }
}

/** Without what was not given, so that the benchmarks' own defaults hold. */
function defined(options) {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
}
