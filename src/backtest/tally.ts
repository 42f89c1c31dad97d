import type { RuleTrip } from './breaker-trip.ts'
import type { Fate } from './replay/fate.ts'

/** The result of a backtest as plain data: threads add theirs together, and reports keep it. */
export interface DecisionTally {
  entries: number
  /** When the oldest entry was written; 0 for an empty log. */
  firstMs: number
  accounts: number
  /** Asks that the engine decided within the time of the backtest. */
  asks: number
  /** Accounts whose first entries the log no longer has. */
  cutAccounts: number
  /** Asks of these accounts from before `exactFromMs`, when their state is only a guess, or by rules on windows over several cards. */
  inexactAsks: number
  /** Those of them that the old pack answers otherwise than the log. */
  inexactDisagreements: number
  exactFromMs: number
  /** Asks by the version of the pack that decided them. */
  versions: Record<string, VersionTally>
  /** Other asks that the old pack answers otherwise than the log. */
  disagreements: number
  disagreementRows: Disagreement[]
  changes: Record<ChangeKind, ChangeTally>
  /** Rows beyond the bound are counted and not listed. */
  rows: ChangedRow[]
  rules: Record<string, RuleTally>
  /** By day in UTC. */
  days: Record<string, DayTally>
  cards: string[]
  merchants: string[]
  /** The rules of the new pack that its breakers trip, the first first. */
  trips: readonly RuleTrip[]
}

/** Minor units by currency. */
export type Amounts = Record<string, number>

interface VersionTally {
  asks: number
  disagreements: number
}

export const changeKinds = ['newlyDeclined', 'newlyApproved', 'otherCode', 'otherAmount'] as const
export type ChangeKind = (typeof changeKinds)[number]

export interface ChangeTally {
  asks: number
  amounts: Amounts
  /** Asks of good customers: settled, and never refunded or reversed. */
  good: number
  goodAmounts: Amounts
}

export interface RuleTally {
  /** Asks that the rule matched under each pack, enforced and in shadow. */
  oldMatched: number
  oldShadow: number
  newMatched: number
  newShadow: number
  newlyDeclined: number
  newlyApproved: number
  good: number
  amounts: Amounts
  cards: string[]
  merchants: string[]
}

export interface DayTally {
  asks: number
  oldDeclined: number
  newDeclined: number
}

interface Disagreement {
  readonly atMs: number
  readonly eventId: string
  readonly cardId: string
  readonly version: string
  readonly logged: Said
  readonly replayed: Said
}

export interface Said {
  readonly code: string
  readonly ruleId: string
  readonly approvedAmountMinor: number | null
}

export interface ChangedRow {
  readonly kind: ChangeKind
  readonly atMs: number
  readonly eventId: string
  readonly requestType: string
  readonly accountId: string
  readonly cardId: string
  readonly transactionId: string
  readonly amountMinor: number
  readonly currency: string
  readonly mid: string
  readonly mcc: string
  readonly country: string
  readonly old: Said
  readonly next: Said
  readonly fate: Readonly<Fate>
  readonly good: boolean
}

export const maxRows = 50_000
export const maxDisagreementRows = 1000
/** Stands for a rule where earlier decisions that differ left another balance or limit. */
const byConsequence = '(balance or limit)'

export function newDecisionTally(): DecisionTally {
  return {
    entries: 0,
    firstMs: 0,
    accounts: 0,
    asks: 0,
    cutAccounts: 0,
    inexactAsks: 0,
    inexactDisagreements: 0,
    exactFromMs: 0,
    versions: {},
    disagreements: 0,
    disagreementRows: [],
    changes: {
      newlyDeclined: newChange(),
      newlyApproved: newChange(),
      otherCode: newChange(),
      otherAmount: newChange(),
    },
    rows: [],
    // A rule may be called constructor, which every other object has from the start.
    rules: Object.create(null),
    days: {},
    cards: [],
    merchants: [],
    trips: [],
  }
}

function newChange(): ChangeTally {
  return { asks: 0, amounts: {}, good: 0, goodAmounts: {} }
}

export function ruleOf(tally: DecisionTally, id: string): RuleTally {
  tally.rules[id] ??= {
    oldMatched: 0,
    oldShadow: 0,
    newMatched: 0,
    newShadow: 0,
    newlyDeclined: 0,
    newlyApproved: 0,
    good: 0,
    amounts: {},
    cards: [],
    merchants: [],
  }
  return tally.rules[id]
}

/** The rule behind a change: the one that declines where the other pack approves. */
export function causeOf({ kind, old, next }: ChangedRow): string {
  const ruleId = kind === 'newlyApproved' ? old.ruleId : next.ruleId || old.ruleId
  return ruleId || byConsequence
}

export function addAmount(amounts: Amounts, currency: string, minor: number): void {
  amounts[currency] = (amounts[currency] ?? 0) + minor
}
