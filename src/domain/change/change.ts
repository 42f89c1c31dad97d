import type { Account } from '../record/account.ts'
import type { Card } from '../record/card.ts'
import type { Answer, EventRecord } from '../record/event-record.ts'
import type { NotedAsk } from '../record/familiarity.ts'
import type { HoldAdjustment } from '../record/hold-adjustment.ts'
import type { MerchantCounts } from '../record/merchant-counts.ts'
import type { Movement } from '../record/movement.ts'
import type { ResponseCode } from '../record/response-code.ts'
import type { CashKind } from '../record/transaction.ts'
import type { CountedNow, SpendEntry, WindowStates } from '../record/window-state.ts'

/**
 * Who caused an entry: the relay, the watchdog for it, the sweeper ('tended'), or a person. In `booked`
 * a person books an advice of the relay, which dates the transaction as the advice would have. A `notice`
 * belongs to no account.
 */
export const entryKinds = ['event', 'said', 'tended', 'operated', 'booked', 'notice'] as const

export type EntryKind = (typeof entryKinds)[number]

/** The lists of advices and findings that people should look at. */
export const worklists = ['unmatched', 'anomalies'] as const

export type Worklist = (typeof worklists)[number]

/** One thing that happened, in the past tense: it is applied, stored, logged and replayed. */
export type Change =
  | { readonly type: 'accountOpened'; readonly account: Account }
  /** An account that had none was given to an organization; '' where it keeps the country it has. */
  | { readonly type: 'adopted'; readonly organizationId: string; readonly country: string }
  | { readonly type: 'cardIssued'; readonly card: Card }
  | { readonly type: 'cardChanged'; readonly set: Partial<Card> }
  | { readonly type: 'transferred'; readonly amountMinor: number }
  /** Below zero: out of the account. */
  | { readonly type: 'moved'; readonly amountMinor: number; readonly movement: Movement }
  | { readonly type: 'named'; readonly name: string }
  | { readonly type: 'linked'; readonly to: string }
  | { readonly type: 'holdPlaced'; readonly hold: PlacedHold }
  | { readonly type: 'askAbsorbed'; readonly hold: PlacedHold }
  | {
      readonly type: 'holdUndone'
      readonly eventKey: string
      readonly heirKey: string
      /** When what is left expires; earlier releases let it last as long as with the ask. */
      readonly expiresAtMs?: number
    }
  | { readonly type: 'declined'; readonly code: ResponseCode }
  | {
      readonly type: 'captured'
      readonly amountMinor: number
      readonly closes: boolean
      readonly foreign: boolean
    }
  /** Below zero where what was taken back is said by a ceiling again. */
  | { readonly type: 'reduced'; readonly amountMinor: number }
  | { readonly type: 'capped'; readonly ceilingMinor: number }
  | { readonly type: 'voided' }
  | { readonly type: 'refunded'; readonly amountMinor: number }
  | { readonly type: 'granted'; readonly amountMinor: number; readonly day: number }
  /** With what was held until then; earlier releases did not say it. */
  | { readonly type: 'expired'; readonly releasedMinor?: number }
  | { readonly type: 'chargeDue'; readonly takenMinor: number; readonly pendingMinor: number }
  | { readonly type: 'chargeReturned'; readonly takenMinor: number; readonly pendingMinor: number }
  /** What was pending of a charge was taken later. */
  | { readonly type: 'chargeTaken'; readonly amountMinor: number }
  | { readonly type: 'swipeUsed' }
  | { readonly type: 'swipeReturned' }
  | { readonly type: 'unblockUsed'; readonly mid: string }
  | { readonly type: 'unblockReturned'; readonly mid: string }
  | { readonly type: 'cardTerminated'; readonly by: Card['terminatedBy'] }
  | { readonly type: 'cardRevived' }
  | {
      readonly type: 'spendCounted'
      readonly amountMinor: number
      readonly at: readonly CountedNow[]
    }
  | { readonly type: 'spendGivenBack'; readonly amountMinor: number }
  | {
      readonly type: 'attemptCounted'
      readonly amountMinor: number
      readonly at: readonly CountedNow[]
    }
  | { readonly type: 'askRemembered'; readonly mid: string; readonly amountMinor: number }
  | { readonly type: 'askSeen' }
  | { readonly type: 'merchantSeen'; readonly hash: string }
  | { readonly type: 'countrySeen'; readonly country: string }
  | { readonly type: 'askNoted'; readonly noted: NotedAsk }
  | { readonly type: 'windowsDropped'; readonly before: readonly CountedNow[] }
  /** By merchants, or other values, that are only roughly counted from now on; earlier releases dropped them. */
  | { readonly type: 'windowsCrowded'; readonly by: readonly CountedNow[] }
  | {
      readonly type: 'attentionSet'
      readonly of: 'transaction' | 'linked'
      readonly dueAtMs: number
    }
  | { readonly type: 'forgotten' }
  | { readonly type: 'handled'; readonly list: Worklist; readonly sortKey: string }
  | { readonly type: 'recorded'; readonly record: EventRecord }
  | { readonly type: 'claimed'; readonly slot: string }
  | { readonly type: 'unclaimed'; readonly slot: string }
  | { readonly type: 'answerChanged'; readonly answer: Answer }
  /** What a pack looks at and did not count before was told by the log. */
  | ({ readonly type: 'seeded' } & Seed)
  /** The records were made anew from the log; the entry dates the account, also back from the future. */
  | { readonly type: 'repaired' }

export interface PlacedHold {
  readonly eventKey: string
  readonly preauthorized: boolean
  readonly addedMinor: number
  /** The part that a ceiling, said by a reversal before the ask, takes back at once. */
  readonly reversedMinor: number
  readonly cash: CashKind
  readonly foreign: boolean
  /** Cash abroad, to be kept with the ask; absent for all else, and in what earlier releases wrote. */
  readonly abroad?: true
  readonly expiresAtMs: number
  /** Its transaction is of another kind, so its own is kept with the ask; absent where they are the same, and in what earlier releases wrote. */
  readonly otherKind?: true
  /** The expiry is kept with the ask too; absent in what earlier releases wrote. */
  readonly lasts?: true
  readonly unblockedMid: string
  /** Absent where there is none. */
  readonly adjustment?: HoldAdjustment
  /** What later totals had added already that this ask has of its own now; absent for nothing, and in what earlier releases wrote. */
  readonly overtakenMinor?: number
  /** With cumulative amounts the sum of its kind that the ask alone says; absent with others, and in what earlier releases wrote. */
  readonly totalMinor?: number
}

/** What counts as if it had always been counted: it replaces what is there under the same name. */
export interface Seed {
  /** Windows of the account; one without a bucket goes. */
  readonly account: WindowStates
  readonly card: WindowStates
  /** All merchants of the card, each with the windows that are told; absent in older entries. */
  readonly merchants?: readonly MerchantCounts[]
  /** What the card remembers for facts. */
  readonly remembered: Partial<Card>
  /** Where the spend of the transaction stands; null for no transaction. */
  readonly spend: readonly SpendEntry[] | null
}
