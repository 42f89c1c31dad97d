import type { Breaker } from '../domain/decide/breaker.ts'
import { createBreakerCounts } from '../engine/notice/breaker-counts.ts'

/** A rule of the new pack that its breaker would have put into shadow, as if one instance served all. */
export interface RuleTrip {
  readonly ruleId: string
  /** From here on it only records. */
  readonly atMs: number
  readonly reason: string
}

/** By second: its asks, and then its declines by each breaker's rule, in the order of the breakers. */
export type BreakerSeconds = Map<number, number[]>

const secondMs = 1000

/** Counts what breakers look at; accounts come one after the other, so seconds come in any order. */
export function createSecondCounter(breakers: readonly Breaker[]) {
  const places = new Map(breakers.map(({ ruleId }, i) => [ruleId, i + 1]))
  const seconds: BreakerSeconds = new Map()
  return {
    seconds,
    note(atMs: number, ruleId: string): void {
      if (places.size === 0) return
      const second = Math.floor(atMs / secondMs)
      let counts = seconds.get(second)
      if (counts === undefined) {
        counts = new Array<number>(places.size + 1).fill(0)
        seconds.set(second, counts)
      }
      counts[0]!++
      const place = places.get(ruleId)
      if (place !== undefined) counts[place]!++
    },
  }
}

/** The rules that trip first, at the end of the same second; those after them depend on these. */
export function firstTrips(
  breakers: readonly Breaker[],
  parts: readonly BreakerSeconds[],
  known: readonly RuleTrip[],
): RuleTrip[] {
  const counts = createBreakerCounts(breakers)
  const tripped = new Set(known.map(({ ruleId }) => ruleId))
  const seconds = [...new Set(parts.flatMap((part) => [...part.keys()]))].sort((a, b) => a - b)
  // A share may be passed by an ask that is approved, too, as long as a decline counts.
  const byShare = breakers.filter(({ maxShare }) => maxShare < Infinity)
  const shareMs = Math.max(0, ...byShare.map(({ withinMs }) => withinMs))
  let lookUntilMs = 0
  for (const second of seconds) {
    const atMs = second * secondMs
    for (const part of parts) {
      const [asks = 0, ...declines] = part.get(second) ?? []
      counts.noteMany(
        asks,
        new Map(breakers.map(({ ruleId }, i) => [ruleId, declines[i] ?? 0])),
        atMs,
      )
      if (declines.some((count) => count > 0)) lookUntilMs = atMs + shareMs
    }
    if (atMs > lookUntilMs) continue
    const fresh = counts.past(atMs).filter(({ ruleId }) => !tripped.has(ruleId))
    if (fresh.length > 0) return fresh.map((trip) => ({ ...trip, atMs: atMs + secondMs }))
  }
  return []
}
