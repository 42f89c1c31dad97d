import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import type { ChangedRow, Said } from '../../src/backtest/tally.ts'
import { type RequestType, requestTypes } from '../../src/domain/record/event.ts'
import { type CliWorld, createCliWorld } from '../support/cli.ts'
import { createRandom, type Random } from '../support/event-generator.ts'
import { rulesText } from '../support/rule-world.ts'
import { type RunningServer, send, startServer, type WireEvent } from '../support/server.ts'

const seed = Number(process.env.SEED ?? 4711)
const cards = 6
const accounts = 3
const events = 400

/**
 * No event comes to both servers at the same instant, so what they count must not depend on it: the
 * calendar days are those of a zone where it is noon now, and the other window is of the last 24 hours.
 */
function noonZone(): string {
  const hours = 12 - new Date().getUTCHours()
  // The names of these zones have the sign of what is added to get to UTC.
  return hours === 0 ? 'UTC' : `Etc/GMT${hours > 0 ? '-' : '+'}${Math.abs(hours)}`
}

const pack = `name: tried\nzone: ${noonZone()}\npartialApproval: true\n`
const windows = [
  '- { name: attempts, scope: card, over: asks, period: { trailing: 24h } }',
  '- { name: spent, scope: account, over: approved, period: day }',
  '- { name: at_merchant, scope: card-and-merchant, over: approved, period: day }',
]
/** Each rule has a code of its own, so that a row of the report need not name the rule. */
const oldPack = {
  'pack.yaml': pack,
  'windows.yaml': windows.join('\n'),
  'a.rules.yaml': rulesText([
    { id: 'gambling', when: 'merchant.mcc == "7995" && amount > 80', decline: '127' },
    { id: 'busy', when: 'windows.attempts.count > 25', decline: '189' },
    { id: 'spree', when: 'windows.spent.sum > 1500', decline: '128' },
  ]),
}
const newPack = {
  'pack.yaml': pack,
  'windows.yaml': `${windows.join('\n')}\n- { name: refused, scope: card, over: declines, period: month }`,
  'a.rules.yaml': rulesText([
    { id: 'gambling', when: 'merchant.mcc == "7995" && amount > 30', decline: '127' },
    { id: 'tester', when: 'windows.refused.count > 8', decline: '145' },
    { id: 'loyal', when: 'windows.at_merchant.sum > 250', decline: '119' },
    { id: 'spree', when: 'windows.spent.sum > 900', decline: '128' },
  ]),
}

/** Purchases and cash of cards that share accounts, what follows on them, and repetitions. */
function traffic(random: Random): WireEvent[] {
  const asked: WireEvent[] = []
  const sent: WireEvent[] = []
  for (let i = 0; i < events; i++) {
    const dice = random.next()
    const event =
      asked.length === 0 || dice < 0.55
        ? askOf(i, random)
        : dice < 0.95
          ? adviceOn(random.pick(asked.slice(-30)), i, random)
          : random.pick(sent)
    if (requestTypes[event.requestType as RequestType] === 'ask') asked.push(event)
    sent.push(event)
  }
  return sent
}

function askOf(i: number, random: Random): WireEvent {
  const mid = `M${random.between(1, 5)}`
  return {
    eventId: `e${i}`,
    requestType: random.pick([
      'Authorization',
      'Authorization',
      'PreAuthorization',
      'CashWithdrawal',
    ]),
    transactionId: `t${i}`,
    cardId: `card-${random.between(0, cards - 1)}`,
    amount: (random.between(0, 12_000) / 100).toFixed(2),
    partialApprovalSupported: random.chance(0.5),
    merchant: { mid, mcc: random.pick(['5411', '5541', '7995']), country: 'US' },
    occurredAt: new Date().toISOString(),
  }
}

function adviceOn(ask: WireEvent, i: number, random: Random): WireEvent {
  const requestType = random.pick([
    'Settlement',
    'Settlement',
    'PartialReversal',
    'Reversal',
    'Refund',
  ])
  const amount = requestType === 'PartialReversal' ? '1.00' : ask.amount
  const final = requestType === 'Settlement' && random.chance(0.5)
  return { ...ask, eventId: `e${i}`, requestType, amount, ...(final ? { final } : {}) }
}

const worlds: CliWorld[] = []
const servers: RunningServer[] = []

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.kill()))
  await Promise.all(worlds.splice(0).map((world) => world.dispose()))
})

interface Site {
  readonly world: CliWorld
  readonly server: RunningServer
}

async function startSite(files: Record<string, string>): Promise<Site> {
  const world = await createCliWorld()
  worlds.push(world)
  const rulesDir = folderOf(world, 'serving', files)
  world.env.RULES_DIR = rulesDir
  const rows = Array.from({ length: cards }, (_, i) => ({
    cardId: `card-${i}`,
    customerId: `customer-${i}`,
    accountId: `account-${i % accounts}`,
    type: 'retail',
    currency: 'USD',
    country: 'US',
    ...(i < accounts ? { balance: `${400 + 300 * i}.00` } : {}),
    ...(i % 2 === 0 ? { cardLimits: { dailyLimit: '700.00' } } : {}),
  }))
  const file = await world.write('cards.ndjson', rows.map((row) => JSON.stringify(row)).join('\n'))
  expect(await world.run('import', file)).toMatchObject({ code: 0, err: '' })
  const env = { RULES_DIR: rulesDir }
  const server = await startServer({ dataDir: world.env.DATA_DIR!, env })
  servers.push(server)
  return { world, server }
}

function folderOf(world: CliWorld, name: string, files: Record<string, string>): string {
  const folder = join(world.folder, name)
  mkdirSync(folder)
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text)
  return folder
}

/** What a server said to an ask, as the report writes it. */
function saidBy({ body }: Awaited<ReturnType<typeof send>>): Said {
  expect(body).toMatchObject({ decidedBy: 'engine' })
  const amount = body.approvedAmount
  const approvedAmountMinor = amount === undefined ? null : Math.round(Number(amount) * 100)
  return { code: String(body.responseCode), ruleId: String(body.ruleId ?? ''), approvedAmountMinor }
}

it(`says of the log of one server what another, with the new pack, answers to the same events (SEED=${seed})`, {
  // A machine that stops for a third of a second makes a watchdog speak: that says nothing about this.
  timeout: 60_000,
  retry: 2,
}, async () => {
  const [before, after] = await Promise.all([startSite(oldPack), startSite(newPack)])
  const [old, live] = [new Map<string, Said>(), new Map<string, Said>()]
  for (const event of traffic(createRandom(seed))) {
    const [a, b] = await Promise.all([before, after].map(({ server }) => send(server.url, event)))
    if (requestTypes[event.requestType as RequestType] !== 'ask') continue
    old.set(event.eventId, saidBy(a!))
    live.set(event.eventId, saidBy(b!))
  }
  const newDir = folderOf(before.world, 'new', newPack)
  const file = join(before.world.folder, 'report.json')
  const args = [newDir, '--against', before.world.env.RULES_DIR!, '--json', file]
  const { code, out, err } = await before.world.run('rules', 'backtest', ...args)
  expect([code, err]).toEqual([0, ''])
  expect(out).toContain(`gives the answer of the log to all ${old.size} asks`)

  const { rows } = JSON.parse(readFileSync(file, 'utf8')).tally as { rows: ChangedRow[] }
  const predicted = new Map(old)
  for (const { eventId, next } of rows) predicted.set(eventId, next)
  expect(Object.fromEntries(predicted)).toEqual(Object.fromEntries(live))
  const rules = new Set(rows.map(({ next }) => next.ruleId))
  expect([...rules]).toEqual(expect.arrayContaining(['', 'gambling', 'loyal', 'spree', 'tester']))
  expect([...live.values()].some(({ approvedAmountMinor }) => approvedAmountMinor !== null)).toBe(
    true,
  )
})
