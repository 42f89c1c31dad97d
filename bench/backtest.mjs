/**
 * How fast a backtest replays a log: entries a second, read as lines, decided by two packs of so many
 * rules with windows, in two threads. The log is made here by the same functions that a server decides
 * with. Its baseline, from the same run, is one thread.
 *
 *     npm run build && node bench/backtest.mjs [entries] [rules]
 */
import { execFileSync } from 'node:child_process'
import { cpus, loadavg } from 'node:os'
import { runBacktest } from '../dist/backtest/run.js'
import { createLedger } from '../dist/domain/ledger.js'
import { encodeEntry } from '../dist/engine/entry-codec.js'
import { readCardRow } from '../dist/rules/card-row.js'
import { compilePack } from '../dist/rules/load-pack.js'

const entries = Number(process.argv[2] ?? 300_000)
const rules = Number(process.argv[3] ?? 100)
const accounts = Math.max(100, Math.ceil(entries / 100))
const startMs = Date.UTC(2026, 9, 1)

const oldFiles = filesOf(200)
const newFiles = filesOf(150)
const lines = makeLog(compilePack(oldFiles, 45))

const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim()
console.log(
  `${commit}, Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model}, load ${loadavg()[0].toFixed(1)}`,
)
console.log(`${lines.length} entries of ${accounts} accounts, ${rules} rules in each pack`)
for (const threads of [1, 2]) await measure(threads)

async function measure(threads) {
  const source = {
    async *lines() {
      for (let at = 0; at < lines.length; at += 1000) yield lines.slice(at, at + 1000)
    },
    snapshots: async () => new Map(),
  }
  const options = { oldFiles, newFiles, retentionDays: 45, fromMs: 0, toMs: Infinity, source }
  const startedMs = performance.now()
  const started = process.cpuUsage()
  const tally = await runBacktest({ ...options, threads })
  const seconds = (performance.now() - startedMs) / 1000
  const { user, system } = process.cpuUsage(started)
  const cpuSeconds = (user + system) / 1e6
  if (tally.disagreements > 0) throw new Error('the old pack does not say what the log says')
  console.log(
    `${threads} thread${threads === 1 ? '' : 's'}: ${perSecond(lines.length, seconds)} entries/s in ${seconds.toFixed(1)} s, ` +
      `${perSecond(lines.length, cpuSeconds)} a second of processor time; ${tally.asks} asks, ${tally.rows.length} decisions change`,
  )
}

function perSecond(count, seconds) {
  return Math.round(count / seconds).toLocaleString('en-US')
}

function filesOf(limit) {
  const list = Array.from({ length: rules - 2 }, (_, i) => ({
    id: `r${i}`,
    when: `merchant.mid == "MID${i}" && amount > ${i}`,
    decline: '127',
    why: 'x',
  }))
  list.push(
    {
      id: 'gambling',
      when: `merchant.mcc == "7995" && amount > ${limit}`,
      decline: '127',
      why: 'x',
    },
    { id: 'busy', when: 'windows.hourly.count > 20', decline: '130', why: 'x' },
  )
  return new Map([
    ['pack.yaml', 'name: bench'],
    ['windows.yaml', '- { name: hourly, scope: card, over: asks, period: { trailing: 1h } }'],
    ['a.rules.yaml', list.map((rule) => `- ${JSON.stringify(rule)}`).join('\n')],
  ])
}

/** Asks and their settlements, one after the other on each card. */
function makeLog(pack) {
  const ledger = createLedger()
  for (let i = 0; i < accounts; i++) {
    const row = readCardRow({
      cardId: `card-${i}`,
      customerId: `customer-${i}`,
      accountId: `account-${i}`,
      type: 'retail',
      currency: 'USD',
      country: 'US',
      balance: '1000000.00',
    })
    ledger.operate(`account-${i}`, { type: 'open', ...row, givesBalance: true }, pack, startMs)
  }
  for (let i = 0; ledger.entries.length < entries; i++) {
    const atMs = startMs + i * 60
    const ask = eventOf(i, 'Authorization', atMs)
    ledger.deliver({ event: ask, slot: `s/${i}`, receivedAtMs: atMs, said: null }, pack)
    const settled = { ...ask, eventId: `s${i}`, requestType: 'Settlement', final: true }
    ledger.deliver({ event: settled, slot: `t/${i}`, receivedAtMs: atMs + 30, said: null }, pack)
  }
  return ledger.entries.map(encodeEntry)
}

function eventOf(i, requestType, atMs) {
  return {
    eventId: `e${i}`,
    requestType,
    transactionId: `t${i}`,
    originalTransactionId: '',
    cardId: `card-${i % accounts}`,
    amountMinor: 100 + ((i * 7919) % 25_000),
    currency: 'USD',
    final: null,
    partialApprovalSupported: false,
    merchant: {
      mid: `SHOP${i % 500}`,
      mcc: i % 20 === 0 ? '7995' : '5411',
      name: 'Shop',
      city: 'Lagos',
      country: 'US',
    },
    channel: '',
    entryMode: '',
    merchantAmountMinor: 0,
    merchantCurrency: '',
    occurredAtMs: atMs,
  }
}
