/**
 * What the rules of a decision cost beside other engines: 10, 100, 1,000 and 10,000 rules of five kinds
 * about the merchant and the amount. Each engine is in its best mode, parsed or compiled once before, and
 * tells the ids of all rules that match; for every ask all must tell the same. Times are processor time
 * of this process for one ask, so that a busy machine disturbs them less.
 *
 *     npm run build && node bench/rules-peers.mjs [largest]
 */
import { execFileSync } from 'node:child_process'
import { cpus, loadavg } from 'node:os'
import zen from '@gorules/zen-engine'
import { Environment } from '@marcbachmann/cel-js'
import { LogicEngine } from 'json-logic-engine'
import { Engine } from 'json-rules-engine'
import { noAccount } from '../dist/domain/account.js'
import { noCard } from '../dist/domain/card.js'
import { newTransaction } from '../dist/domain/transaction.js'
import { compilePack } from '../dist/rules/load-pack.js'

const sizes = [10, 100, 1000, 10_000].filter((size) => size <= Number(process.argv[2] ?? 10_000))
const gambling = ['7995', '7801']
const budgetUs = 600_000

/** A rule is a conjunction of comparisons. */
const kinds = [
  (i) => [
    ['mcc', '==', String(1000 + (i % 9000))],
    ['amount', '>', i],
  ],
  (i) => [['mid', '==', `MID${i}`]],
  (i) => [
    ['country', 'in', [`N${letter(i)}`, `X${letter(i)}`]],
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

const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim()
console.log(
  `${commit}, Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model}, load ${loadavg()[0].toFixed(1)}`,
)
console.log('µs an ask (times ours)')
console.log(['rules', ...Object.keys(engines)].map((head) => head.padStart(20)).join(''))
for (const size of sizes) {
  const rules = Array.from({ length: size }, (_, i) => kinds[i % kinds.length](i))
  const cells = []
  let expected = null
  let oursUs = 0
  for (const [name, make] of Object.entries(engines)) {
    const run = await make(rules)
    const found = []
    for (const ask of asks) found.push((await run(ask)).sort((a, b) => a - b).join())
    expected ??= found
    if (found.join(';') !== expected.join(';'))
      throw new Error(`${name} tells other rules than ours`)
    const us = await perCall(run)
    if (name === 'ours') oursUs = us
    cells.push(
      name === 'ours'
        ? us.toFixed(2)
        : `${us.toFixed(us < 10 ? 2 : 0)} (${(us / oursUs).toFixed(us < 10 * oursUs ? 1 : 0)})`,
    )
  }
  console.log([String(size), ...cells].map((cell) => cell.padStart(20)).join(''))
}

/** For as long as the budget of processor time lasts, and as often as there are asks at least once. */
async function perCall(run) {
  for (const ask of asks) await run(ask)
  let calls = 0
  const start = process.cpuUsage()
  const used = () => {
    const { user, system } = process.cpuUsage(start)
    return user + system
  }
  while (used() < budgetUs || calls === 0) {
    // Awaiting costs more than our rules do: what is synchronous is not awaited.
    for (let i = 0; i < 4; i++) {
      for (const ask of asks) {
        const result = run(ask)
        if (result instanceof Promise) await result
      }
    }
    calls += 4 * asks.length
  }
  return used() / calls
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
  const event = {
    eventId: 'e',
    requestType: 'Authorization',
    transactionId: 't',
    originalTransactionId: '',
    cardId: 'C1',
    amountMinor: amount * 100,
    currency: 'USD',
    final: null,
    partialApprovalSupported: false,
    merchant: { mid, mcc, name: 'Shop', city: 'Lagos', country },
    channel: '',
    entryMode: '',
    merchantAmountMinor: 0,
    merchantCurrency: '',
    occurredAtMs: 0,
  }
  const account = { ...noAccount, country: 'US', currency: 'USD', postedMinor: 1_000_000 }
  return { event, account, card: noCard, transaction: newTransaction('C1', 't'), atMs: Date.now() }
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

function letter(i) {
  return String.fromCharCode(65 + (i % 26))
}
