/**
 * What rules cost: the time of a decision's rules, with the index and without, and of loading them.
 * The baseline is the evaluator of the CEL library on the same conditions, in the same run. Times are
 * processor time of this process, so that a busy machine disturbs them less.
 *
 *     npm run build && node bench/rules.mjs [rules]
 */
import { execFileSync } from 'node:child_process'
import { cpus, loadavg } from 'node:os'
import { Environment } from '@marcbachmann/cel-js'
import { noAccount } from '../dist/domain/account.js'
import { noCard } from '../dist/domain/card.js'
import { newTransaction } from '../dist/domain/transaction.js'
import { compilePack } from '../dist/rules/load-pack.js'

const count = Number(process.argv[2] ?? 1000)
const merchantRules = [
  (i) => `merchant.mcc == "${1000 + (i % 9000)}" && amount > ${i}.0`,
  (i) => `merchant.mid == "MID${i}"`,
  (i) => `merchant.country in ["N${letter(i)}", "X${letter(i)}"] && amount > 5.0`,
  (i) => `merchant.mcc in lists.gambling && merchant.mid == "MID${i}"`,
  (i) => `amount > ${100_000 + i}.0`,
]
const wideRules = [
  (i) => `amount > ${100_000 + i}.0 && merchant.name.contains("Bets ${i}")`,
  (i) => `merchant.mcc != "5411" && amount > ${i}.0`,
  (i) => `hour < 0 || windows.hourly.sum > ${100_000 + i}.0`,
  (i) => `foreign && amount * 1.5 > ${i}.0`,
  (i) => `card.type == "lite" && account.available < ${i}.0`,
]

const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim()
const load = loadavg()[0].toFixed(1)
console.log(
  `${commit}, Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model}, load ${load}`,
)
console.log(`${count} rules; µs a decision (µs a rule)`)
measure('by merchant', merchantRules)
measure('by anything', wideRules)

function measure(name, kinds) {
  const conditions = Array.from({ length: count }, (_, i) => kinds[i % kinds.length](i))
  const rules = conditions.map((when, i) => ({ id: `r${i}`, when, decline: '127', why: 'x' }))
  const files = new Map([
    ['pack.yaml', 'name: bench'],
    ['windows.yaml', '- { name: hourly, scope: card, over: asks, period: { trailing: 1h } }'],
    ['lists/gambling.txt', '7995\n7801\n'],
    ['a.rules.yaml', rules.map((rule) => `- ${JSON.stringify(rule)}`).join('\n')],
  ])
  let pack
  const loadMs =
    cpuUs(() => {
      pack = compilePack(files, 45)
    }) / 1000
  const plain = compilePack(files, 45, { indexed: false })
  const asks = Array.from({ length: 64 }, (_, i) => askOf(i))
  const indexedUs = perCall((i) => pack.evaluate(asks[i % 64]))
  const plainUs = perCall((i) => plain.evaluate(asks[i % 64]))
  const libraryUs = libraryTime(conditions)
  const show = (us) => `${us.toFixed(2)} (${(us / count).toFixed(4)})`
  console.log(
    `${name}: indexed ${show(indexedUs)}, every rule ${show(plainUs)}, ` +
      `library ${show(libraryUs)}; loaded in ${loadMs.toFixed(0)} ms`,
  )
}

function libraryTime(conditions) {
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
  }, 100)
}

function perCall(call, calls = 10_000) {
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

function askOf(i) {
  const merchant = { mid: `SHOP${i}`, mcc: '5411', name: 'Shop', city: 'Lagos', country: 'US' }
  const event = {
    eventId: `e${i}`,
    requestType: 'Authorization',
    transactionId: `t${i}`,
    originalTransactionId: '',
    cardId: 'C1',
    amountMinor: 100 + i,
    currency: 'USD',
    final: null,
    partialApprovalSupported: false,
    merchant,
    channel: '',
    entryMode: '',
    merchantAmountMinor: 0,
    merchantCurrency: '',
    occurredAtMs: 0,
  }
  const account = { ...noAccount, country: 'US', currency: 'USD', postedMinor: 1_000_000 }
  return { event, account, card: noCard, transaction: newTransaction('C1', 't1'), atMs: Date.now() }
}

function letter(i) {
  return String.fromCharCode(65 + (i % 26))
}
