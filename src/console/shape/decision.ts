/** What the console tells its pages. Only types: browsers have no part of this file. */

interface ShownMerchant {
  readonly mid: string
  readonly mcc: string
  readonly name: string
  readonly city: string
  readonly country: string
}

export interface Money {
  readonly minor: number
  readonly currency: string
}

/** One line of the list of decisions. */
export interface DecisionRow {
  readonly cursor: string
  readonly atMs: number
  readonly kind: string
  readonly requestType: string
  readonly eventId: string
  readonly cardId: string
  readonly accountId: string
  readonly transactionId: string
  readonly amountMinor: number | null
  readonly currency: string
  readonly merchant: ShownMerchant
  readonly code: string
  readonly reason: string
  readonly decidedBy: string
  readonly cause: string
  readonly ruleId: string
  readonly shadowRules: readonly string[]
  readonly unmatched: string
  readonly anomalies: readonly string[]
  /** Told again, without a decision. */
  readonly repeated: boolean
  readonly totalMs: number | null
}

/** What was found, and how far was looked. */
export interface Looked {
  readonly looked: number
  readonly lookedToMs: number
  /** Where to go on; '' when there is no more. */
  readonly next: string
}

export interface DecisionList extends Looked {
  readonly rows: readonly DecisionRow[]
}

export interface LiveDecisions {
  readonly rows: readonly DecisionRow[]
  /** More came in than are followed one by one. */
  readonly skipped: boolean
}

export interface ShownTiming {
  readonly arrivalMs: number
  readonly queueMs: number | null
  readonly decideMs: number | null
  readonly commitMs: number | null
  readonly totalMs: number
  readonly duplicate: boolean
}

export interface ShownPart {
  readonly text: string
  readonly holds: boolean
  readonly values: readonly { readonly name: string; readonly value: string }[]
  readonly joined: '' | 'and' | 'or' | 'not'
  readonly parts: readonly ShownPart[]
}

export interface ShownRuleLook {
  readonly id: string
  readonly mode: string
  /** What it does to this ask. */
  readonly says: string
  readonly why: string
  readonly isAsleep: boolean
  readonly matched: boolean
  readonly declines: boolean
  readonly parts: readonly ShownPart[]
  readonly unless: ShownPart | null
}

export interface ShownExplanation {
  readonly code: string
  readonly reason: string
  readonly check: string
  readonly ruleId: string
  readonly rulesVersion: string
  readonly checks: readonly {
    readonly name: string
    readonly code: string
    readonly outcome: 'passed' | 'failed' | 'allowed' | 'not asked'
  }[]
  readonly rules: readonly ShownRuleLook[]
  /** Emergency blocks that it meets. */
  readonly blocks: readonly {
    readonly kind: string
    readonly value: string
    readonly reason: string
  }[]
  /** Whether it is approved from memory while the store is away; null where the pack allows none. */
  readonly standsIn: boolean | null
  readonly funds: { readonly holds: string; readonly available: string } | null
}

export interface Balances {
  readonly currency: string
  readonly postedMinor: number
  readonly heldMinor: number
  readonly withheldMinor: number
  readonly availableMinor: number
}

export interface ShownWindow {
  readonly name: string
  readonly over: string
  readonly scope: string
  readonly beforeMinor: number
  readonly afterMinor: number
  readonly beforeCount: number
  readonly afterCount: number
}

export interface DecisionShown {
  readonly row: DecisionRow
  readonly event: Readonly<Record<string, string | number | boolean | null>>
  readonly rulesVersion: string
  /** By the records of then; null where nobody can tell them any more. */
  readonly then: ShownExplanation | null
  /** By the records and the pack of now; null where the card is gone. */
  readonly now: ShownExplanation | null
  /** Why `then` is missing or not exact; '' when it is. */
  readonly note: string
  readonly before: Balances | null
  readonly after: Balances | null
  readonly windows: readonly ShownWindow[]
  readonly timing: ShownTiming | null
  readonly deliveries: readonly ShownTiming[]
  readonly claims: number
  readonly changes: readonly string[]
}
