/** What the console tells its pages. Only types: browsers have no part of this file. */

import type { Looked } from './decision.ts'

export interface RuleShown {
  readonly id: string
  readonly mode: string
  /** '' where it declines nothing. */
  readonly code: string
  readonly reason: string
  /** All that it does where it matches. */
  readonly does: string
  /** Whom it looks at; '' for all. */
  readonly scopes: string
  readonly why: string
  readonly owner: string
  readonly place: string
  readonly when: string
  readonly unless: string
  readonly on: readonly string[]
  readonly rollout: string
  readonly breaker: string
  readonly expires: string
  readonly tripped: string
  /** Until then it only records, because what it looks at is not full; null when it is. */
  readonly seedingUntilMs: number | null
  readonly covered: string
  readonly spans: readonly {
    readonly startMs: number
    readonly matched: number
    readonly declined: number
    readonly shadow: number
  }[]
}

export interface RulesShown {
  readonly name: string
  readonly version: string
  readonly inUse: string
  readonly problem: string
  readonly rules: readonly RuleShown[]
  readonly lists: readonly { readonly name: string; readonly size: number }[]
  readonly blocks: readonly {
    readonly kind: string
    readonly value: string
    readonly sinceMs: number
    readonly untilMs: number
    readonly reason: string
  }[]
  readonly tests: { readonly passed: number; readonly failed: number; readonly covered: number }
  readonly reports: readonly { readonly name: string; readonly atMs: number }[]
}

export interface ListShown {
  readonly name: string
  readonly size: number
  readonly values: readonly string[]
}

export interface ChangeRow {
  readonly cursor: string
  readonly atMs: number
  readonly who: string
  readonly what: string
  readonly cardId: string
  readonly accountId: string
  readonly why: string
}

export interface ChangesShown extends Looked {
  readonly rows: readonly ChangeRow[]
}

export interface ChangeShown {
  readonly note: string
  readonly fields: readonly {
    readonly name: string
    readonly before: string
    readonly after: string
  }[]
}
