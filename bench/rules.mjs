/**
 * What rules cost: the time of a decision's rules, with the index and without, and of loading them.
 * The baseline is the evaluator of the CEL library on the same conditions, in the same run. Times are
 * processor time of this process, so that a busy machine disturbs them less.
 */
import { Environment } from '@marcbachmann/cel-js'
import { compilePack } from '../dist/rules/load/compiler.js'
import { askOf } from './support/ask.mjs'
import { median } from './support/rounds.mjs'

const aimUs = 3

const merchantRules = [
  (i) => `merchant.mcc == "${1000 + (i % 9000)}" && amount > ${i}.0`,
  (i) => `merchant.mid == "MID${i}"`,
  (i) => `merchant.country in ${JSON.stringify(countriesOf(i))} && amount > 5.0`,
  (i) => `merchant.mcc in lists.gambling && merchant.mid == "MID${i}"`,
  (i) => `amount > ${100_000 + i}.0`,
]
const wideRules = [
  (i) => `amount > ${100_000 + i}.0 && merchant.name.contains("Bets ${i}")`,
  (i) => `merchant.mcc != "5411" && amount > ${i}.0`,
  (i) => `hour == 23 || windows.hourly.sum > ${100_000 + i}.0`,
  (i) => `foreign && amount * 1.5 > ${i}.0`,
  (i) => `card.type == "lite" && account.available < ${i}.0`,
]

const kindsOf = { 'by merchant': merchantRules, 'by anything': wideRules }

export async function run({ smoke, rounds = 5, progress }) {
  const counts = smoke ? [20] : [100, 1_000, 10_000]
  const subjects = Object.entries(kindsOf).flatMap(([kind, makers]) =>
    counts.map((count) => subjectOf(kind, makers, count)),
  )
  const samples = subjects.map(() => [])
  for (let round = 0; round < (smoke ? 1 : rounds); round++) {
    const order = subjects.map((_, i) => i)
    for (const i of round % 2 === 0 ? order : order.toReversed()) {
      const { kind, count } = subjects[i]
      progress(`round ${round + 1} of ${rounds}: ${count} rules ${kind}`)
      samples[i].push(measure(subjects[i], smoke ? 200 : 20_000_000 / (count + 1_000)))
    }
  }
  return report(subjects, samples)
}

function subjectOf(kind, makers, count) {
  const conditions = Array.from({ length: count }, (_, i) => makers[i % makers.length](i))
  const rules = conditions.map((when, i) => ({ id: `r${i}`, when, decline: '127', why: 'x' }))
  const files = new Map([
    ['pack.yaml', 'name: bench'],
    ['windows.yaml', '- { name: hourly, scope: card, over: asks, period: { trailing: 1h } }'],
    ['lists/gambling.txt', '7995\n7801\n'],
    ['a.rules.yaml', rules.map((rule) => `- ${JSON.stringify(rule)}`).join('\n')],
  ])
  const asks = Array.from({ length: 64 }, (_, i) => nthAsk(i))
  const indexed = compilePack(files, 45)
  const plain = compilePack(files, 45, { indexed: false })
  for (const ask of asks) {
    const [found, due] = [indexed.evaluate(ask), plain.evaluate(ask)].map((one) =>
      JSON.stringify(one),
    )
    if (found !== due) throw new Error(`the index changes the answer: ${found}, not ${due}`)
  }
  return { kind, count, conditions, files, asks, indexed, plain }
}

function measure({ conditions, files, asks, indexed, plain }, calls) {
  return {
    loadMs: cpuUs(() => compilePack(files, 45)) / 1_000,
    indexedUs: perCall((i) => indexed.evaluate(asks[i % 64]), calls),
    plainUs: perCall((i) => plain.evaluate(asks[i % 64]), calls / 5),
    libraryUs: libraryTime(conditions, Math.max(3, calls / 100)),
  }
}

function report(subjects, samples) {
  const rows = subjects.map(({ kind, count }, i) => {
    const of = (pick) => median(samples[i].map(pick))
    return {
      'rules look': kind,
      rules: count,
      'indexed µs': of(({ indexedUs }) => indexedUs),
      'every rule µs': of(({ plainUs }) => plainUs),
      'library µs': of(({ libraryUs }) => libraryUs),
      'indexed, of library': of(({ indexedUs, libraryUs }) => indexedUs / libraryUs),
      'load ms': of(({ loadMs }) => loadMs),
    }
  })
  return {
    rows,
    samples,
    aims: rows
      .filter((row) => row.rules === 1_000)
      .map((row) => ({
        text: `1,000 rules ${row['rules look']} take less than ${aimUs} µs`,
        measured: row['indexed µs'],
        met: row['indexed µs'] < aimUs,
      })),
    notes: [
      'Microseconds of processor time for all rules of one decision, none of which matches. The index gave the same answers as every rule by itself.',
    ],
    plot: {
      type: 'lines',
      title: 'Rules of one decision (µs)',
      xLabel: 'rules',
      yLabel: 'µs',
      logX: true,
      logY: true,
      curves: Object.keys(kindsOf).flatMap((kind) =>
        ['indexed', 'every rule', 'library'].map((name) => ({
          name: `${kind}: ${name}`,
          points: rows
            .filter((row) => row['rules look'] === kind)
            .map((row) => [row.rules, row[`${name} µs`]]),
        })),
      ),
    },
  }
}

function libraryTime(conditions, calls) {
  const library = new Environment({ unlistedVariablesAreDyn: true })
  const tests = conditions.map((text) => library.parse(text))
  const facts = {
    amount: 1.5,
    hour: 12n,
    foreign: false,
    merchant: { mid: 'M1', mcc: '5411', name: 'Shop', country: 'US' },
    card: { type: 'retail' },
    account: { available: 10_000 },
    windows: { hourly: { sum: 0 } },
    lists: { gambling: ['7995', '7801'] },
  }
  return perCall(() => {
    for (const test of tests) test(facts)
  }, calls)
}

function perCall(call, calls) {
  for (let i = 0; i < calls / 2; i++) call(i)
  return (
    cpuUs(() => {
      for (let i = 0; i < calls; i++) call(i)
    }) / calls
  )
}

function cpuUs(work) {
  const start = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(start)
  return user + system
}

function nthAsk(i) {
  const merchant = { mid: `SHOP${i}`, mcc: '5411', name: 'Shop', city: 'Lagos', country: 'US' }
  return askOf({ eventId: `e${i}`, transactionId: `t${i}`, amountMinor: 100 + i, merchant })
}

/** Two countries that exist: a pack is refused for others. */
function countriesOf(i) {
  const north = ['NA', 'NE', 'NC', 'NF', 'NG', 'NI', 'NL', 'NO', 'NP', 'NR', 'NU', 'NZ']
  const last = ['ZA', 'ZM', 'ZW', 'YE', 'YT', 'WF', 'WS', 'VA', 'VC', 'VE', 'VG', 'VI', 'VN', 'VU']
  return [north[i % north.length], last[i % last.length]]
}
