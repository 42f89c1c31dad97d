/** The only place that reads a clock; everything else is given the time. */
export interface Clock {
  /** Wall clock, in milliseconds since 1970. */
  nowMs(): number
  /** A clock that never goes back, for budgets and durations. */
  monoMs(): number
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monoMs: () => performance.now(),
}
