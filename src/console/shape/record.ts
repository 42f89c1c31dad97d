/** What the console tells its pages. Only types: browsers have no part of this file. */

import type { Balances, DecisionList } from './decision.ts'

export interface FoundThing {
  readonly kind:
    | 'card'
    | 'account'
    | 'customer'
    | 'verification'
    | 'organization'
    | 'transaction'
    | 'event'
  /** The path of its page; '' when it has none. */
  readonly href: string
  readonly id: string
  readonly about: string
}

export interface FoundThings {
  readonly things: readonly FoundThing[]
  /** Of which kinds there are more than are among them. */
  readonly more: readonly FoundThing['kind'][]
  readonly looked: number
  readonly lookedToMs: number
  readonly whole: boolean
}

export interface ShownHold {
  readonly cardId: string
  readonly transactionId: string
  readonly heldMinor: number
  readonly expiresAtMs: number
}

export interface ShownCard {
  readonly cardId: string
  readonly accountId: string
  readonly customerId: string
  readonly type: string
  readonly status: string
  readonly terminatedBy: string
  readonly expiry: string
  readonly replaces: string
  readonly dailyLimitMinor: number | null
  readonly transactionLimitMinor: number | null
  readonly usedTodayMinor: number
  readonly swipesLeft: number | null
  readonly lists: Readonly<Record<string, readonly string[]>>
  readonly blockedUntilMs: number | null
}

export interface HoldsShown {
  readonly holds: readonly ShownHold[]
  /** False when the account holds more than these. */
  readonly allHolds: boolean
}

export interface CardShown extends HoldsShown {
  readonly card: ShownCard
  readonly balances: Balances
  readonly recent: DecisionList
}

export interface AccountShown extends HoldsShown {
  readonly accountId: string
  readonly organizationId: string
  readonly country: string
  readonly openingMinor: number
  readonly transfersMinor: number
  readonly chargesTakenMinor: number
  readonly chargesPendingMinor: number
  readonly balances: Balances
  readonly cardIds: readonly string[]
  /** False when it has more cards than these. */
  readonly allCards: boolean
  readonly recent: DecisionList
}

export interface LifeStep {
  readonly atMs: number
  readonly cursor: string
  readonly kind: string
  readonly what: string
  readonly amountMinor: number | null
  readonly code: string
  readonly decidedBy: string
  readonly reason: string
  /** After it; null where nobody can tell. */
  readonly sums: LifeSums | null
}

export interface LifeSums {
  readonly authorizedMinor: number
  readonly heldMinor: number
  readonly settledMinor: number
  readonly reversedMinor: number
  readonly refundedMinor: number
  readonly withheldMinor: number
}

export interface TransactionShown {
  readonly cardId: string
  readonly transactionId: string
  readonly accountId: string
  readonly currency: string
  readonly state: string
  readonly expiresAtMs: number
  readonly sums: LifeSums
  readonly steps: readonly LifeStep[]
  readonly whole: boolean
}

export interface WorkRow {
  readonly key: string
  readonly list: string
  readonly atMs: number
  readonly what: string
  /** The names of what was found, as the command line and metrics have them. */
  readonly codes: string
  readonly requestType: string
  readonly eventId: string
  readonly cardId: string
  readonly accountId: string
  readonly transactionId: string
  readonly amountMinor: number | null
  readonly currency: string
  readonly merchant: string
}

export interface WorkShown {
  readonly rows: readonly WorkRow[]
  readonly next: string
}
