/**
 * What windows by merchant cost: an ask on a card that has used 70 merchants, decided by the engine's own
 * batch into the command of its commit, with all its rows and its log entry; with twenty windows that a rule
 * each looks at, and, in the same run, without. Windows of different merchants are also measured with as many as
 * they tell apart, with fewer, and with so many that most are estimated. Times are processor time of this process,
 * so that a busy machine disturbs them less.
 */
import { newDeliveryItem } from '../dist/engine/item.js'
import { createCache } from '../dist/engine/memory/cache.js'
import { compilePack } from '../dist/rules/load/compiler.js'
import { readCardRow } from '../dist/wire/card-row.js'
import { askOf } from './support/ask.mjs'
import { createDecider } from './support/deciding.mjs'
import { inRounds, median, medianRatio } from './support/rounds.mjs'

const merchants = 70
const aimTimes = 2
const aimEstimatedTimes = 2
const startMs = Date.UTC(2026, 9, 1)
const periods = ['1h', '6h', '24h', '7d', '30d']

const different = windowsOf(20, 'card', { distinct: true })
const kinds = {
  'no window': { windows: [] },
  '7 windows by merchant': { windows: windowsOf(7, 'card-and-merchant') },
  '20 windows by merchant': { windows: windowsOf(20, 'card-and-merchant') },
  '20 windows of 30 different merchants': { windows: different, merchants: 30 },
  '20 windows of 64 different merchants': { windows: different, merchants: 64 },
  '20 windows of 70 different merchants': { windows: different },
  '20 windows of 300 different merchants': { windows: different, merchants: 300 },
  '20 windows of 1,500 different merchants': { windows: different, merchants: 1_500 },
}

export async function run({ smoke, rounds = 5, progress }) {
  const asks = smoke ? 100 : 2_000
  const packs = Object.fromEntries(
    Object.entries(kinds).map(([name, { windows }]) => [name, packOf(windows)]),
  )
  const samples = await inRounds(smoke ? 1 : rounds, Object.keys(kinds), progress, (name) =>
    measure(packs[name], asks, kinds[name].merchants ?? merchants),
  )
  return report(samples)
}

function windowsOf(count, scope, more = {}) {
  return Array.from({ length: count }, (_, i) => {
    const period = i % 2 === 0 ? 'day' : { trailing: periods[i % periods.length] }
    return { name: `w${i}`, scope, over: 'approved', period, ...more }
  })
}

function packOf(windows) {
  const rules = windows.map(({ name, distinct }, i) => {
    const when = `windows.${name}.${distinct ? 'distinct > 63 && amount > 1000' : 'count > 1000000'}`
    return { id: `r${i}`, when: `${when} && amount > 1`, decline: '130', why: 'x' }
  })
  const text = (list) => list.map((one) => `- ${JSON.stringify(one)}`).join('\n') || '[]'
  const files = [
    ['pack.yaml', 'name: bench'],
    ['windows.yaml', text(windows)],
    ['a.rules.yaml', text(rules)],
  ]
  return compilePack(new Map(files), 45)
}

/** The card goes from merchant to merchant, so that each ask counts at another. */
function measure(pack, asks, shops) {
  const decide = openCard(pack, shops)
  for (let i = 0; i < asks; i++) decide(i)
  const started = process.cpuUsage()
  let bytes = 0
  for (let i = asks; i < 2 * asks; i++) bytes += decide(i)
  const { user, system } = process.cpuUsage(started)
  return { us: (user + system) / asks, bytes: Math.round(bytes / asks) }
}

/** Decides as an engine does whose memory has the account, and gives the bytes of the command. */
function openCard(pack, shops) {
  const cache = createCache(1)
  const cached = cache.open('a:A1')
  cached.loaded = true
  const commandOf = createDecider(cache, pack)
  const row = readCardRow({
    cardId: 'C1',
    customerId: 'K1',
    accountId: 'A1',
    type: 'retail',
    currency: 'USD',
    country: 'US',
    balance: '1000000.00',
  })
  const operation = { type: 'open', ...row, givesBalance: true }
  commandOf(cached, { kind: 'operation', operation, reason: '', origin: '' }, startMs)
  return (i) => {
    const receivedAtMs = startMs + i * 1_000
    const mid = `SHOP${i % shops}`
    const { event } = askOf({
      eventId: `e${i}`,
      transactionId: `t${i}`,
      amountMinor: 150,
      merchant: { mid, mcc: '5411', name: 'S', city: 'L', country: 'US' },
    })
    const handed = { event, slot: `s${i}`, receivedAtMs, said: null, mayStillCommit: false }
    const item = newDeliveryItem(handed, 0)
    const { root, put, log } = commandOf(cached, item, receivedAtMs)
    if (item.step.answer.code !== '000') throw new Error(`ask ${i}: ${item.step.answer.code}`)
    // As a store takes them: a text that was put together of others is made whole.
    const texts = [root, ...put.map(({ value }) => value), ...log]
    return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  }
}

function report(samples) {
  const [plain, , aimed] = Object.keys(samples)
  const times = (name) => medianRatio(samples[name], samples[plain], ({ us }) => us)
  const [estimated, exact] = [1_500, 64].map((shops) => {
    return samples[Object.keys(kinds).find((name) => kinds[name].merchants === shops)]
  })
  const estimatedTimes = medianRatio(estimated, exact, ({ us }) => us)
  const rows = Object.keys(samples).map((name) => ({
    pack: name,
    'µs a decision': median(samples[name].map(({ us }) => us)),
    'times that without': times(name),
    'bytes written': median(samples[name].map(({ bytes }) => bytes)),
  }))
  return {
    rows,
    samples,
    aims: [
      {
        text: `${aimed} on a card with ${merchants} merchants cost at most ${aimTimes} times a decision without`,
        measured: times(aimed),
        met: times(aimed) <= aimTimes,
      },
      {
        text: `windows of 1,500 different merchants cost at most ${aimEstimatedTimes} times those of 64`,
        measured: estimatedTimes,
        met: estimatedTimes <= aimEstimatedTimes,
      },
    ],
    notes: [
      `An approved ask on a card that has used ${merchants} merchants, or as many as the line says: from the engine's memory to the command of its commit, with the rows of account, card, merchant, transaction and event, and the log entry. No HTTP, no thread and no store is in it, so what a server takes for a decision is several times the first line.`,
    ],
    plot: {
      type: 'bars',
      title: 'An ask on a card with many merchants',
      unit: 'µs',
      series: ['µs a decision'],
      bars: rows.map((row) => ({ label: row.pack, values: [row['µs a decision']] })),
    },
  }
}
