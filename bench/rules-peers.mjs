/**
 * What the rules of a decision cost beside other engines: 10, 100, 1,000 and 10,000 rules of five kinds
 * about the merchant and the amount. Each engine is in its best mode, parsed or compiled once before, and
 * tells the ids of all rules that match; for every ask all must tell the same. Times are processor time
 * of this process for one ask, so that a busy machine disturbs them less.
 */
import zen from '@gorules/zen-engine'
import { Environment } from '@marcbachmann/cel-js'
import { LogicEngine } from 'json-logic-engine'
import { Engine } from 'json-rules-engine'
import { compilePack } from '../dist/rules/load/compiler.js'
import { askOf } from './support/ask.mjs'
import { inRounds, median, medianRatio } from './support/rounds.mjs'

const gambling = ['7995', '7801']
const aimUs = 10
const aimTimes = 50

/** A rule is a conjunction of comparisons. */
const kinds = [
  (i) => [
    ['mcc', '==', String(1000 + (i % 9000))],
    ['amount', '>', i],
  ],
  (i) => [['mid', '==', `MID${i}`]],
  (i) => [
    ['country', 'in', countriesOf(i)],
    ['amount', '>', 5],
  ],
  (i) => [
    ['mcc', 'in', gambling],
    ['mid', '==', `MID${i - 2}`],
  ],
  (i) => [['amount', '>', 100_000 + i]],
]
const asks = Array.from({ length: 16 }, (_, i) => ({
  amount: i === 5 ? 100_050 : 1 + i,
  mid: i % 4 === 1 ? `MID${i}` : `SHOP${i}`,
  mcc: i % 4 === 2 ? '7995' : i % 4 === 1 ? '7801' : '5411',
  country: i === 7 ? 'NC' : 'US',
}))

const engines = {
  ours,
  'json-logic-engine': jsonLogic,
  'zen-engine': zenEngine,
  'json-rules-engine': jsonRules,
  'cel-js': cel,
}

export async function run({ smoke, rounds = 5, progress }) {
  const sizes = smoke ? [10] : [10, 100, 1_000, 10_000]
  const budgetUs = smoke ? 5_000 : 250_000
  const table = []
  for (const size of sizes) {
    progress(`${size} rules: every engine must tell the same`)
    const ready = await prepare(size)
    const samples = await inRounds(
      smoke ? 1 : rounds,
      Object.keys(ready),
      (words) => progress(`${size} rules, ${words}`),
      (name) => perCall(ready[name], budgetUs),
    )
    table.push({ size, samples })
  }
  return report(table, smoke ? 1 : rounds)
}

/** The engines with so many rules in them, which must find the same in every ask. */
async function prepare(size) {
  const rules = Array.from({ length: size }, (_, i) => kinds[i % kinds.length](i))
  const ready = {}
  let expected = null
  for (const [name, make] of Object.entries(engines)) {
    const tell = await make(rules)
    const found = []
    for (const ask of asks) found.push((await tell(ask)).sort((a, b) => a - b).join())
    expected ??= found
    if (found.join(';') !== expected.join(';'))
      throw new Error(`${name} tells other rules than ours`)
    ready[name] = tell
  }
  return ready
}

/** For about as long as the budget of processor time lasts, in batches that double. */
async function perCall(tell, budgetUs) {
  const start = process.cpuUsage()
  let calls = 0
  let usedUs = 0
  for (let batch = 1; usedUs < budgetUs; batch *= 2) {
    for (let i = 0; i < batch; i++) {
      // Awaiting costs more than our rules do: what is synchronous is not awaited.
      const result = tell(asks[calls++ % asks.length])
      if (result instanceof Promise) await result
    }
    const { user, system } = process.cpuUsage(start)
    usedUs = user + system
  }
  return usedUs / calls
}

function report(table, rounds) {
  const [own, ...peers] = Object.keys(engines)
  const usOf = ({ samples }, name) => median(samples[name])
  const timesOf = ({ samples }, name) => medianRatio(samples[name], samples[own], (us) => us)
  const rows = table.map((line) => ({
    rules: line.size.toLocaleString('en-US'),
    'ours µs': usOf(line, own),
    ...Object.fromEntries(
      peers.flatMap((name) => [
        [`${name} µs`, usOf(line, name)],
        [`${name}, times ours`, timesOf(line, name)],
      ]),
    ),
  }))
  const most = table.find(({ size }) => size === 1_000) ?? table[0]
  const nearest = Math.min(...peers.map((name) => timesOf(most, name)))
  return {
    parameters: { rounds, rules: table.map(({ size }) => size) },
    rows,
    samples: table,
    aims: [
      {
        text: `${most.size.toLocaleString('en-US')} rules take at most ${aimUs} µs`,
        measured: usOf(most, own),
        met: usOf(most, own) <= aimUs,
      },
      {
        text: `and each other engine at least ${aimTimes} times as long; the nearest`,
        measured: nearest,
        met: nearest >= aimTimes,
      },
    ],
    notes: [
      'Microseconds of processor time for all rules of one ask. All engines told the same rules of every ask; each had read or compiled them before.',
    ],
    plot: {
      type: 'lines',
      title: 'Rules of one ask, by engine (µs)',
      xLabel: 'rules',
      yLabel: 'µs',
      logX: true,
      logY: true,
      curves: [own, ...peers].map((name) => ({
        name,
        points: table.map((line) => [line.size, usOf(line, name)]),
      })),
    },
  }
}

function ours(rules) {
  const text = (parts) =>
    parts
      .map(([fact, op, value]) => {
        const name = fact === 'amount' ? 'amount' : `merchant.${fact}`
        return `${name} ${op} ${JSON.stringify(value)}`
      })
      .join(' && ')
  const written = rules.map((parts, i) => ({
    id: `r${i}`,
    when: text(parts),
    decline: '127',
    why: 'x',
  }))
  // At most a hundred matches are recorded, so none of these asks may have more.
  const pack = compilePack(
    new Map([
      ['pack.yaml', 'name: bench'],
      ['a.rules.yaml', linesOf(written.slice(0, 4000))],
      ['b.rules.yaml', linesOf(written.slice(4000, 8000))],
      ['c.rules.yaml', linesOf(written.slice(8000))],
    ]),
    45,
  )
  const facts = new Map(asks.map((ask) => [ask, factsOf(ask)]))
  return (ask) => pack.evaluate(facts.get(ask)).matched.map((id) => Number(id.slice(1)))
}

function linesOf(rules) {
  return rules.length === 0 ? '[]' : rules.map((rule) => `- ${JSON.stringify(rule)}`).join('\n')
}

function factsOf({ amount, mid, mcc, country }) {
  const merchant = { mid, mcc, name: 'Shop', city: 'Lagos', country }
  return askOf({ amountMinor: amount * 100, merchant })
}

function jsonLogic(rules) {
  const logic = new LogicEngine()
  const names = { '==': '===', '>': '>', in: 'in' }
  const tests = rules.map((parts) =>
    logic.build({
      and: parts.map(([fact, op, value]) => ({ [names[op]]: [{ var: fact }, value] })),
    }),
  )
  return (ask) => {
    const found = []
    for (let i = 0; i < tests.length; i++) if (tests[i](ask)) found.push(i)
    return found
  }
}

/** One decision table that collects every row that matches. */
function zenEngine(rules) {
  const text = (parts) =>
    parts.map(([fact, op, value]) => `${fact} ${op} ${JSON.stringify(value)}`).join(' and ')
  const table = {
    hitPolicy: 'collect',
    inputs: [{ id: 'in', name: 'condition' }],
    outputs: [{ id: 'out', name: 'rule', field: 'rule' }],
    rules: rules.map((parts, i) => ({ _id: `r${i}`, in: text(parts), out: String(i) })),
  }
  const position = { x: 0, y: 0 }
  const nodes = [
    { id: 'a', name: 'in', type: 'inputNode', position },
    { id: 'b', name: 'table', type: 'decisionTableNode', position, content: table },
    { id: 'c', name: 'out', type: 'outputNode', position },
  ]
  const edges = [
    { id: 'ab', sourceId: 'a', targetId: 'b', type: 'edge' },
    { id: 'bc', sourceId: 'b', targetId: 'c', type: 'edge' },
  ]
  const content = new zen.ZenDecisionContent({ nodes, edges })
  const decision = new zen.ZenEngine().createDecision(content)
  return async (ask) => {
    const { result } = await decision.evaluate(ask)
    return result.map(({ rule }) => rule)
  }
}

function jsonRules(rules) {
  const engine = new Engine([], { allowUndefinedFacts: true })
  const names = { '==': 'equal', '>': 'greaterThan', in: 'in' }
  rules.forEach((parts, i) => {
    const all = parts.map(([fact, op, value]) => ({ fact, operator: names[op], value }))
    engine.addRule({ conditions: { all }, event: { type: String(i) } })
  })
  return async (ask) => {
    const { events } = await engine.run(ask)
    return events.map(({ type }) => Number(type))
  }
}

function cel(rules) {
  const library = new Environment({ unlistedVariablesAreDyn: true })
  const literal = (value) => (typeof value === 'number' ? `${value}.0` : JSON.stringify(value))
  const tests = rules.map((parts) =>
    library.parse(parts.map(([fact, op, value]) => `${fact} ${op} ${literal(value)}`).join(' && ')),
  )
  return (ask) => {
    const found = []
    for (let i = 0; i < tests.length; i++) if (tests[i](ask)) found.push(i)
    return found
  }
}

/** Two countries that exist: a pack is refused for others. */
function countriesOf(i) {
  const north = ['NA', 'NE', 'NC', 'NF', 'NG', 'NI', 'NL', 'NO', 'NP', 'NR', 'NU', 'NZ']
  const last = ['ZA', 'ZM', 'ZW', 'YE', 'YT', 'WF', 'WS', 'VA', 'VC', 'VE', 'VG', 'VI', 'VN', 'VU']
  return [north[i % north.length], last[i % last.length]]
}
