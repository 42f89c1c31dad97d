import { expect } from 'vitest'
import { accountIdOf, showAccount, showEvent, showTransaction } from '../../src/backoffice/show.ts'
import { systemClock } from '../../src/clock.ts'
import type { Account } from '../../src/domain/record/account.ts'
import { requestTypes } from '../../src/domain/record/event.ts'
import type { EventRecord } from '../../src/domain/record/event-record.ts'
import {
  heldPart,
  newTransaction,
  postedPart,
  type Transaction,
  withheld,
} from '../../src/domain/record/transaction.ts'
import { createEngine } from '../../src/engine/engine.ts'
import { claimStore } from '../../src/engine/format/meta.ts'
import { importRows } from '../../src/engine/import.ts'
import { openStore, type StorePlace } from '../../src/store/open.ts'
import type { Store } from '../../src/store/port.ts'
import { testPack } from './engine-world.ts'
import type { Delivery, RelayEvent } from './relay.ts'
import { type RunningServer, readiness, until } from './server.ts'

/** What the ledger says about what was told. */
export interface LedgerReport {
  /** In words; empty when the ledger agrees with every answer. */
  readonly differences: readonly string[]
  /** Asks that hold money though no delivery of theirs was answered: a crash came in between. */
  readonly overHeld: readonly string[]
  /**
   * Asks that hold money though each delivery was declined, one by default. Empty without a crash; with one
   * it needs a journal that was not flushed in time.
   */
  readonly declinedYetHeld: readonly Delivery[]
  /** Pairs of unlike answers to one event. */
  readonly unlike: readonly (readonly [Delivery, Delivery])[]
  readonly events: number
}

const retentionDays = 45
const rowsAtOnce = 400

/** A text is the folder of an embedded store. */
function placeOf(place: string | StorePlace): StorePlace {
  return typeof place === 'string' ? { redis: null, dataDir: place } : place
}

/** Opens cards `card-0`, `card-1`, … each with an account of its own, in a new store. */
export async function seedCards(
  place: string | StorePlace,
  balances: readonly string[],
  organizationId?: string,
): Promise<readonly string[]> {
  const store = await openStore(placeOf(place), systemClock.nowMs)
  await claimStore(store, { eventRetentionDays: retentionDays })
  const engine = createEngine({
    store,
    clock: systemClock,
    pack: testPack,
    nonce: 'seed',
    cacheCards: 1_000,
    onAnswer() {},
    onBooked() {},
  })
  const rows = balances.map((balance, i) => ({
    cardId: `card-${i}`,
    customerId: 'customer',
    accountId: `account-${i}`,
    type: 'retail',
    currency: 'USD',
    country: 'US',
    balance,
    ...(organizationId !== undefined && { organizationId }),
  }))
  for (let at = 0; at < rows.length; at += rowsAtOnce) {
    const { problems } = await importRows(rows.slice(at, at + rowsAtOnce), engine)
    if (problems.length > 0) throw new Error(JSON.stringify(problems))
  }
  await engine.idle()
  engine.stop()
  await store.close()
  return rows.map(({ cardId }) => cardId)
}

/** Compares what was told with the store, event by event, transaction by transaction. */
export async function checkLedger(
  place: string | StorePlace,
  deliveries: readonly Delivery[],
): Promise<LedgerReport> {
  const store = await openStore(placeOf(place), systemClock.nowMs)
  try {
    return await compare(store, deliveries)
  } finally {
    await store.close()
  }
}

/** All that was said is booked, then the server stops; its ledger must agree with every answer. */
export async function ledgerAfter(
  server: RunningServer,
  folder: string,
  deliveries: readonly Delivery[],
): Promise<LedgerReport> {
  await until(async () => (await readiness(server)).unbooked === 0)
  expect(await server.stop()).toBe(0)
  const ledger = await checkLedger(folder, deliveries)
  expect(ledger).toMatchObject({ differences: [], overHeld: [], declinedYetHeld: [] })
  return ledger
}

export async function compare(
  store: Store,
  deliveries: readonly Delivery[],
): Promise<LedgerReport> {
  const differences: string[] = []
  const overHeld: string[] = []
  const declinedYetHeld: Delivery[] = []
  const unlike: [Delivery, Delivery][] = []
  const byEvent = groupBy(deliveries, ({ event }) => event.eventId)
  const byTransaction = new Map<string, Told[]>()

  for (const [eventId, told] of byEvent) {
    const { event } = told[0]!
    const record = await recordOf(store, event)
    const counted = isCounted(event, record)
    const answered = told.filter(({ status }) => status === 200)
    const other = answered.find(({ text }) => text !== answered[0]!.text)
    if (other !== undefined) unlike.push([answered[0]!, other])
    const problem = isAsk(event)
      ? problemOfAsk(told, record)
      : problemOfAdvice(answered, event, record)
    if (isAsk(event) && isHeld(record) && !isApproved(told)) {
      if (answered.length < told.length) overHeld.push(eventId)
      else declinedYetHeld.push(...told.filter(isByDefault).slice(0, 1))
    }
    if (problem !== '') {
      const answers = answered.map(({ decidedBy, cause }) => `${decidedBy} ${cause}`.trim())
      differences.push(`${describe(event)} ${problem} (answered by ${answers.join(' and ')})`)
    }
    const key = `${event.cardId}\n${event.transactionId}`
    const siblings = byTransaction.get(key) ?? []
    const approvedByDefault = isApproved(told.filter(isByDefault))
    siblings.push({ event, counted, approvedByDefault })
    byTransaction.set(key, siblings)
  }

  const byCard = new Map<string, Transaction[]>()
  for (const events of byTransaction.values()) {
    const { cardId, transactionId } = events[0]!.event
    const shown = await showTransaction(store, cardId, transactionId)
    const found = (shown as unknown as Transaction) ?? newTransaction(cardId, transactionId)
    differences.push(...differencesOfSums(found, events))
    byCard.set(cardId, [...(byCard.get(cardId) ?? []), found])
  }
  for (const [cardId, transactions] of byCard) {
    const accountId = (await accountIdOf(store, cardId)) ?? ''
    const account = (await showAccount(store, accountId)) as unknown as Account
    differences.push(...differencesOfAccount(account, transactions))
  }
  return { differences, overHeld, declinedYetHeld, unlike, events: byEvent.size }
}

async function recordOf(
  store: Store,
  { cardId, eventId }: RelayEvent,
): Promise<EventRecord | null> {
  const retentionMs = retentionDays * 86_400_000
  const shown = await showEvent(store, cardId, eventId, systemClock.nowMs(), retentionMs)
  return shown as unknown as EventRecord | null
}

function problemOfAsk(told: readonly Delivery[], record: EventRecord | null): string {
  if (isApproved(told)) return isHeld(record) ? '' : 'was told approve and holds nothing'
  const held =
    told.every(({ status }) => status === 200) && isHeld(record) && !told.some(isByDefault)
  return held ? 'was told decline and holds its amount' : ''
}

function problemOfAdvice(
  answered: readonly Delivery[],
  event: RelayEvent,
  record: EventRecord | null,
): string {
  if (answered.length === 0) return ''
  if (answered.some(({ decision }) => decision !== 'approve')) return 'was declined, an advice'
  return isCounted(event, record) ? '' : 'was acknowledged and is not booked'
}

function isAsk({ requestType }: RelayEvent): boolean {
  return requestTypes[requestType] === 'ask'
}

function isApproved(told: readonly Delivery[]): boolean {
  return told.some(({ status, decision }) => status === 200 && decision === 'approve')
}

function isHeld(record: EventRecord | null): boolean {
  return record !== null && record.claims.length > 0
}

function isByDefault({ decidedBy }: Delivery): boolean {
  return decidedBy === 'default'
}

/** Whether the sums must contain it, by its own record. */
function isCounted(event: RelayEvent, record: EventRecord | null): boolean {
  if (record === null) return false
  return isAsk(event) ? isHeld(record) || record.absorbed : record.unmatched === ''
}

/** An event as its transaction's sums see it. */
interface Told {
  readonly event: RelayEvent
  readonly counted: boolean
  readonly approvedByDefault: boolean
}

interface Sums {
  preauthorizedMinor: number
  authorizedMinor: number
  reversedMinor: number
  settledMinor: number
  refundedMinor: number
  voided: boolean
  closed: boolean
}

/** With the switches of the pack in rules/. */
function sumsOf(events: readonly Told[]): Sums {
  const sums: Sums = {
    preauthorizedMinor: 0,
    authorizedMinor: 0,
    reversedMinor: 0,
    settledMinor: 0,
    refundedMinor: 0,
    voided: false,
    closed: false,
  }
  for (const { event, counted } of events) {
    if (!counted) continue
    const { requestType, amountMinor } = event
    if (requestType === 'PreAuthorization') sums.preauthorizedMinor += amountMinor
    else if (requestType === 'PartialReversal') sums.reversedMinor += amountMinor
    else if (requestType === 'Refund') sums.refundedMinor += amountMinor
    else if (requestType === 'Reversal') sums.voided = true
    else if (requestType === 'Settlement') {
      sums.settledMinor += amountMinor
      sums.closed ||= event.final !== false
    } else sums.authorizedMinor += amountMinor
  }
  return sums
}

function differencesOfSums(found: Transaction, events: readonly Told[]): string[] {
  const expected = sumsOf(events)
  const names = Object.keys(expected) as (keyof Sums)[]
  return names
    .filter((name) => found[name] !== expected[name])
    .filter((name) => !isRaisedByDefault(name, found, expected, events))
    .map((name) => {
      const parts = events.map(({ event, counted }) => `${describe(event)}${counted ? '' : ' not'}`)
      const { cardId, transactionId } = found
      const place = `transaction ${transactionId} of ${cardId}`
      return `${place}: ${name} is ${found[name]}, not ${expected[name]}, from ${parts.join(', ')}`
    })
}

/** An ask that was approved by default above what was reversed is booked on top of the other kind's sum. */
function isRaisedByDefault(
  name: keyof Sums,
  found: Transaction,
  expected: Sums,
  events: readonly Told[],
): boolean {
  const sums = ['preauthorizedMinor', 'authorizedMinor'] as const
  const own = sums.find((one) => one === name)
  if (own === undefined || !events.some(({ approvedByDefault }) => approvedByDefault)) return false
  const other = sums.find((one) => one !== name)!
  const riseMinor = found[own] - expected[own]
  return riseMinor > 0 && riseMinor <= expected[other]
}

function differencesOfAccount(account: Account, transactions: readonly Transaction[]): string[] {
  const sum = (part: (t: Transaction) => number) =>
    transactions.reduce((total, t) => total + part(t), 0)
  const expected = {
    postedMinor: account.openingMinor + sum(postedPart),
    heldMinor: sum(heldPart),
    withheldMinor: sum(withheld),
  }
  const names = Object.keys(expected) as (keyof typeof expected)[]
  return names
    .filter((name) => account[name] !== expected[name])
    .map((name) => `${account.accountId}: ${name} is ${account[name]}, not ${expected[name]}`)
}

function describe({ eventId, requestType, amountMinor }: RelayEvent): string {
  return `${requestType} ${eventId} of ${amountMinor}`
}

function groupBy<T>(list: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const item of list) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return groups
}
