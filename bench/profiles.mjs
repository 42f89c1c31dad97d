import { deepEqual } from 'node:assert'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { decimalsOf } from '../dist/domain/record/currency.js'
import { metadataPrefix } from '../dist/domain/record/event.js'
import { findProfile } from '../dist/profile/profile.js'
import { parseJson } from '../dist/wire/json.js'
import { isRefusal } from '../dist/wire/refusal.js'
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
const mostUs = 2
const bodiesEach = 64

/** In one process, all in turn in each round: a pair of figures met the same machine. */
export async function run({ smoke, rounds = 5, progress }) {
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

/** One for each example of a body that the tests have, and beside it the same event in our own shape. */
function subjectsOf() {
  const folder = join(root, 'test', 'profiles')
  const files = readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .sort()
  files.sort((a, b) => Number(b.startsWith('default.')) - Number(a.startsWith('default.')))
  const builtIn = findProfile('default', join(root, 'rules'))
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
      const own = bodies.map((body) => {
        const { event } = profile.read(body)
        if (isRefusal(event)) throw new Error(`${file} is refused: ${event.message}`)
        const ours = inOurShape(event)
        deepEqual(builtIn.read(ours).event, event)
        return ours
      })
      return [file.replace('.json', ''), { profile, bodies, builtIn, own }]
    }),
  )
}

function inOurShape({ merchant, ...event }) {
  const { currency, amountMinor, merchantCurrency, merchantAmountMinor, occurredAtMs } = event
  const major = (minor, code) => (minor / 10 ** decimalsOf(code)).toFixed(decimalsOf(code))
  const body = {
    eventId: event.eventId,
    requestType: event.requestType,
    transactionId: event.transactionId,
    originalTransactionId: event.originalTransactionId,
    cardId: event.cardId,
    amount: amountMinor === null ? '' : Number(major(amountMinor, currency)),
    currency,
    merchant,
    occurredAt: new Date(occurredAtMs).toISOString(),
    final: event.final ?? '',
    partialApprovalSupported: event.partialApprovalSupported || '',
    channel: event.channel,
    entryMode: event.entryMode,
    merchantAmount:
      merchantCurrency === '' ? '' : Number(major(merchantAmountMinor, merchantCurrency)),
    merchantCurrency,
    ...inDetail(event.details ?? {}),
  }
  const text = JSON.stringify(body, (_name, value) => (value === '' ? undefined : value))
  return Buffer.from(text)
}

function inDetail(named) {
  const [details, metadata] = [{}, {}]
  for (const [name, value] of Object.entries(named)) {
    if (name.startsWith(metadataPrefix)) metadata[name.slice(metadataPrefix.length)] = value
    else details[name] = value
  }
  return { details, metadata }
}

/** All of one subject one after the other: what slows the machine down slows both sides of a difference. */
function measure({ profile, bodies, builtIn, own }, calls) {
  const at = (list, i) => list[i % bodiesEach]
  const readAndAnswer = (reader, body) => {
    const { event, echoes } = reader.read(body)
    return reader.renderReply(event, answer, echoes)
  }
  return {
    nativeUs: perCall(calls, (i) => JSON.parse(at(bodies, i).toString('utf8'))),
    exactUs: perCall(calls, (i) => parseJson(at(bodies, i))),
    bothUs: perCall(calls, (i) => readAndAnswer(profile, at(bodies, i))),
    ownExactUs: perCall(calls, (i) => parseJson(at(own, i))),
    ownBothUs: perCall(calls, (i) => readAndAnswer(builtIn, at(own, i))),
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
  const of = (name, pick) => median(samples[name].map(pick))
  const rows = Object.keys(samples).map((name) => ({
    'profile and body': name,
    bytes: subjects[name].bodies[0].length,
    'JSON.parse µs': of(name, ({ nativeUs }) => nativeUs),
    'exact JSON µs': of(name, ({ exactUs }) => exactUs),
    'read and answer µs': of(name, ({ bothUs }) => bothUs),
    'in our shape, bytes': subjects[name].own[0].length,
    'exact JSON of it µs': of(name, ({ ownExactUs }) => ownExactUs),
    'read and answer it µs': of(name, ({ ownBothUs }) => ownBothUs),
    'the profile costs': of(name, costOf),
  }))
  const most = Math.max(...rows.map((row) => row['the profile costs']))
  return {
    parameters: { calls, rounds: Object.values(samples)[0].length },
    rows,
    samples,
    aims: [
      {
        text: `every profile costs at most ${mostUs} µs an event; the most`,
        measured: most,
        met: most <= mostUs,
      },
    ],
    notes: [
      'Microseconds of processor time an event, one process, all in turn in each round, medians. "exact JSON" is our own parser, which keeps ' +
        'the decimals of numbers and refuses duplicate keys. A profile costs what reading and answering take above the JSON of the body, less ' +
        'what the built-in reader takes for the same event in our own shape, above the JSON of that.',
    ],
    plot: {
      type: 'bars',
      title: 'Reading and answering one event (µs of processor time)',
      unit: 'µs',
      series: ['exact JSON', 'reading and answering'],
      bars: rows.map((row) => ({
        label: `${row['profile and body']} (${row.bytes} bytes)`,
        values: [
          row['exact JSON µs'],
          Math.max(0, row['read and answer µs'] - row['exact JSON µs']),
        ],
      })),
    },
  }
}

function costOf({ bothUs, exactUs, ownBothUs, ownExactUs }) {
  return bothUs - exactUs - (ownBothUs - ownExactUs)
}
