import type { Change } from '../change/change.ts'
import type { View } from '../change/view.ts'
import type { UnmatchedCause } from '../record/event-record.ts'
import type { ResponseCode } from '../record/response-code.ts'
import type { Anomaly } from './anomaly.ts'

/** A decision and the changes that it makes, which the caller commits. */
export interface Decided {
  readonly code: ResponseCode
  readonly approvedAmountMinor: number | null
  readonly ruleId: string
  readonly matchedRules: readonly string[]
  readonly shadowRules: readonly string[]
  /** The ask was declined because its reversal came first; its addition stands in the sums. */
  readonly absorbed: boolean
  readonly anomalies: readonly Anomaly[]
  readonly unmatched: UnmatchedCause | ''
  readonly changes: readonly Change[]
  /** The view with all changes applied. */
  readonly after: View
}
