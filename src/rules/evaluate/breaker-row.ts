import type { Breaker } from '../../domain/decide/breaker.ts'

/** A breaker without its rule; 0 stands for no bound, because JSON has no Infinity. */
export type BreakerRow = readonly [
  withinMs: number,
  declines: number,
  share: number,
  minAsks: number,
]

export function writeBreaker(breaker: Breaker | null): BreakerRow | null {
  if (breaker === null) return null
  const { withinMs, maxDeclines, maxShare, minAsks } = breaker
  const bound = (most: number) => (Number.isFinite(most) ? most : 0)
  return [withinMs, bound(maxDeclines), bound(maxShare), minAsks]
}

export function readBreaker(ruleId: string, row: BreakerRow | null): Breaker | null {
  if (row === null) return null
  const [withinMs, declines, share, minAsks] = row
  return {
    ruleId,
    withinMs,
    maxDeclines: declines || Infinity,
    maxShare: share || Infinity,
    minAsks,
  }
}
