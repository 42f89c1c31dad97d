import { type RequestType, requestTypes } from '../domain/record/event.ts'

/** What the network was told about one event, or decided for itself. */
export interface Told {
  readonly eventId: string
  readonly requestType: RequestType
  readonly amountMinor: number
  readonly final: boolean | null
  /** An ask: whether it stands. An advice: whether it was acknowledged. */
  readonly accepted: boolean
  /** Less than asked for when the approval was partial. */
  readonly approvedMinor: number
  /** No answer came in time: the default decision applies. */
  readonly unanswered: boolean
  /** No answer ever came to some delivery of it, and none accepted it: the server may have it or not. */
  readonly uncertain: boolean
  readonly code: string
}

/** All that the network knows of one transaction, in the order in which it was told. */
export interface BelievedTransaction {
  readonly cardId: string
  readonly transactionId: string
  readonly originalTransactionId: string
  readonly told: Told[]
}

/** How the network means its amounts; the switches of pack.yaml must say the same. */
export const meanings = {
  incrementalAmount: ['delta', 'cumulative'],
  partialReversalAmount: ['released', 'remaining'],
  settlementRemainder: ['release', 'keep'],
} as const

export type AmountMeaning = {
  readonly [Name in keyof typeof meanings]: (typeof meanings)[Name][number]
}

export const usualMeaning: AmountMeaning = {
  incrementalAmount: 'delta',
  partialReversalAmount: 'released',
  settlementRemainder: 'release',
}

/** What the network believes to be held and posted. */
export interface BelievedMoney {
  /** Approved and not taken back, captured or not. */
  readonly authorizedMinor: number
  readonly heldMinor: number
  readonly settledMinor: number
  readonly refundedMinor: number
}

/** Written independently of the ledger's own rules, so that an audit compares two opinions. */
export function believedMoney(told: readonly Told[], meaning: AmountMeaning): BelievedMoney {
  const approved = { preauthorized: 0, authorized: 0 }
  let settledMinor = 0
  let refundedMinor = 0
  let released = 0
  let voided = false
  let closed = false
  const total = () => Math.max(approved.preauthorized, approved.authorized)
  for (const one of told) {
    if (!one.accepted) continue
    if (requestTypes[one.requestType] === 'ask') {
      const kind = one.requestType === 'PreAuthorization' ? 'preauthorized' : 'authorized'
      if (meaning.incrementalAmount === 'delta') approved[kind] += one.approvedMinor
      else
        approved[kind] = Math.max(approved[kind], one.approvedMinor + Math.min(released, total()))
    } else if (one.requestType === 'Settlement') {
      settledMinor += one.amountMinor
      closed ||= one.final ?? meaning.settlementRemainder === 'release'
    } else if (one.requestType === 'Reversal') {
      voided = true
    } else if (one.requestType === 'Refund') {
      refundedMinor += one.amountMinor
    } else if (meaning.partialReversalAmount === 'released') {
      released += one.amountMinor
    } else {
      released += Math.max(0, total() - released - one.amountMinor)
    }
  }
  const authorizedMinor = voided ? 0 : Math.max(0, total() - released)
  const heldMinor = closed ? 0 : Math.max(0, authorizedMinor - settledMinor)
  return { authorizedMinor, heldMinor, settledMinor, refundedMinor }
}

/** At most so many unanswered events are tried both ways; beyond that a difference is told, never hidden. */
const maxUncertain = 8

/**
 * Every state that a server may rightly be in when some events were never answered: each of these is
 * there or not. The first is what the network believes.
 */
export function possibleMoney(told: readonly Told[], meaning: AmountMeaning): BelievedMoney[] {
  const open = told.flatMap(({ uncertain }, at) => (uncertain ? [at] : [])).slice(0, maxUncertain)
  return Array.from({ length: 2 ** open.length }, (_, flips) => {
    const other = told.map((one, at) => {
      const flipped = open.includes(at) && (flips >> open.indexOf(at)) % 2 === 1
      if (!flipped) return one
      return { ...one, accepted: !one.accepted, approvedMinor: one.amountMinor }
    })
    return believedMoney(other, meaning)
  })
}
