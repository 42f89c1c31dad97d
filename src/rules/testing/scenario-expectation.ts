import type { Book } from '../../domain/change/book.ts'
import type { Step } from '../../domain/decide/answer.ts'
import type { Pack } from '../../domain/decide/pack.ts'
import {
  averageOf,
  dailyWindow,
  spreadAt,
  type WindowFacts,
  windowAt,
} from '../../domain/decide/window.ts'
import { type Account, availableMinor } from '../../domain/record/account.ts'
import { type Card, noCard } from '../../domain/record/card.ts'
import type { CardEvent } from '../../domain/record/event.ts'
import type { Answer } from '../../domain/record/event-record.ts'
import { formatMinor } from '../../domain/record/money.ts'
import { reasonOf } from '../../domain/record/response-code.ts'
import { newTransaction } from '../../domain/record/transaction.ts'
import { type Expectations, expectations } from './scenario-file.ts'

/** The values that a scenario can have expectations about, after a step. */
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

export function windowOf(
  book: Pick<Book, 'account' | 'card'>,
  cardId: string,
  name: string,
  pack: Pack,
  nowMs: number,
  of: string,
) {
  const all = [...pack.windows, ...(pack.sharedWindows ?? [])]
  const definition = all.find((window) => window.name === name)
  const account = book.account()
  if (definition === undefined || account === null) throw new Error(`no window ${name}`)
  const card = book.card(cardId) ?? noCard
  const atMs = Math.max(nowMs, account.lastArrivalMs)
  const facts = factsOf(account, card, of, atMs, pack.shared)
  const { distinct, ...sums } = windowAt(definition, facts)
  const { maxMinor, deviationMinor } = spreadAt(definition, facts)
  const show = (minor: number) => formatMinor(minor, account.currency)
  return {
    sum: show(sums.sumMinor),
    count: sums.count,
    distinct,
    average: show(averageOf(sums)),
    deviation: show(deviationMinor),
    max: show(maxMinor),
  }
}

/** An event that says one thing of its merchant, whichever a window stands on. */
function factsOf(
  account: Account,
  card: Card,
  of: string,
  atMs: number,
  shared: Pack['shared'],
): WindowFacts {
  const merchant = { mid: of, mcc: of, name: '', city: '', country: of }
  const event = { merchant, currency: account.currency } as CardEvent
  return { account, card, transaction: newTransaction('', ''), event, atMs, shared }
}

/** The expectations of a step that do not hold; windows are compared elsewhere. */
export function unmet(step: Expectations, actual: Record<string, unknown>): string[] {
  return Object.entries(step).flatMap(([name, expected]) => {
    if (!(name in expectations) || name === 'account' || name === 'windows') return []
    return compareField(name, actual[name], expected)
  })
}

export function compareField(name: string, actual: unknown, expected: unknown): string[] {
  const a = JSON.stringify(normal(actual))
  const e = JSON.stringify(normal(expected))
  return a === e ? [] : [`${name} is ${a}, expected ${e}`]
}

export function compareAnswer({ code, ruleId }: Answer, expected: string): string[] {
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

export function formatted(value: string): string {
  const match = /^(-?)(\d+)(?:\.(\d+))?$/.exec(value)
  if (match === null) return value
  // Some currencies have three decimals, some none.
  const decimals = (match[3] ?? '').replace(/0+$/, '')
  return `${match[1]}${match[2]}.${decimals.padEnd(2, '0')}`
}
