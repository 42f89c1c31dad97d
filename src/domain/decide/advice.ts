import { apply } from '../change/apply.ts'
import { type Draft, nameTransaction, openDraft } from '../change/draft.ts'
import { isSafe, type View } from '../change/view.ts'
import { isMisdirected } from '../record/account.ts'
import type { CardEvent } from '../record/event.ts'
import type { UnmatchedCause } from '../record/event-record.ts'
import { isAsked, netAuthorized, type Transaction, uncovered } from '../record/transaction.ts'
import {
  type Anomaly,
  namingAnomalies,
  partialReversalAnomalies,
  refundAnomalies,
  reversalAnomalies,
  settlementAnomalies,
} from './anomaly.ts'
import { usesSwipe } from './ask.ts'
import { bookConsequences } from './consequence.ts'
import type { Decided } from './decision.ts'
import { isForeign, type Pack } from './pack.ts'

/** Books an advice and always acknowledges it; one that cannot be booked safely is kept for people. */
export function bookAdvice(event: CardEvent, draft: Draft, pack: Pack): Decided {
  const refusal = refusalOf(event, draft, pack)
  // A whole Reversal voids whatever its amount says, so its currency does not matter.
  const books = refusal === '' || (refusal === 'other currency' && event.requestType === 'Reversal')
  if (!books) return acknowledged(openDraft(draft.before, draft.atMs), [], refusal)
  const anomalies = [...book(event, draft, pack), ...namingAnomalies(draft.before)]
  // A charge could bring a sum back that was too large to be exact before it.
  const isExact = isSafe(draft.view)
  bookConsequences(draft, event, pack)
  if (!isExact || !isSafe(draft.view)) {
    return acknowledged(openDraft(draft.before, draft.atMs), [], 'too large')
  }
  return acknowledged(draft, anomalies, refusal)
}

function acknowledged(
  draft: Draft,
  anomalies: readonly Anomaly[],
  unmatched: UnmatchedCause | '',
): Decided {
  return {
    code: '000',
    approvedAmountMinor: null,
    ruleId: '',
    matchedRules: [],
    shadowRules: [],
    absorbed: false,
    anomalies,
    unmatched,
    changes: draft.changes,
    after: draft.view,
  }
}

function refusalOf(event: CardEvent, draft: Draft, pack: Pack): UnmatchedCause | '' {
  const { account, card } = draft.before
  if (card.cardId === '') return 'unknown card'
  if (isMisdirected(event, account)) return 'other organization'
  // The record of such an old advice may be gone, so a duplicate would be booked twice.
  const old = event.occurredAtMs !== 0 && event.occurredAtMs < draft.atMs - pack.retentionMs
  if (old) return 'too old'
  if (event.currency !== account.currency) return 'other currency'
  return ''
}

function book(event: CardEvent, draft: Draft, pack: Pack): Anomaly[] {
  nameTransaction(draft)
  switch (event.requestType) {
    case 'Settlement':
      return settle(event, draft, pack)
    case 'PartialReversal':
      return reversePart(event, draft, pack)
    case 'Reversal':
      draft.make({ type: 'voided' })
      return reversalAnomalies(event, draft.before.transaction)
    case 'Refund':
      return refund(event, draft, pack)
    default:
      throw new Error(`${event.requestType} is not an advice`)
  }
}

function settle(event: CardEvent, draft: Draft, pack: Pack): Anomaly[] {
  const { account, card, transaction } = draft.view
  const closes = event.final ?? pack.switches.settlementRemainder === 'release'
  // A capture of cash taken abroad is abroad also when it does not say so.
  const unsaid = event.merchant.country === '' && transaction.foreignCash
  const foreign = unsaid || isForeign(event, account)
  const amountMinor = event.amountMinor ?? 0
  draft.make({ type: 'captured', amountMinor, closes, foreign })
  if (amountMinor > 0 && usesSwipe(card, transaction)) draft.make({ type: 'swipeUsed' })
  return settlementAnomalies(transaction, draft.view.transaction)
}

function reversePart(event: CardEvent, draft: Draft, pack: Pack): Anomaly[] {
  const { transaction } = draft.view
  const amountMinor = event.amountMinor ?? 0
  if (pack.switches.partialReversalAmount === 'released') {
    draft.make({ type: 'reduced', amountMinor })
  } else if (isAsked(transaction)) {
    const reduction = Math.max(0, netAuthorized(transaction) - amountMinor)
    draft.make({ type: 'reduced', amountMinor: reduction })
  } else {
    const ceilingMinor = Math.min(transaction.ceilingMinor ?? amountMinor, amountMinor)
    draft.make({ type: 'capped', ceilingMinor })
  }
  return partialReversalAnomalies(event, transaction, draft.view.transaction, pack.switches)
}

function refund(event: CardEvent, draft: Draft, pack: Pack): Anomaly[] {
  const { linking } = draft.view
  if (linking !== '') draft.make({ type: 'linked', to: linking })
  const refunded = { type: 'refunded', amountMinor: event.amountMinor ?? 0 } as const
  const after = apply(draft.view, refunded, draft.atMs)
  const rise = uncovered(bearer(after)) - uncovered(bearer(draft.view))
  const day = pack.zone.of(draft.view.account.country).dayOf(draft.atMs)
  const grantMinor = Math.min(rise, leftToGrant(draft.view, day, pack))
  // First: what the refund alone would withhold may be more than is kept exactly.
  if (grantMinor > 0) draft.make({ type: 'granted', amountMinor: grantMinor, day })
  draft.make(refunded)
  return refundAnomalies(bearer(draft.view))
}

/** The transaction that a refund's uncovered part stands at. */
export function bearer({ transaction, linked }: View): Transaction {
  return transaction.linkedTo === '' || linked === null ? transaction : linked
}

function leftToGrant({ account }: View, day: number, { switches }: Pack): number {
  const perDayMinor = switches.uncoveredRefundPerDayMinor[account.currency] ?? 0
  const granted = account.grantDay === day ? account.grantedMinor : 0
  return Math.max(0, perDayMinor - granted)
}
