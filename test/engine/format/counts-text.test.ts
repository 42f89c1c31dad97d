import fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  countAt,
  dropBefore,
  type OpenStates,
  takeFrom,
} from '../../../src/domain/record/window-state.ts'
import { type WrittenCounts, writeCountsText } from '../../../src/engine/format/counts-text.ts'
import {
  decodeMerchantCounts,
  encodeMerchantCounts,
} from '../../../src/engine/format/window-codec.ts'

const names = ['day', 'hour', 'spread', 'a"b', 'a]b']

/** Time goes on by steps; now and then an older bucket is given back, or a window is emptied. */
const step = fc.record({
  ahead: fc.integer({ min: 0, max: 3 }),
  name: fc.constantFrom(...names),
  does: fc.constantFrom('count', 'count', 'count', 'give back', 'drop'),
  back: fc.integer({ min: 0, max: 6 }),
  sumMinor: fc.integer({ min: 0, max: 20_000_000 }),
})

it('a record whose text was taken over from the one before says what one written anew says', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 40, maxLength: 60 }), (steps) => {
      let written: WrittenCounts | null = null
      let index = 29_846_909
      for (const { ahead, name, does, back, sumMinor } of steps) {
        index += ahead
        const windows: OpenStates = { ...written?.counts.windows }
        const spread = name === 'spread' ? { spread: { squares: 4, maxMinor: 2 } } : {}
        if (does === 'count')
          countAt(windows, name, null, index - 9, { index, sumMinor, count: 1, ...spread })
        else if (does === 'drop') dropBefore(windows, name, null, index - back)
        else takeFrom(windows, name, null, index - back, sumMinor, 1, 1)
        const counts = { mid: 'SHOP "1"', windows }
        const text = writeCountsText(counts, written)
        expect(text).toBe(encodeMerchantCounts(counts))
        expect(decodeMerchantCounts(counts.mid, text)).toEqual(counts)
        written = { counts, text }
      }
    }),
  )
})

it('what did not change is taken over from the text before, as it stands there', () => {
  const windows: OpenStates = {}
  for (const name of ['day', 'hour']) {
    for (let index = 10; index < 14; index++) {
      countAt(windows, name, null, 0, { index, sumMinor: 5, count: 1 })
    }
  }
  const counts = { mid: 'M', windows: { ...windows } }
  const marked = encodeMerchantCounts(counts).replaceAll('11,5,1', '11,77,1')
  countAt(windows, 'day', null, 11, { index: 13, sumMinor: 5, count: 1 })
  countAt(windows, 'hour', null, 0, { index: 14, sumMinor: 5, count: 1 })
  const day = '["day",11,77,1,12,5,1,13,10,2]'
  const hour = '["hour",10,5,1,11,77,1,12,5,1,13,5,1,14,5,1]'
  const text = writeCountsText({ mid: 'M', windows }, { counts, text: marked })
  expect(text).toBe(`[1,"M",${day},${hour}]`)
})
