import { type CardEvent, isAsk } from '../domain/event.ts'

/** What the network was told about one event, or decided for itself. */
export interface Told {
  readonly eventId: string
  readonly requestType: CardEvent['requestType']
  readonly amountMinor: number
  readonly final: boolean | null
  /** An ask: whether it stands. An advice: whether it was acknowledged. */
  readonly accepted: boolean
  /** Less than asked for when the approval was partial. */
  readonly approvedMinor: number
  /** No answer came in time: the default decision applies, and ours may differ for a while. */
  readonly unanswered: boolean
  readonly code: string
}

/** All that the network knows of one transaction, in the order in which it was told. */
export interface BelievedTransaction {
  readonly cardId: string
  readonly transactionId: string
  readonly originalTransactionId: string
  readonly told: Told[]
}

/** How the network means its amounts; must be what pack.yaml says. */
export interface Meaning {
  readonly incrementalAmount: 'delta' | 'cumulative'
  readonly partialReversalAmount: 'released' | 'remaining'
  readonly settlementRemainder: 'release' | 'keep'
}

/** What the network believes that we hold and have posted. */
export interface BelievedMoney {
  readonly heldMinor: number
  readonly settledMinor: number
  readonly refundedMinor: number
  /** Asks without an answer: what a server that died before answering may hold too much. */
  readonly uncertainMinor: number
}

/** In the network's own words, not in those of our ledger: this is the other opinion. */
export function believedMoney(
  { told }: Pick<BelievedTransaction, 'told'>,
  meaning: Meaning,
): BelievedMoney {
  let authorizedMinor = 0
  let settledMinor = 0
  let refundedMinor = 0
  let uncertainMinor = 0
  let released = 0
  let voided = false
  let closed = false
  for (const one of told) {
    if (isAsk(one as unknown as CardEvent)) {
      if (one.unanswered && !one.accepted) uncertainMinor += one.amountMinor
      if (!one.accepted) continue
      if (meaning.incrementalAmount === 'delta') authorizedMinor += one.approvedMinor
      else authorizedMinor = Math.max(authorizedMinor, one.approvedMinor + released)
      continue
    }
    if (!one.accepted) continue
    if (one.requestType === 'Settlement') {
      settledMinor += one.amountMinor
      closed ||= one.final ?? meaning.settlementRemainder === 'release'
    } else if (one.requestType === 'Reversal') {
      voided = true
    } else if (one.requestType === 'Refund') {
      refundedMinor += one.amountMinor
    } else if (meaning.partialReversalAmount === 'released') {
      released += one.amountMinor
    } else {
      released += Math.max(0, authorizedMinor - released - one.amountMinor)
    }
  }
  const open = voided || closed ? 0 : Math.max(0, authorizedMinor - released - settledMinor)
  return { heldMinor: open, settledMinor, refundedMinor, uncertainMinor }
}
