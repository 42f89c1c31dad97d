import type { Step } from '../../domain/decide/answer.ts'
import type { Breaker } from '../../domain/decide/breaker.ts'

/** What one instance has seen within the time of a breaker when it is past its bound. */
interface Trip {
  readonly ruleId: string
  readonly reason: string
}

export interface BreakerCounts {
  /** An ask that was decided for the first time. */
  note(step: Step, nowMs: number): void
  /** Many asks at once, with the declines among them by rule. */
  noteMany(asked: number, declined: ReadonlyMap<string, number>, nowMs: number): void
  /** The breakers that are past their bound now. */
  past(nowMs: number): Trip[]
  /** What this rule has declined counts no longer; of all others it does. */
  forget(ruleId: string): void
}

/** A breaker forgets in steps of this part of its time. */
const parts = 10

/** A count within the last so many milliseconds. */
interface Ring {
  readonly partMs: number
  readonly counts: Int32Array
  /** The newest part; those that it passes begin anew. */
  newest: number
}

function createRing(withinMs: number): Ring {
  return { partMs: withinMs / parts, counts: new Int32Array(parts), newest: 0 }
}

function turn(ring: Ring, nowMs: number): number {
  const part = Math.max(ring.newest, Math.floor(nowMs / ring.partMs))
  for (let passed = Math.max(ring.newest + 1, part - parts + 1); passed <= part; passed++) {
    ring.counts[passed % parts] = 0
  }
  ring.newest = part
  return part % parts
}

function add(ring: Ring, nowMs: number, count = 1): void {
  ring.counts[turn(ring, nowMs)]! += count
}

function sumOf(ring: Ring, nowMs: number): number {
  turn(ring, nowMs)
  return ring.counts.reduce((total, count) => total + count, 0)
}

/** Counts of this instance, of one pack; as much memory as it has breakers, whatever comes. */
export function createBreakerCounts(breakers: readonly Breaker[]): BreakerCounts {
  // Asks are counted once for all breakers of the same time.
  const asks = new Map(breakers.map(({ withinMs }) => [withinMs, createRing(withinMs)]))
  const declines = new Map(breakers.map(({ ruleId, withinMs }) => [ruleId, createRing(withinMs)]))
  return {
    note({ answer }, nowMs) {
      for (const ring of asks.values()) add(ring, nowMs)
      const ring = answer.ruleId === '' ? undefined : declines.get(answer.ruleId)
      if (ring !== undefined) add(ring, nowMs)
    },
    noteMany(asked, declined, nowMs) {
      for (const ring of asks.values()) add(ring, nowMs, asked)
      for (const [ruleId, count] of declined) {
        const ring = declines.get(ruleId)
        if (ring !== undefined) add(ring, nowMs, count)
      }
    },
    past: (nowMs) =>
      breakers.flatMap((breaker) => {
        const { ruleId, withinMs } = breaker
        const declined = sumOf(declines.get(ruleId)!, nowMs)
        const reason =
          declined === 0 ? '' : reasonOf(breaker, declined, sumOf(asks.get(withinMs)!, nowMs))
        return reason === '' ? [] : [{ ruleId, reason }]
      }),
    forget: (ruleId) => void declines.get(ruleId)?.counts.fill(0),
  }
}

function reasonOf(breaker: Breaker, declined: number, asked: number): string {
  const { maxDeclines, maxShare, minAsks, withinMs } = breaker
  const within = `within ${withinMs / 1000} s`
  if (declined > maxDeclines) return `declined ${declined} asks ${within}, more than ${maxDeclines}`
  if (asked < minAsks || declined * 10_000 <= asked * maxShare) return ''
  return `declined ${declined} of ${asked} asks ${within}, more than ${maxShare / 100}%`
}
