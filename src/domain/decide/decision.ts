import type { Change } from '../change/change.ts'
import type { View } from '../change/view.ts'
import type { UnmatchedCause } from '../record/event-record.ts'
import type { ResponseCode } from '../record/response-code.ts'
import type { Anomaly } from './anomaly.ts'

/** A decision, and what happened with it; whoever asked applies the changes. */
export interface Decided {
  readonly code: ResponseCode
  readonly approvedAmountMinor: number | null
  readonly ruleId: string
  readonly matchedRules: readonly string[]
  readonly shadowRules: readonly string[]
  /** Declined because its reversal came first; what it adds stands in the sums all the same. */
  readonly absorbed: boolean
  readonly anomalies: readonly Anomaly[]
  readonly unmatched: UnmatchedCause | ''
  readonly changes: readonly Change[]
  /** The view with all changes applied. */
  readonly after: View
}
