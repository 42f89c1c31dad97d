import { describe, expect, it } from 'vitest'
import {
  estimateValues,
  isSketch,
  type ValueSketch,
  withoutValue,
  withValue,
} from '../../../src/domain/record/value-sketch.ts'

function sketchOf(values: readonly string[], bucket = 1000): ValueSketch {
  return values.reduce<ValueSketch | undefined>(
    (sketch, value) => withValue(sketch, value, bucket),
    undefined,
  )!
}

const named = (count: number, prefix = 'V') =>
  Array.from({ length: count }, (_, i) => `${prefix}${i}`)

describe('a sketch', () => {
  it('of one value tells one, and none once it is taken out', () => {
    const sketch = sketchOf(['V'])
    expect(isSketch(sketch)).toBe(true)
    expect(estimateValues(sketch, 1000, 1000, 64)).toBe(1)
    expect(estimateValues(withValue(sketch, 'V', 1000), 1000, 1000, 64)).toBe(1)
    expect(estimateValues(withoutValue(sketch, 'V'), 1000, 1000, 64)).toBe(0)
    expect(withoutValue(sketch, 'another')).toBe(sketch)
  })

  it('keeps the newest bucket of a value, in whatever order it hears of them', () => {
    const sketch = withValue(withValue(sketchOf(['W'], 1005), 'V', 1003), 'V', 1001)
    const told = [1001, 1003, 1005].map((bucket) => estimateValues(sketch, bucket, bucket, 0))
    expect(told).toEqual([0, 1, 1])
    const risen = withValue(sketchOf(['V'], 1001), 'V', 1003)
    expect([1001, 1003].map((bucket) => estimateValues(risen, bucket, bucket, 0))).toEqual([0, 1])
    expect(estimateValues(sketch, 1001, 1004, 0)).toBe(1)
  })

  it('forgets bucket by bucket, however many come after', () => {
    let sketch = sketchOf(['V1000'])
    for (let bucket = 1001; bucket < 1500; bucket++) {
      sketch = withValue(sketch, `V${bucket}`, bucket)
      // Two of sixty values may share a cell.
      const told = estimateValues(sketch, bucket - 59, bucket, 0)
      expect(Math.abs(told - Math.min(60, bucket - 999))).toBeLessThanOrEqual(6)
    }
    expect(estimateValues(sketch, 1499, 1499, 0)).toBe(1)
    expect(estimateValues(withValue(sketch, 'V', 9000), 8000, 9000, 0)).toBe(1)
  })

  it('forgets years, of which there are few, too', () => {
    const sketch = withValue(withValue(sketchOf(['V'], 56), 'W', 57), 'X', 57)
    expect([56, 57].map((bucket) => estimateValues(sketch, bucket, bucket, 0))).toEqual([1, 2])
    expect(estimateValues(withValue(sketch, 'Y', 130), 70, 130, 0)).toBe(1)
  })

  it('begins anew in buckets of another length', () => {
    const sketch = withValue(sketchOf(named(100), 29_000_000), 'V', 20_000)
    expect(sketch).toMatchObject({ newest: 20_000 })
    expect(estimateValues(sketch, 20_000, 20_000, 0)).toBe(1)
  })

  it('is none with other characters, or another number of cells', () => {
    const { newest, cells } = sketchOf(['V'])
    expect(isSketch({ newest, cells: cells.slice(1) })).toBe(false)
    expect(isSketch({ newest, cells: `"${cells.slice(1)}` })).toBe(false)
    expect(isSketch({ newest: 0.5, cells })).toBe(false)
  })

  it('tells many values to some percent, and never runs out of cells', () => {
    for (const count of [100, 300, 1000, 2000]) {
      const told = named(40, 'seed').map((seed) =>
        estimateValues(sketchOf(named(count, seed)), 1000, 1000, 0),
      )
      const mean = told.reduce((sum, each) => sum + each, 0) / told.length
      expect(Math.abs(mean / count - 1)).toBeLessThan(0.02)
    }
    expect(Number.isFinite(estimateValues(sketchOf(named(100_000)), 1000, 1000, 64))).toBe(true)
  })
})
