import type { Entry } from '../domain/ledger/entry.ts'
import { transactionKey } from '../domain/ledger/ledger.ts'
import { type Account, availableMinor } from '../domain/record/account.ts'
import { type Card, metadataOf } from '../domain/record/card.ts'
import { type CardEvent, isAsk, metadataPrefix } from '../domain/record/event.ts'
import { formatMinor } from '../domain/record/money.ts'
import { maxTestCards, maxTestSteps } from '../rules/testing/test-file.ts'
import { type CardRow, writeCardRow } from '../wire/card-row.ts'
import type { ReplayedAccount } from './replay/replayed-account.ts'
import { toldBefore } from './told-past.ts'

/** A case of a *.test.yaml, as it is written. */
export interface TestCase {
  readonly name: string
  readonly start: string
  readonly cards: readonly Record<string, unknown>[]
  readonly steps: readonly Record<string, unknown>[]
}

/** A case tells at most this many earlier events, the last ones. */
export const maxEarlier = 60

type Step = Record<string, unknown>

/**
 * Makes a case of one decision: the cards as they were, the events before it that windows still count or
 * that are of the same transaction, what people changed of the cards between them, and before each of them as
 * much available as there was.
 */
export function testCaseOf(
  target: Entry,
  entries: readonly Entry[],
  replayed: ReplayedAccount,
  alone: ReadonlySet<string> = new Set(),
): TestCase | null {
  for (let most = maxEarlier; ; most >>= 1) {
    const told = toldBefore(target, entries, alone, most)
    const made = caseOf(target, entries, replayed.copy(), told)
    const fits = made && made.steps.length <= maxTestSteps && made.cards.length <= maxTestCards
    if (made === null || fits || most === 0) return made
  }
}

function caseOf(
  target: Entry,
  entries: readonly Entry[],
  account: ReplayedAccount,
  told: ReadonlySet<Entry>,
): TestCase | null {
  const cardIds = new Set([target, ...told].map(({ event }) => event?.cardId ?? ''))
  const ownKeys = new Set(Array.from(told, ({ transaction }) => transactionKey(...transaction)))
  const steps: Step[] = []
  let cards: Step[] | null = null
  let startMs = target.atMs
  /** What the case has available, as far as it is told. */
  let available = 0
  for (const entry of entries) {
    if (entry.n > target.n) break
    const before = account.book.account()
    const isTold = entry.n === target.n || told.has(entry)
    if (isTold) {
      if (before === null || entry.event === null || entry.answer === null) return null
      const there = availableMinor(before)
      if (cards === null) {
        cards = cardsOf(before, [...cardIds], account)
        startMs = entry.atMs
        available = there
      }
      steps.push({ at: new Date(entry.atMs).toISOString() })
      if (there !== available) {
        const adjust = formatMinor(there - available, before.currency)
        steps.push({ adjust, card: entry.event.cardId })
      }
      steps.push(stepOf(entry, target))
    }
    if (entry.n === target.n) break
    const knownCards = [...cardIds].map((id) => account.book.card(id))
    account.follow(entry)
    const after = account.book.account()
    if (after === null || before === null || cards === null) continue
    const isDue = entry.kind === 'tended' && ownKeys.has(transactionKey(...entry.transaction))
    if (isTold) available = availableMinor(after)
    else if (isDue) available += availableMinor(after) - availableMinor(before)
    if (isTold || isDue) continue
    steps.push(...frozenSteps(entry, account), ...settingSteps(knownCards, entry, account))
  }
  if (cards === null || target.event === null || target.answer === null) return null
  return {
    name: `${target.event.requestType} ${target.event.eventId} is answered ${target.answer.code}`,
    start: new Date(startMs - 1000).toISOString(),
    cards,
    steps,
  }
}

function cardsOf(account: Account, cardIds: readonly string[], { book }: ReplayedAccount): Step[] {
  const cards = cardIds.flatMap((cardId) => book.card(cardId) ?? [])
  return cards.map((card, i) => {
    const row = writtenCard(account, card)
    const balance = formatMinor(availableMinor(account), account.currency)
    return i === 0 ? { ...row, balance } : row
  })
}

function writtenCard(account: Account, card: Card): Step {
  const shown = card.metadata.length > 0 ? { metadata: metadataOf(card) } : {}
  return written(writeCardRow(account, { ...card, replaces: '' }, false, shown))
}

/** An ask that something outside the pack declined: a frozen card counts it as declined, too. */
function frozenSteps(entry: Entry, { book }: ReplayedAccount): Step[] {
  const { event, answer, changes, atMs } = entry
  const isFirst = changes.some(({ type }) => type === 'recorded')
  const card = event && book.card(event.cardId)
  if (entry.kind !== 'event' || !isFirst || event === null || card?.status !== 'Active') return []
  if (answer === null || answer.code === '000' || !isAsk(event)) return []
  const set = (status: string) => ({ set: { card: card.cardId, status } })
  const send = { send: event.requestType, ...fieldsOf(event), expect: '117' }
  return [{ at: new Date(atMs).toISOString() }, set('Frozen'), send, set('Active')]
}

const settable = [
  'status',
  'dailyLimit',
  'transactionLimit',
  'metadata',
  'whiteListedMccs',
  'blackListedMccs',
  'whiteListedMids',
  'blackListedMids',
  'unblockedMids',
] as const

/** What somebody changed of the cards of a case; a limit that was taken away cannot be said. */
function settingSteps(
  before: readonly (Card | null)[],
  { atMs }: Entry,
  { book }: ReplayedAccount,
): Step[] {
  const account = book.account()!
  const steps = before.flatMap((card) => {
    const after = card && book.card(card.cardId)
    if (card === null || after === null || after === card) return []
    const [was, is] = [writtenCard(account, card), writtenCard(account, after)]
    const set = settable.flatMap((name) => {
      const value = is[name] ?? (Array.isArray(was[name]) ? [] : undefined)
      const same = JSON.stringify(was[name]) === JSON.stringify(is[name])
      return same || value === undefined ? [] : [[name, value]]
    })
    return set.length === 0 ? [] : [{ set: { card: card.cardId, ...Object.fromEntries(set) } }]
  })
  return steps.length === 0 ? [] : [{ at: new Date(atMs).toISOString() }, ...steps]
}

/** The row without the fields that have their default. */
function written(row: CardRow): Record<string, unknown> {
  const { cardLimits, ...rest } = row
  return Object.fromEntries(
    Object.entries({ country: '', ...rest, ...cardLimits }).filter(
      ([, value]) => !(Array.isArray(value) && value.length === 0) && value !== undefined,
    ),
  )
}

function stepOf(entry: Entry, target: Entry): Step {
  const { code, ruleId, approvedAmountMinor } = entry.answer!
  const event = entry.event!
  const approved =
    approvedAmountMinor === null
      ? {}
      : { approved: formatMinor(approvedAmountMinor, event.currency) }
  return {
    send: event.requestType,
    ...fieldsOf(event),
    expect: code === '000' ? 'approve' : code,
    ...(ruleId === '' ? {} : { rule: ruleId }),
    ...(entry === target ? approved : {}),
  }
}

function fieldsOf(event: CardEvent): Record<string, unknown> {
  const { merchant, amountMinor, currency } = event
  const fields = {
    event: event.eventId,
    txn: event.transactionId,
    original: event.originalTransactionId,
    card: event.cardId,
    amount: amountMinor === null ? '' : formatMinor(amountMinor, currency),
    currency,
    mid: merchant.mid,
    mcc: merchant.mcc,
    country: merchant.country,
    name: merchant.name,
    city: merchant.city,
    channel: event.channel,
    entryMode: event.entryMode,
    merchantAmount:
      event.merchantAmountMinor === 0 || event.merchantCurrency === ''
        ? ''
        : formatMinor(event.merchantAmountMinor, event.merchantCurrency),
    merchantCurrency: event.merchantCurrency,
    final: event.final ?? '',
    partial: event.partialApprovalSupported || '',
  }
  // What the merchant does not say would else have its default.
  const said = ({ 0: name, 1: value }: [string, unknown]) => value !== '' || silent.has(name)
  return { ...Object.fromEntries(Object.entries(fields).filter(said)), ...detailsOf(event) }
}

function detailsOf({ details = {} }: CardEvent): Record<string, unknown> {
  const isNamed = ([name]: readonly [string, string]) => name.startsWith(metadataPrefix)
  const all = Object.entries(details)
  const named = all
    .filter(isNamed)
    .map(([name, value]) => [name.slice(metadataPrefix.length), value])
  const plain = all.filter((one) => !isNamed(one))
  return {
    ...(plain.length > 0 && { details: Object.fromEntries(plain) }),
    ...(named.length > 0 && { metadata: Object.fromEntries(named) }),
  }
}

const silent: ReadonlySet<string> = new Set(['mid', 'mcc', 'country'])
