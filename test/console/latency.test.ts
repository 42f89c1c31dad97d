import { describe, expect, it } from 'vitest'
import { bucketOfMs, latencyBuckets, quantileMs } from '../../src/console/latency.ts'

function counted(times: readonly number[]): Uint32Array {
  const counts = new Uint32Array(latencyBuckets)
  for (const ms of times) counts[bucketOfMs(ms)]!++
  return counts
}

describe('quantiles of times', () => {
  it('are within five percent, from hundredths of a millisecond to ten seconds', () => {
    for (const ms of [0.02, 0.5, 3.3, 47, 399, 401, 9_000]) {
      const told = quantileMs(counted([ms]), 0.5)
      expect(Math.abs(told / ms - 1)).toBeLessThan(0.051)
    }
  })

  it('lie where so many times are at most as long', () => {
    const counts = counted([...Array.from({ length: 99 }, () => 2), 300])
    expect(quantileMs(counts, 0.99)).toBeLessThan(2.2)
    expect(quantileMs(counts, 0.999)).toBeGreaterThan(290)
    expect(quantileMs(counted([]), 0.99)).toBe(0)
  })
})
