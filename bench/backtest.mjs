/**
 * How fast a backtest replays a log of asks and their settlements: by two packs of a hundred rules with a
 * window, and by the pack of a whole programme (`--pack`) beside the same with one rule or one window more.
 * The logs are made here by the same functions that a server decides with; the baseline, from the same
 * run, is one thread. What no backtest of the programme's pack by one thread can be faster than is beside it:
 * its log read, and decided by one pack on one book.
 */

import { storeSource } from '../dist/backoffice/log-source.js'
import { deliveryOf } from '../dist/backtest/replay/logged-answer.js'
import { createReplayedAccount } from '../dist/backtest/replay/replayed-account.js'
import { runBacktest } from '../dist/backtest/run.js'
import { countShared, createSharedTally } from '../dist/domain/decide/shared-window.js'
import { createLedger } from '../dist/domain/ledger/ledger.js'
import { encodeEntry, openEntry } from '../dist/engine/format/entry-codec.js'
import { compilePack } from '../dist/rules/load/compiler.js'
import { readPackFiles } from '../dist/rules/pack/reading.js'
import { openLmdbStore } from '../dist/store/lmdb/lmdb.js'
import { readCardRow } from '../dist/wire/card-row.js'
import { temporaryFolder } from './support/processes.mjs'
import { inRounds, median } from './support/rounds.mjs'

const aimPerSecond = 100_000
const packAimPerSecond = 20_000
const rules = 100
const startMs = Date.UTC(2026, 9, 1)
/** Between two asks of a card: often enough for windows, and not so often that they decline all. */
const everyMs = 72_000
const linesPerPage = 1_000

export async function run({ smoke, rounds = 5, pack = 'rules/examples/issuer', progress }) {
  const entries = smoke ? 2_000 : 120_000
  progress(`a log of ${entries} entries is made`)
  const accounts = Math.max(10, Math.ceil(entries / 100))
  const [oldPack, newPack] = [200, 150].map((limit) => compilePack(filesOf(limit), 45))
  const lines = makeLog(oldPack, entries, accounts)
  const folder = temporaryFolder()
  const store = await openLmdbStore({ folder: folder.path, nowMs: Date.now })
  try {
    await fill(store, lines)
    const plain = { oldPack, newPack }
    const variants = {
      '1 thread': { ...plain, threads: 1, source: memorySource(lines) },
      '2 threads': { ...plain, threads: 2, source: memorySource(lines) },
      '2 threads, embedded store': { ...plain, threads: 2, source: storeSource(store) },
      ...wholePacks(pack, entries / 2, accounts),
    }
    const samples = await inRounds(smoke ? 1 : rounds, Object.keys(variants), progress, (name) => {
      const { entries: count = lines.length, ...variant } = variants[name]
      return measure({ fromMs: 0, toMs: Infinity, ...variant }, count)
    })
    const parameters = { entries: lines.length, accounts, rules, pack, rounds: smoke ? 1 : rounds }
    return report(samples, parameters)
  } finally {
    await store.close()
    folder.remove()
  }
}

/** A pack of a folder, beside itself with one rule more, and with one window more that a rule looks at. */
function wholePacks(folder, entries, accounts) {
  const files = readPackFiles(folder)
  files.delete('pack.seal')
  files.set('pack.yaml', files.get('pack.yaml').replace(/^rules: .*$/m, ''))
  const oldPack = compilePack(files, 45, { tested: false })
  const lines = makeLog(oldPack, entries, accounts)
  const common = { oldPack, threads: 2, source: memorySource(lines), entries: lines.length }
  const withMore = (rule, windows = '') => {
    const windowsFile = `${files.get('windows.yaml') ?? ''}\n${windows}`
    const more = [
      [
        'zz.rules.yaml',
        `- ${JSON.stringify({ id: 'bench-rule', decline: '127', why: 'x', ...rule })}`,
      ],
      ['windows.yaml', windowsFile],
    ]
    return compilePack(new Map([...files, ...more]), 45, { tested: false })
  }
  const window = '- { name: bench_window, scope: card, over: asks, period: { trailing: 1h } }'
  return {
    [`${folder}, one rule more`]: { ...common, newPack: withMore({ when: 'amount > 240' }) },
    [`${folder}, one window more`]: {
      ...common,
      newPack: withMore({ when: 'windows.bench_window.count > 3 && amount > 240' }, window),
    },
    'its log read': { floor: () => lines.map(openEntry), entries: lines.length },
    'its log decided by its pack': {
      floor: () => decideAll(lines, oldPack),
      entries: lines.length,
    },
  }
}

/** Each entry decided and booked once, without a thread, a comparison or a report. */
function decideAll(lines, compiled) {
  const pack = { ...compiled, shared: createSharedTally() }
  const accounts = new Map()
  for (const line of lines) {
    const { head, whole } = openEntry(line)
    const account = accounts.get(head.accountId) ?? createReplayedAccount()
    accounts.set(head.accountId, account)
    const delivery = deliveryOf(head)
    if (delivery === null) account.follow(whole())
    else {
      const decision = account.decide(delivery, pack)
      account.keep(decision)
      countShared(pack, delivery.event, decision.step)
    }
  }
}

async function measure({ floor, ...options }, entries) {
  if (floor !== undefined) return measureFloor(floor, entries)
  const startedMs = performance.now()
  const started = process.cpuUsage()
  let half = null
  const onProgress = (read) => {
    if (half === null && read >= entries / 2) half = { read, atMs: performance.now() }
  }
  const tally = await runBacktest({ ...options, onProgress })
  const endedMs = performance.now()
  const { user, system } = process.cpuUsage(started)
  if (tally.entries !== entries || tally.disagreements > 0 || tally.rows.length === 0)
    throw new Error('the old pack does not say what the log says, or the new one says the same')
  return {
    perSecond: (entries * 1000) / (endedMs - startedMs),
    warmPerSecond: ((entries - half.read) * 1000) / (endedMs - half.atMs),
    perCpuSecond: (entries * 1e6) / (user + system),
    changed: tally.rows.length,
  }
}

/** Run before it is measured, so that it is compiled. */
function measureFloor(floor, entries) {
  floor()
  const startedMs = performance.now()
  const started = process.cpuUsage()
  floor()
  const { user, system } = process.cpuUsage(started)
  const perSecond = (entries * 1000) / (performance.now() - startedMs)
  const perCpuSecond = (entries * 1e6) / (user + system)
  return { perSecond, warmPerSecond: perSecond, perCpuSecond, changed: 0 }
}

function report(samples, parameters) {
  const of = (name, figure) => median(samples[name].map((sample) => sample[figure]))
  const names = Object.keys(samples)
  const rows = names.map((name) => ({
    replayed: name,
    'entries/s': Math.round(of(name, 'perSecond')),
    'of its second half': Math.round(of(name, 'warmPerSecond')),
    'entries a second of processor time': Math.round(of(name, 'perCpuSecond')),
  }))
  const { entries, accounts } = parameters
  const measured = Math.round(of('2 threads', 'perSecond'))
  return {
    parameters,
    rows,
    samples,
    aims: [
      {
        text: `${aimPerSecond.toLocaleString('en-US')} entries/s with two threads`,
        measured,
        met: measured >= aimPerSecond,
      },
      ...names
        .filter((name) => name.includes(', one '))
        .map((name) => {
          const perSecond = Math.round(of(name, 'perSecond'))
          const text = `${packAimPerSecond.toLocaleString('en-US')} entries/s: ${name}`
          return { text, measured: perSecond, met: perSecond >= packAimPerSecond }
        }),
    ],
    notes: [
      `${entries.toLocaleString('en-US')} entries of ${accounts.toLocaleString('en-US')} accounts, ${rules} rules in each pack, ${samples[names[0]][0].changed.toLocaleString('en-US')} decisions change; the old pack gave the answer of the log to every ask. From memory but for the third line. The last two lines are floors, in one thread and compiled before. The start of the threads, and a second or more in which each compiles, are in the time; less of that is in the second half of the log, and hardly any in a log of millions.`,
    ],
    plot: {
      type: 'bars',
      title: 'Entries of the log replayed in a second',
      unit: 'entries/s',
      series: ['entries/s'],
      bars: rows.map((row) => ({ label: row.replayed, values: [row['entries/s']] })),
    },
  }
}

function memorySource(lines) {
  return {
    async *lines() {
      for (let at = 0; at < lines.length; at += linesPerPage)
        yield lines.slice(at, at + linesPerPage)
    },
    snapshots: async () => new Map(),
  }
}

async function fill(store, lines) {
  for (let at = 0; at < lines.length; at += linesPerPage) {
    const page = lines.slice(at, at + linesPerPage)
    await store.fill(
      page.map((entry, i) => ({
        kind: 'log',
        aggregate: 'bench',
        writtenMicros: startMs * 1000 + at + i,
        entry,
      })),
    )
  }
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
function makeLog(pack, entries, accounts) {
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
    const atMs = startMs + i * (everyMs / accounts)
    const ask = eventOf(i, 'Authorization', atMs, accounts)
    ledger.deliver({ event: ask, slot: `s/${i}`, receivedAtMs: atMs, said: null }, pack)
    const settled = { ...ask, eventId: `s${i}`, requestType: 'Settlement', final: true }
    ledger.deliver({ event: settled, slot: `t/${i}`, receivedAtMs: atMs + 30, said: null }, pack)
  }
  return ledger.entries.map(encodeEntry)
}

function eventOf(i, requestType, atMs, accounts) {
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
      mid: `SHOP${i % Math.floor((accounts * 5) / 12)}`,
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
