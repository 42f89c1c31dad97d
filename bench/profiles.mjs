import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseJson } from '../dist/gate/json.js'
import { findProfile } from '../dist/gate/profile.js'
import { isRefusal } from '../dist/gate/wire.js'
import { root } from './support/processes.mjs'
import { median } from './support/rounds.mjs'

const answer = {
  code: '000',
  decidedBy: 'engine',
  cause: '',
  ruleId: '',
  approvedAmountMinor: null,
  rulesVersion: '000000000000',
}
const aboveJsonUs = 2
const bodiesEach = 64

/** In one process, all in turn in each round: a pair of figures met the same machine. */
export async function run({ smoke, rounds = 9, progress }) {
  const calls = smoke ? 200 : 2_000
  const subjects = subjectsOf()
  const names = Object.keys(subjects)
  const samples = Object.fromEntries(names.map((name) => [name, []]))
  for (let round = -1; round < (smoke ? 1 : Math.max(5, rounds)); round++) {
    progress(`round ${round + 1} of ${rounds}`)
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const sample = measure(subjects[name], calls)
      // The first round is the compiler's.
      if (round >= 0) samples[name].push(sample)
    }
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  return report(samples, subjects, calls)
}

/** One for each example of a body that the tests have; the built-in reader is the default's. */
function subjectsOf() {
  const folder = join(root, 'test', 'profiles')
  const files = readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .sort()
  files.sort((a, b) => Number(b.startsWith('default.')) - Number(a.startsWith('default.')))
  return Object.fromEntries(
    files.map((file) => {
      const profile = findProfile(file.slice(0, file.indexOf('.')), join(root, 'rules'))
      const text = JSON.stringify(JSON.parse(readFileSync(join(folder, file), 'utf8')))
      // As many bodies as to be no constant; digits stay digits.
      const bodies = Array.from({ length: bodiesEach }, (_, i) =>
        Buffer.from(
          text.replace(/example0001|0000001/gi, (found) => found.slice(0, -2) + (10 + (i % 90))),
        ),
      )
      for (const body of bodies) {
        const event = profile.readEvent(body)
        if (isRefusal(event)) throw new Error(`${file} is refused: ${event.message}`)
      }
      return [file.replace('.json', ''), { profile, bodies }]
    }),
  )
}

function measure({ profile, bodies }, calls) {
  return {
    nativeUs: perCall(calls, (i) => JSON.parse(bodies[i % bodiesEach].toString('utf8'))),
    exactUs: perCall(calls, (i) => parseJson(bodies[i % bodiesEach])),
    readUs: perCall(calls, (i) => profile.readEvent(bodies[i % bodiesEach])),
    bothUs: perCall(calls, (i) => {
      const event = profile.readEvent(bodies[i % bodiesEach])
      return profile.renderReply(event, answer)
    }),
  }
}

let kept

function perCall(calls, call) {
  const cpu = process.cpuUsage()
  for (let i = 0; i < calls; i++) kept = call(i)
  const { user, system } = process.cpuUsage(cpu)
  if (kept === undefined) throw new Error('nothing came out')
  return (user + system) / calls
}

function report(samples, subjects, calls) {
  const [builtIn] = Object.keys(samples)
  const of = (name, pick) => median(samples[name].map(pick))
  const rows = Object.keys(samples).map((name) => ({
    'profile and body': name,
    bytes: subjects[name].bodies[0].length,
    'JSON.parse µs': of(name, ({ nativeUs }) => nativeUs),
    'exact JSON µs': of(name, ({ exactUs }) => exactUs),
    'read µs': of(name, ({ readUs }) => readUs),
    'above JSON.parse': of(name, ({ readUs, nativeUs }) => readUs - nativeUs),
    'above exact JSON': of(name, ({ readUs, exactUs }) => readUs - exactUs),
    'above the built-in reader': median(
      samples[name].map(({ readUs }, round) => readUs - samples[builtIn][round].readUs),
    ),
    'mapping above the built-in': median(
      samples[name].map(({ readUs, exactUs }, round) => {
        const own = samples[builtIn][round]
        return readUs - exactUs - (own.readUs - own.exactUs)
      }),
    ),
    'read and answer µs': of(name, ({ bothUs }) => bothUs),
  }))
  return {
    parameters: { calls, rounds: samples[builtIn].length },
    rows,
    samples,
    aims: [
      ['above JSON.parse', 'above JSON.parse alone'],
      ['mapping above the built-in', 'above the built-in reader, each less the JSON of its body'],
    ].map(([column, words]) => {
      const most = Math.max(...rows.map((row) => row[column]))
      const text = `every profile at most ${aboveJsonUs} µs ${words}; the most`
      return { text, measured: most, met: most <= aboveJsonUs }
    }),
    notes: [
      'Microseconds of processor time an event, one process, all in turn in each round, medians. "exact JSON" is our own parser, which keeps ' +
        'the decimals of numbers and refuses duplicate keys; a profile reads by pointers and need not build all of it. The built-in reader is the row of default, whose body is smaller; "mapping above the built-in" leaves the exact JSON of each body out on both sides.',
    ],
    plot: {
      type: 'bars',
      title: 'Reading one event (µs of processor time)',
      unit: 'µs',
      series: ['JSON.parse alone', 'above it'],
      bars: rows.map((row) => ({
        label: `${row['profile and body']} (${row.bytes} bytes)`,
        values: [
          Math.min(row['JSON.parse µs'], row['read µs']),
          Math.max(0, row['above JSON.parse']),
        ],
      })),
    },
  }
}
