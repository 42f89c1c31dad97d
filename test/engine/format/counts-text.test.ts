import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { MerchantCounts } from '../../../src/domain/record/merchant-counts.ts'
import {
  countAt,
  dropBefore,
  type OpenStates,
  takeFrom,
} from '../../../src/domain/record/window-state.ts'
import { unwritten, writeCountsText } from '../../../src/engine/format/counts-text.ts'
import {
  decodeMerchantCounts,
  encodeMerchantCounts,
} from '../../../src/engine/format/window-codec.ts'

const names = ['day', 'hour', 'spread', 'a"b']

/** Time goes on by steps; now and then an older bucket is given back, or a window is emptied. */
const step = fc.record({
  ahead: fc.integer({ min: 0, max: 3 }),
  name: fc.constantFrom(...names),
  does: fc.constantFrom('count', 'count', 'count', 'give back', 'drop'),
  back: fc.integer({ min: 0, max: 6 }),
  sumMinor: fc.integer({ min: 0, max: 20_000_000 }),
})

it('a record whose text was taken over from the one before says what one written anew says', () => {
  let takenOver = 0
  fc.assert(
    fc.property(fc.array(step, { minLength: 40, maxLength: 60 }), (steps) => {
      let counts: MerchantCounts = { mid: 'SHOP "1"', windows: {} }
      let written = unwritten
      let index = 29_846_909
      for (const { ahead, name, does, back, sumMinor } of steps) {
        index += ahead
        const windows: OpenStates = { ...counts.windows }
        const spread = name === 'spread' ? { spread: { squares: 4, maxMinor: 2 } } : {}
        if (does === 'count')
          countAt(windows, name, index - 9, { index, sumMinor, count: 1, ...spread })
        else if (does === 'drop') dropBefore(windows, name, index - back)
        else takeFrom(windows, name, index - back, sumMinor, 1, () => 1)
        counts = { mid: counts.mid, windows }
        const next = writeCountsText(counts, written)
        if (next.rows.some(({ head, buckets }, i) => isTakenOver(written.rows[i], head, buckets)))
          takenOver++
        expect(next.text).toBe(encodeMerchantCounts(counts))
        expect(decodeMerchantCounts(counts.mid, next.text)).toEqual(counts)
        written = next
      }
    }),
  )
  expect(takenOver).toBeGreaterThan(100)
})

type Row = (typeof unwritten)['rows'][number]

function isTakenOver(before: Row | undefined, head: string, buckets: Row['buckets']): boolean {
  return before?.head === head && before.buckets !== buckets && before.buckets.includes(buckets[0]!)
}
