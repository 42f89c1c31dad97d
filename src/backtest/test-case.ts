import { dayMs } from '../clock.ts'
import type { Entry } from '../domain/ledger/entry.ts'
import { transactionKey } from '../domain/ledger/ledger.ts'
import { availableMinor } from '../domain/record/account.ts'
import { type Card, metadataOf } from '../domain/record/card.ts'
import { type CardEvent, metadataPrefix } from '../domain/record/event.ts'
import { formatMinor } from '../domain/record/money.ts'
import { type CardRow, writeCardRow } from '../wire/card-row.ts'
import type { ReplayedAccount } from './replayed-account.ts'

/** A case of a *.test.yaml, as it is written. */
export interface TestCase {
  readonly name: string
  readonly start: string
  readonly cards: readonly Record<string, unknown>[]
  readonly steps: readonly Record<string, unknown>[]
}

/** A case tells at most this many earlier events, the last ones. */
const maxEarlier = 60
/** The longest window: no window counts older events. */
const longestMs = 366 * dayMs

interface Earlier {
  readonly entry: Entry
  readonly movedMinor: number
  readonly cardBefore: Card | null
}

/**
 * Makes a case of one decision: the cards as they were, the events before it that windows still count or
 * that are of the same transaction, and so much money that as much is available as there was.
 */
export function testCaseOf(
  target: Entry,
  entries: readonly Entry[],
  replayed: ReplayedAccount,
): TestCase | null {
  const earlier: Earlier[] = []
  for (const entry of entries) {
    if (entry.n >= target.n) break
    const before = replayed.book.account()
    const cardBefore = replayed.book.card(entry.cardId)
    replayed.follow(entry)
    const after = replayed.book.account()
    if (before === null || after === null || !isTellable(entry)) continue
    const movedMinor = availableMinor(before) - availableMinor(after)
    earlier.push({ entry, movedMinor, cardBefore })
  }
  const account = replayed.book.account()
  if (account === null || target.event === null || target.answer === null) return null
  const told = chosen(earlier, target)
  const movedMinor = told.reduce((sum, one) => sum + one.movedMinor, 0)
  const balanceMinor = availableMinor(account) + movedMinor
  const cardIds = new Set([target.event.cardId, ...told.map(({ entry }) => entry.event!.cardId)])
  const cards = [...cardIds].flatMap((cardId, i) => {
    const card = replayed.book.card(cardId)
    if (card === null) return []
    const first = told.find(({ entry }) => entry.cardId === cardId)?.cardBefore
    const swipesLeft = first?.swipesLeft ?? card.swipesLeft
    const shown = card.metadata.length > 0 ? { metadata: metadataOf(card) } : {}
    const row = writeCardRow(account, { ...card, swipesLeft, replaces: '' }, false, shown)
    const balance = i === 0 ? { balance: formatMinor(balanceMinor, account.currency) } : {}
    return [{ ...written(row), ...balance }]
  })
  const startMs = told[0]?.entry.atMs ?? target.atMs
  return {
    name: `${target.event.requestType} ${target.event.eventId} is answered ${target.answer.code}`,
    start: new Date(startMs - 1000).toISOString(),
    cards,
    steps: [...told.map(({ entry }) => entry), target].flatMap((entry) => stepsOf(entry, target)),
  }
}

/** Answers of the watchdog and acts of people are no steps of a case: the balance has their money. */
function isTellable({ kind, event, changes }: Entry): boolean {
  const first = changes.some(({ type }) => type === 'recorded')
  return kind === 'event' && event !== null && first
}

function chosen(earlier: readonly Earlier[], target: Entry): readonly Earlier[] {
  const key = ({ transaction }: Entry) => transactionKey(...transaction)
  const recent = earlier.filter(
    ({ entry }) => entry.atMs > target.atMs - longestMs || key(entry) === key(target),
  )
  const kept = recent.slice(-maxEarlier)
  // Events of a transaction whose beginning is left out would mean something else here.
  const begun = new Set<string>()
  const late = new Set(recent.slice(0, -maxEarlier).map(({ entry }) => key(entry)))
  return kept.filter(({ entry }) => {
    if (late.has(key(entry)) && !begun.has(key(entry))) return false
    begun.add(key(entry))
    return true
  })
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

function stepsOf(entry: Entry, target: Entry): Record<string, unknown>[] {
  const { code, ruleId, approvedAmountMinor } = entry.answer!
  const event = entry.event!
  const approved =
    approvedAmountMinor === null
      ? {}
      : { approved: formatMinor(approvedAmountMinor, event.currency) }
  const send = {
    send: event.requestType,
    ...fieldsOf(event),
    expect: code === '000' ? 'approve' : code,
    ...(ruleId === '' || ruleId.startsWith('block:') ? {} : { rule: ruleId }),
    ...(entry === target ? approved : {}),
  }
  return [{ at: new Date(entry.atMs).toISOString() }, send]
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
