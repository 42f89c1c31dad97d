import { type Account, availableMinor, isMisdirected } from '../record/account.ts'
import type { Card } from '../record/card.ts'
import type { CardEvent } from '../record/event.ts'
import type { EventRecord } from '../record/event-record.ts'
import type { Fresh } from '../record/fresh.ts'
import { type Transaction, uncovered } from '../record/transaction.ts'

/** The records that one event can touch. */
export interface View {
  readonly account: Account
  readonly card: Card
  /** The other cards that the transaction's spend stands on, when some were issued for each other. */
  readonly others: readonly Card[]
  readonly transaction: Transaction
  /** The original of a refund. */
  readonly linked: Transaction | null
  /** The name that the event has for the transaction, when it is a new one; '' when not. */
  readonly joining: string
  /** The original that the event links its refund to, when the link is new; '' when not. */
  readonly linking: string
  /** The transaction's time is over: its record goes. */
  readonly forgotten: boolean
  /** The key of the event's record: its id, and its content hash where another event has that id. */
  readonly eventKey: string
  readonly otherContent: boolean
  readonly contentHash: string
  readonly event: EventRecord | null
}

export function copyView(v: View): Fresh<View> {
  return {
    account: v.account,
    card: v.card,
    others: v.others,
    transaction: v.transaction,
    linked: v.linked,
    joining: v.joining,
    linking: v.linking,
    forgotten: v.forgotten,
    eventKey: v.eventKey,
    otherContent: v.otherContent,
    contentHash: v.contentHash,
    event: v.event,
  }
}

/** The card of another organization is none to who asked: nothing of it changes. */
export function knowsCard({ account, card }: View, event: CardEvent): boolean {
  return card.cardId !== '' && !isMisdirected(event, account)
}

/** Whether every figure is still an exact integer. */
export function isSafe({ account, transaction, linked }: View): boolean {
  return (
    Number.isSafeInteger(account.postedMinor) &&
    Number.isSafeInteger(account.heldMinor) &&
    Number.isSafeInteger(account.withheldMinor) &&
    Number.isSafeInteger(availableMinor(account)) &&
    Number.isSafeInteger(account.chargesTakenMinor) &&
    Number.isSafeInteger(account.chargesPendingMinor) &&
    hasSafeSums(transaction) &&
    (linked === null || hasSafeSums(linked))
  )
}

function hasSafeSums(t: Transaction): boolean {
  return (
    Number.isSafeInteger(t.preauthorizedMinor) &&
    Number.isSafeInteger(t.authorizedMinor) &&
    Number.isSafeInteger(t.reversedMinor) &&
    Number.isSafeInteger(t.settledMinor) &&
    Number.isSafeInteger(t.refundedMinor) &&
    Number.isSafeInteger(t.linkedCreditMinor) &&
    Number.isSafeInteger(t.grantedMinor) &&
    Number.isSafeInteger(uncovered(t)) &&
    Number.isSafeInteger(t.chargeTakenMinor) &&
    Number.isSafeInteger(t.chargePendingMinor)
  )
}
