import { apply, stamp } from '../change/apply.ts'
import { type Book, isAlias, otherCards } from '../change/book.ts'
import type { Change, EntryKind } from '../change/change.ts'
import type { View } from '../change/view.ts'
import type { Anomaly } from '../decide/anomaly.ts'
import type { Step } from '../decide/answer.ts'
import type { Delivery } from '../decide/delivery.ts'
import { noAccount } from '../record/account.ts'
import { noCard } from '../record/card.ts'
import type { CardEvent } from '../record/event.ts'
import type { Answer, UnmatchedCause } from '../record/event-record.ts'
import type { Notice } from '../record/notice.ts'
import { newTransaction, type Transaction } from '../record/transaction.ts'

export type Place = readonly [cardId: string, transactionId: string]

/** A line of the log: the decision and its changes. All of an account, replayed by `n`, give its state. */
export interface Entry {
  readonly kind: EntryKind
  /** Number within the account, from 0 and without gaps. */
  readonly n: number
  readonly atMs: number
  readonly accountId: string
  readonly cardId: string
  /** Where the transaction is kept: the card it was first seen on and its first name. */
  readonly transaction: Place
  /** The original of a refund. */
  readonly linked: Place | null
  readonly eventKey: string
  readonly event: CardEvent | null
  readonly slot: string
  readonly answer: Answer | null
  readonly anomalies: readonly Anomaly[]
  readonly unmatched: UnmatchedCause | ''
  /** Ids of the enforced rules that matched. */
  readonly matchedRules: readonly string[]
  /** Ids of the shadow rules that matched. */
  readonly shadowRules: readonly string[]
  /** The reason that a person gave; '' where none did it. */
  readonly reason: string
  /** Who did it, such as `console NAME`; absent for the command line and where no person did it. */
  readonly origin?: string
  readonly changes: readonly Change[]
  /** Of an entry of this kind, which has no changes. */
  readonly notice?: Notice
}

export function entryOfStep(delivery: Delivery, before: View, step: Step): Entry {
  const { account, card, transaction, linked, eventKey } = step.after
  return {
    kind: delivery.said === null ? 'event' : 'said',
    n: before.account.entryCount,
    atMs: step.atMs,
    accountId: account.accountId,
    cardId: card.cardId,
    transaction: [transaction.cardId, transaction.transactionId],
    linked: linked === null ? null : [linked.cardId, linked.transactionId],
    eventKey,
    event: delivery.event,
    slot: delivery.slot,
    answer: step.answer,
    anomalies: step.anomalies,
    unmatched: step.unmatched,
    matchedRules: step.matchedRules,
    shadowRules: step.shadowRules,
    reason: '',
    changes: step.changes,
  }
}

/** The reason that a person gave, who that was, and the advice that it was about. */
export interface Motive {
  readonly reason: string
  /** '' for the command line. */
  readonly origin?: string
  readonly event: CardEvent | null
}

export const unexplained: Motive = { reason: '', event: null }

export function entryOfChanges(
  kind: 'tended' | 'operated' | 'booked',
  before: View,
  after: View,
  changes: readonly Change[],
  atMs: number,
  { reason, origin = '', event }: Motive = unexplained,
): Entry {
  const { account, card, transaction, linked, eventKey } = after
  return {
    kind,
    n: before.account.entryCount,
    atMs,
    accountId: account.accountId,
    cardId: card.cardId,
    transaction: [transaction.cardId, transaction.transactionId],
    linked: linked === null ? null : [linked.cardId, linked.transactionId],
    eventKey,
    event,
    slot: '',
    answer: null,
    anomalies: [],
    unmatched: '',
    matchedRules: [],
    shadowRules: [],
    reason,
    ...(origin === '' ? {} : { origin }),
    changes,
  }
}

export function entryOfNotice(
  notice: Notice,
  { reason, origin = '' }: Omit<Motive, 'event'>,
  n: number,
  atMs: number,
): Entry {
  const cardId = 'kind' in notice && notice.kind === 'card' ? notice.value : ''
  return {
    kind: 'notice',
    n,
    atMs,
    accountId: '',
    cardId,
    transaction: [cardId, ''],
    linked: null,
    eventKey: '',
    event: null,
    slot: '',
    answer: null,
    anomalies: [],
    unmatched: '',
    matchedRules: [],
    shadowRules: [],
    reason,
    ...(origin === '' ? {} : { origin }),
    changes: [],
    notice,
  }
}

/** The view that an entry was made in, and the one that it led to. */
export function replay(entry: Entry, book: Book): { before: View; after: View } {
  const card = book.card(entry.cardId) ?? noCard
  const transaction = recordAt(entry.transaction, book)
  const before: View = {
    account: book.account() ?? noAccount,
    card,
    others: otherCards(transaction, card, book),
    transaction,
    linked: entry.linked === null ? null : recordAt(entry.linked, book),
    joining: '',
    linking: '',
    forgotten: false,
    eventKey: entry.eventKey,
    otherContent: false,
    contentHash: '',
    event: entry.eventKey === '' ? null : book.event(entry.eventKey),
  }
  let after = before
  for (const change of entry.changes) after = apply(after, change, entry.atMs)
  return { before, after: stamp(before, after, entry.atMs, entry.kind) }
}

function recordAt([cardId, transactionId]: Place, book: Book): Transaction {
  const found = book.transaction(cardId, transactionId)
  return found === null || isAlias(found) ? newTransaction(cardId, transactionId) : found
}
