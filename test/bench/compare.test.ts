import { describe, expect, it } from 'vitest'
// @ts-expect-error The benchmarks are plain JavaScript.
import { ratioOf } from '../../bench/compare.mjs'

const own = (sample: number) => sample

describe('a comparison of two builds', () => {
  it('finds a difference that every pair shows, whatever the machine does between pairs', () => {
    const pairs = Array.from({ length: 20 }, (_, i) => {
      const before = 100 * (1 + (i % 5))
      return { before, after: before * (0.78 + 0.002 * (i % 7)) }
    })
    const { ratio, low, high } = ratioOf(pairs, own)
    expect(ratio).toBeCloseTo(0.786, 2)
    expect(high).toBeLessThan(0.8)
    expect(low).toBeGreaterThan(0.77)
  })

  it('says nothing of a difference within the noise', () => {
    const pairs = Array.from({ length: 20 }, (_, i) => ({
      before: 100,
      after: 90 + ((i * 7) % 21),
    }))
    const { low, high } = ratioOf(pairs, own)
    expect(low).toBeLessThan(1)
    expect(high).toBeGreaterThan(1)
  })
})
