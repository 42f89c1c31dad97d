import { z } from 'zod'
import { availableMinor } from '../domain/account.ts'
import type { Book } from '../domain/book.ts'
import { createZone } from '../domain/calendar.ts'
import type { Step } from '../domain/claim.ts'
import type { CardEvent, RequestType } from '../domain/event.ts'
import { requestTypes } from '../domain/event.ts'
import type { Answer } from '../domain/event-record.ts'
import { remembersNothing } from '../domain/familiarity.ts'
import { createLedger, type Ledger, type MemoryBook } from '../domain/ledger.ts'
import { formatMinor, parseMinor } from '../domain/money.ts'
import { noVerdict, type Pack } from '../domain/pack.ts'
import { reasonOf } from '../domain/response-code.ts'
import { dailyWindow, windowValue } from '../domain/window.ts'
import { readCardRow } from './card-row.ts'
import { listName } from './named-list.ts'
import { compileSwitches, switchesFile } from './pack-file.ts'
import {
  compileDailyWindow,
  compileWindow,
  durationMs,
  durationText,
  windowFile,
} from './window-file.ts'

const requestType = z.enum(Object.keys(requestTypes) as [RequestType, ...RequestType[]])
const text = z.string()
const money = z.union([z.string(), z.number()]).transform(String)

/** How a step names its event; what is not given has a harmless default. */
const eventFields = {
  event: text.optional(),
  txn: text.optional(),
  original: text.optional(),
  amount: money.optional(),
  card: text.optional(),
  currency: text.optional(),
  final: z.boolean().optional(),
  partial: z.boolean().optional(),
  mid: text.optional(),
  mcc: text.optional(),
  country: text.optional(),
  name: text.optional(),
  city: text.optional(),
  channel: text.optional(),
  entryMode: text.optional(),
  merchantAmount: money.optional(),
  merchantCurrency: text.optional(),
  occurredAt: text.optional(),
  delivery: z.int().optional(),
}

const windowExpectation = z.strictObject({
  /** The merchant of a window per card and merchant; M1 when not given. */
  mid: text.optional(),
  sum: money.optional(),
  count: z.int().optional(),
  distinct: z.int().optional(),
})

const expectations = {
  account: text.optional(),
  posted: money.optional(),
  held: money.optional(),
  withheld: money.optional(),
  available: money.optional(),
  spent: money.optional(),
  swipes: z.int().optional(),
  status: text.optional(),
  unblocked: z.array(text).optional(),
  pending: money.optional(),
  charged: money.optional(),
  anomalies: z.array(text).optional(),
  unmatched: z.boolean().optional(),
  windows: z.record(text, windowExpectation).optional(),
}

const sendStep = z.strictObject({
  send: requestType,
  ...eventFields,
  /** A response code, `approve`, or `decline` for any other than 000. */
  expect: text,
  approved: money.optional(),
  rule: text.optional(),
  shadow: z.array(text).optional(),
  ...expectations,
})
const saidStep = z.strictObject({
  said: z.enum(['decline', 'approve', 'ack']),
  requestType: requestType.optional(),
  ...eventFields,
  ...expectations,
})
const waitStep = z.strictObject({ wait: durationText, card: text.optional(), ...expectations })
const atStep = z.strictObject({ at: text, card: text.optional(), ...expectations })
const setStep = z.strictObject({
  set: z.looseObject({ card: text.optional() }),
  ...expectations,
})

export const scenarioFile = z.array(
  z.strictObject({
    name: text,
    order: z.enum(['fixed', 'any']).default('fixed'),
    pack: switchesFile
      .extend({
        zone: text.default('UTC'),
        windows: z.array(windowFile).default([]),
        lists: z.record(listName, z.array(text)).default({}),
      })
      .prefault({}),
    cards: z.array(z.looseObject({})).default([{}]),
    steps: z.array(z.union([sendStep, saidStep, waitStep, atStep, setStep])),
  }),
)

export type Scenario = z.infer<typeof scenarioFile>[number]
export type ScenarioStep = Scenario['steps'][number]
export type Expectations = { [K in keyof typeof expectations]?: z.infer<(typeof expectations)[K]> }
export type EventFields = { [K in keyof typeof eventFields]?: z.infer<(typeof eventFields)[K]> }

export const firstMid = 'M1'
export const firstMcc = '5411'
/** When every scenario begins. */
export const startMs = Date.UTC(2026, 0, 15, 12)
const retentionMs = 45 * 86_400_000

export function compileScenarioPack(scenario: Scenario): Pack {
  const { zone: zoneName, windows, lists: listed, ...file } = scenario.pack
  const zone = createZone(zoneName)
  const lists = new Map(Object.entries(listed).map(([name, values]) => [name, new Set(values)]))
  const { switches, problems } = compileSwitches(file, 'USD', lists)
  const compiled = windows.map((window) => compileWindow(window, zone, lists, problems))
  if (problems.length > 0) throw new Error(problems.map((p) => `${p.field}: ${p.message}`).join())
  return {
    version: 'scenario',
    zone,
    switches,
    windows: [compileDailyWindow(zone), ...compiled],
    evaluate: () => noVerdict,
    remembers: remembersNothing,
    retentionMs,
  }
}

/** Its cards cannot be opened together. */
export class ScenarioRefused extends Error {
  override readonly name = 'ScenarioRefused'
}

/** A scenario on its way: its clock, its ledger, and what it has sent. */
export interface ScenarioRun {
  readonly ledger: Ledger
  readonly pack: Pack
  /** Runs one step and tells what differs from its expectations; each begins with the field's name. */
  run(step: ScenarioStep, index: number): string[]
  /** The money and windows of every account, for comparing orders. */
  money(): Record<string, unknown>
}

export function startScenario(
  scenario: Scenario,
  pack = compileScenarioPack(scenario),
  beginsAtMs = startMs,
): ScenarioRun {
  const ledger = createLedger()
  const rows = scenario.cards.map((given) => readRow(given))
  for (const { account, card } of rows) {
    const givesBalance = false
    const refused = ledger.operate(
      account.accountId,
      { type: 'open', account, card, givesBalance },
      pack,
      beginsAtMs,
    )
    if (refused !== null) throw new ScenarioRefused(`${card.cardId}: ${refused.refused}`)
  }
  const firstCard = rows[0]!.card.cardId
  const { eventOf } = createEventNaming(scenario)
  let nowMs = beginsAtMs

  function deliver(event: CardEvent, delivery: number, said: Answer | null): Step {
    const slot = `${event.eventId}/${delivery}`
    return ledger.deliver({ event, slot, receivedAtMs: nowMs, said }, pack)
  }

  function run(step: ScenarioStep, index: number): string[] {
    if ('send' in step) return runSend(step, index)
    if ('said' in step) {
      const { said, requestType, delivery = 1, ...rest } = step
      const event = eventOf(requestType, pickEventFields(rest), index, nowMs)
      const result = deliver(event, delivery, saidAnswer(said, pack.version))
      return differences(step, result, event.cardId)
    }
    if ('set' in step) {
      const { card = firstCard, ...set } = step.set
      const row = rows.find((one) => one.card.cardId === card)!
      const settings = settingsOf(scenario.cards[rows.indexOf(row)]!, set)
      const operation = { type: 'changeCard', cardId: card, set: settings } as const
      ledger.operate(row.account.accountId, operation, pack, nowMs)
      return differences(step, null, card)
    }
    nowMs = 'wait' in step ? nowMs + durationMs(step.wait) : Date.parse(step.at)
    ledger.tend(pack, nowMs)
    return differences(step, null, step.card ?? firstCard)
  }

  function runSend(step: Extract<ScenarioStep, { send: RequestType }>, index: number): string[] {
    const { send, approved, rule, shadow, delivery = 1, ...rest } = step
    const event = eventOf(send, pickEventFields(rest), index, nowMs)
    const result = deliver(event, delivery, null)
    const { ruleId, approvedAmountMinor } = result.answer
    const gave =
      approvedAmountMinor === null ? '' : formatMinor(approvedAmountMinor, event.currency)
    return [
      ...compareAnswer(result.answer, step.expect),
      ...(rule === undefined ? [] : compare('rule', ruleId, rule)),
      ...(shadow === undefined ? [] : compare('shadow', result.shadowRules, shadow)),
      ...(approved === undefined ? [] : compare('approved', gave, approved)),
      ...differences(step, result, event.cardId),
    ]
  }

  function differences(step: Expectations, result: Step | null, cardId: string): string[] {
    const accountId =
      step.account ?? rows.find((row) => row.card.cardId === cardId)?.account.accountId
    const book = ledger.book(accountId ?? '')
    const actual = lookAt(book, cardId, pack, nowMs, result)
    return unmet(step, actual).concat(windowDifferences(book, cardId, step.windows ?? {}))
  }

  function windowDifferences(
    book: MemoryBook,
    cardId: string,
    expected: NonNullable<Expectations['windows']>,
  ): string[] {
    return Object.entries(expected).flatMap(([name, { mid = firstMid, sum, count, distinct }]) => {
      const value = windowOf(book, cardId, name, pack, nowMs, mid)
      return [
        ...(distinct === undefined ? [] : compare(`${name}.distinct`, value.distinct, distinct)),
        ...(sum === undefined ? [] : compare(`${name}.sum`, value.sum, formatted(sum))),
        ...(count === undefined ? [] : compare(`${name}.count`, value.count, count)),
      ]
    })
  }

  function money(): Record<string, unknown> {
    return Object.fromEntries(
      rows.map(({ account, card }) => {
        const book = ledger.book(account.accountId)
        const { posted, held, withheld, available, spent } = lookAt(
          book,
          card.cardId,
          pack,
          nowMs,
          null,
        )
        const windows = pack.windows.map(({ name }) => [
          name,
          windowOf(book, card.cardId, name, pack, nowMs, firstMid),
        ])
        return [card.cardId, { posted, held, withheld, available, spent, windows }]
      }),
    )
  }

  return { ledger, pack, run, money }
}

/** Makes the events that steps speak of; what is not given has a default, or is as it was sent before. */
export interface EventNaming {
  eventOf(
    type: RequestType | undefined,
    fields: EventFields,
    index: number,
    nowMs: number,
  ): CardEvent
}

export function createEventNaming(scenario: Scenario): EventNaming {
  const rows = scenario.cards.map((given) => readRow(given))
  const firstCard = rows[0]!.card.cardId
  const sent = new Map<string, CardEvent>()

  function eventOf(
    type: RequestType | undefined,
    fields: EventFields,
    index: number,
    nowMs: number,
  ): CardEvent {
    const eventId = fields.event ?? `e${index + 1}`
    const known = sent.get(eventId)
    const given = Object.keys(fields).some((field) => field !== 'event' && field !== 'delivery')
    if (known !== undefined && !given && (type ?? known.requestType) === known.requestType) {
      return known
    }
    const requestType = type ?? known?.requestType
    if (requestType === undefined) throw new Error(`${scenario.name}: ${eventId} was never sent`)
    const cardId = fields.card ?? firstCard
    const accountOf = rows.find((row) => row.card.cardId === cardId)?.account
    const currency = fields.currency ?? accountOf?.currency ?? 'USD'
    const merchantCurrency = fields.merchantCurrency ?? ''
    const event: CardEvent = {
      eventId,
      requestType,
      transactionId: fields.txn ?? 't1',
      originalTransactionId: fields.original ?? '',
      cardId,
      amountMinor: fields.amount === undefined ? null : minorOf(fields.amount, currency),
      currency,
      final: fields.final ?? null,
      partialApprovalSupported: fields.partial ?? false,
      merchant: {
        mid: fields.mid ?? firstMid,
        mcc: fields.mcc ?? firstMcc,
        name: fields.name ?? '',
        city: fields.city ?? '',
        country: fields.country ?? 'US',
      },
      channel: fields.channel ?? '',
      entryMode: fields.entryMode ?? '',
      merchantAmountMinor: minorOf(fields.merchantAmount ?? '0', merchantCurrency || currency),
      merchantCurrency,
      occurredAtMs: fields.occurredAt === undefined ? nowMs : Date.parse(fields.occurredAt),
    }
    if (!sent.has(eventId)) sent.set(eventId, event)
    return event
  }

  return { eventOf }
}

function saidAnswer(said: 'decline' | 'approve' | 'ack', rulesVersion: string): Answer {
  return {
    code: said === 'decline' ? '176' : '000',
    decidedBy: 'default',
    cause: 'deadline',
    ruleId: '',
    approvedAmountMinor: null,
    rulesVersion,
  }
}

/** What a scenario can expect of one card and its account, after a step. */
export function lookAt(
  book: Pick<Book, 'account' | 'card'>,
  cardId: string,
  pack: Pack,
  nowMs: number,
  result: Pick<Step, 'anomalies' | 'unmatched'> | null,
): Record<string, unknown> {
  const account = book.account()
  const card = book.card(cardId)
  const unmatched = (result?.unmatched ?? '') !== ''
  if (account === null || account.accountId === '') return { unmatched, anomalies: [] }
  const show = (minor: number) => formatMinor(minor, account.currency)
  return {
    posted: show(account.postedMinor),
    held: show(account.heldMinor),
    withheld: show(account.withheldMinor),
    available: show(availableMinor(account)),
    spent: windowOf(book, cardId, dailyWindow, pack, nowMs, '').sum,
    swipes: card?.swipesLeft,
    status: card?.status,
    unblocked: card?.unblockedMids,
    pending: show(account.chargesPendingMinor),
    charged: show(account.chargesTakenMinor),
    anomalies: result?.anomalies,
    unmatched,
  }
}

function windowOf(
  book: Pick<Book, 'account' | 'card'>,
  cardId: string,
  name: string,
  pack: Pack,
  nowMs: number,
  mid: string,
) {
  const definition = pack.windows.find((window) => window.name === name)
  const account = book.account()
  if (definition === undefined || account === null) throw new Error(`no window ${name}`)
  const owner = definition.scope === 'account' ? account : book.card(cardId)
  const atMs = Math.max(nowMs, account.lastArrivalMs)
  const { sumMinor, count, distinct } = windowValue(owner?.windows ?? {}, definition, atMs, mid)
  return { sum: formatMinor(sumMinor, account.currency), count, distinct }
}

/** The expectations of a step that do not hold, but for windows. */
export function unmet(step: Expectations, actual: Record<string, unknown>): string[] {
  return Object.entries(step).flatMap(([name, expected]) => {
    if (!(name in expectations) || name === 'account' || name === 'windows') return []
    return compare(name, actual[name], expected)
  })
}

export function compare(name: string, actual: unknown, expected: unknown): string[] {
  const a = JSON.stringify(normal(actual))
  const e = JSON.stringify(normal(expected))
  return a === e ? [] : [`${name} is ${a}, expected ${e}`]
}

function compareAnswer({ code, ruleId }: Answer, expected: string): string[] {
  if (expected === 'decline' ? code !== '000' : code === codeOf(expected)) return []
  const by = ruleId === '' ? '' : ` by ${ruleId}`
  return [`expect is ${expected}, and the answer is ${code} (${reasonOf(code)})${by}`]
}

function codeOf(expected: string): string {
  return expected === 'approve' ? '000' : expected
}

/** Lists of names are compared without their order, money by its value. */
function normal(value: unknown): unknown {
  if (Array.isArray(value)) return [...value].sort()
  return typeof value === 'string' ? formatted(value) : value
}

function formatted(value: string): string {
  const match = /^(-?)(\d+)(?:\.(\d+))?$/.exec(value)
  if (match === null) return value
  // Some currencies have three decimals, some none.
  const decimals = (match[3] ?? '').replace(/0+$/, '')
  return `${match[1]}${match[2]}.${decimals.padEnd(2, '0')}`
}

function minorOf(text: string, currency: string): number {
  const minor = parseMinor(text, currency)
  if (typeof minor !== 'number') throw new Error(`${text} ${currency}: ${minor}`)
  return minor
}

export function pickEventFields(fields: Record<string, unknown>): EventFields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => name in eventFields))
}

const cardDefaults = {
  cardId: 'c1',
  customerId: 'cust-1',
  type: 'retail',
  currency: 'USD',
  country: 'US',
  balance: '100.00',
}

/** A scenario gives limits beside the other fields, which reads better. */
export function rowOf(given: Record<string, unknown>): Record<string, unknown> {
  const { dailyLimit, transactionLimit, ...rest } = { ...cardDefaults, ...given } as Record<
    string,
    unknown
  >
  const limits = { dailyLimit, transactionLimit }
  const cardLimits = Object.fromEntries(Object.entries(limits).filter(([, v]) => v !== undefined))
  return { ...rest, cardLimits }
}

function readRow(given: Record<string, unknown>) {
  const row = readCardRow(rowOf(given))
  if (Array.isArray(row)) throw new Error(row.map((p) => `${p.field}: ${p.message}`).join('; '))
  return row
}

/** Reads the changed row whole and takes the settings that the change names. */
export function settingsOf(given: Record<string, unknown>, set: Record<string, unknown>) {
  const { card } = readRow({ ...given, ...set })
  const names = {
    status: ['status', 'terminatedBy'],
    dailyLimit: ['dailyLimitMinor'],
    transactionLimit: ['transactionLimitMinor'],
    whiteListedMccs: ['allowedMccs'],
    blackListedMccs: ['blockedMccs'],
    whiteListedMids: ['allowedMids'],
    blackListedMids: ['blockedMids'],
    unblockedMids: ['unblockedMids'],
  } as const
  const picked = Object.keys(set).flatMap((name) => names[name as keyof typeof names])
  return Object.fromEntries(picked.map((name) => [name, card[name]]))
}
