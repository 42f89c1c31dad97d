/** The bound above which a rule trips: it declines more than it was meant to, and only records from then on. */
export interface Breaker {
  readonly ruleId: string
  readonly withinMs: number
  /** It trips above so many declines; Infinity when the share says it. */
  readonly maxDeclines: number
  /** It trips above this share of all asks, of 10,000; Infinity when the number says it. */
  readonly maxShare: number
  /** A share of fewer asks than this says nothing. */
  readonly minAsks: number
}
