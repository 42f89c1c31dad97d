import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { MerchantCounts } from '../../../src/domain/record/merchant-counts.ts'
import {
  countAt,
  dropBefore,
  moveToSketch,
  type OpenStates,
  type WindowStates,
} from '../../../src/domain/record/window-state.ts'
import { WrittenCell } from '../../../src/engine/format/row-codec.ts'
import { readWindowRows, windowRows } from '../../../src/engine/format/window-codec.ts'
import {
  takeOverMerchants,
  takeOverWindows,
  writeMerchants,
  writeWindowRows,
} from '../../../src/engine/format/window-text.ts'
import { expectEqual } from '../../support/expect-equal.ts'

const odd = ['', ',', ']', '"', '\\', 'A,', ',"', 'A', '","', '\\"', 'A","B', 'B', 'é', '\u0001']
const mids = [...odd, ...Array.from({ length: 80 }, (_, i) => `SHOP${i}`)]
const place = fc.integer({ min: 0, max: mids.length })

it('the list of merchants that was taken over from the one before names the same in the same order', () => {
  fc.assert(
    fc.property(fc.array(place, { minLength: 20, maxLength: 60 }), (places) => {
      let list: MerchantCounts[] = mids.map((mid) => ({ mid, windows: {} }))
      takeOverMerchants(list, [])
      for (const place of places) {
        const before = list
        const { mid } = before[place] ?? { mid: `NEW${place}` }
        list = before.filter((one) => one.mid !== mid)
        // Now and then the one that was used longest ago goes for a new one.
        if (list.length === before.length) list.shift()
        list.push({ mid, windows: {} })
        takeOverMerchants(list, before)
        const written = writeMerchants(list) as WrittenCell
        expect(JSON.parse(written.json)).toEqual(list.map((one) => one.mid))
      }
    }),
  )
})

it('windows whose values were taken over from those before say what windows written anew say', () => {
  const names = ['day', 'hour']
  const count = (states: OpenStates, place: number, sumMinor: number) => {
    const added = { index: 20_000, sumMinor, count: 1 }
    for (const name of names) countAt(states, name, mids[place] ?? 'NEW', 0, added)
  }
  const step = fc.record({ place, goes: fc.boolean(), sumMinor: fc.nat() })
  fc.assert(
    fc.property(fc.array(step, { minLength: 20, maxLength: 40 }), (steps) => {
      let before: WindowStates = {}
      mids.forEach((_, i) => void count(before, i, 5))
      writeWindowRows(before)
      for (const { place, goes, sumMinor } of steps) {
        const states: OpenStates = { ...before }
        const [oldest] = states.day?.merchants ?? []
        if (goes && oldest !== undefined) {
          if (sumMinor % 2 === 0) dropBefore(states, 'day', oldest.mid, 20_001)
          else for (const name of names) moveToSketch(states, name, oldest.mid, 0)
        }
        count(states, place, sumMinor)
        takeOverWindows(states, before)
        const written = writeWindowRows(states)
        expect(written).toBeInstanceOf(WrittenCell)
        const { json } = written as WrittenCell
        expect(json).toBe(JSON.stringify(windowRows(states)))
        expectEqual(readWindowRows(JSON.parse(json)), states)
        before = states
      }
    }),
  )
})
