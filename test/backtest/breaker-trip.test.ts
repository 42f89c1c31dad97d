import { describe, expect, it } from 'vitest'
import { createSecondCounter, firstTrips } from '../../src/backtest/breaker-trip.ts'
import type { Breaker } from '../../src/domain/decide/breaker.ts'

const startMs = 1_800_000_000_000
const byDeclines = (ruleId: string, maxDeclines: number): Breaker => {
  return { ruleId, withinMs: 60_000, maxDeclines, maxShare: Infinity, minAsks: 1 }
}
const byShare: Breaker = {
  ruleId: 'share',
  withinMs: 60_000,
  maxDeclines: Infinity,
  maxShare: 1_000,
  minAsks: 100,
}

/** What one thread notes: so many asks at a time after the start, by rule. */
type Asked = readonly [afterMs: number, ruleId: string, count: number]

function partOf(breakers: readonly Breaker[], asked: readonly Asked[]) {
  const { note, seconds } = createSecondCounter(breakers)
  for (const [afterMs, ruleId, count] of asked)
    for (let i = 0; i < count; i++) note(startMs + afterMs, ruleId)
  return seconds
}

function tripsOf(
  breakers: readonly Breaker[],
  threads: readonly (readonly Asked[])[],
  known: readonly string[] = [],
) {
  const parts = threads.map((asked) => partOf(breakers, asked))
  const trips = known.map((ruleId) => ({ ruleId, atMs: startMs, reason: '' }))
  return firstTrips(breakers, parts, trips).map(({ ruleId, atMs }) => [ruleId, atMs - startMs])
}

describe('a breaker of a backtest', () => {
  const three = [byDeclines('r', 3)]

  it('trips at the end of the second in which its rule declined one ask more than it may', () => {
    expect(tripsOf(three, [[[0, 'r', 3]]])).toEqual([])
    const asked: Asked[] = [
      [1_000, 'r', 3],
      [3_999, 'r', 1],
      [3_000, 'other', 9],
    ]
    expect(tripsOf(three, [asked])).toEqual([['r', 4_000]])
  })

  it('counts what all threads have found in the order of time, in whichever order they found it', () => {
    const [late, early]: Asked[][] = [
      [
        [9_000, 'r', 9],
        [2_000, 'r', 2],
      ],
      [[1_000, 'r', 2]],
    ]
    expect(tripsOf(three, [late!, early!])).toEqual([['r', 3_000]])
    expect(tripsOf(three, [[[0, 'r', 2]], [[70_000, 'r', 2]]])).toEqual([])
  })

  it('trips together with those of its second, and before those of later ones', () => {
    const breakers = [byDeclines('r', 1), byDeclines('late', 1), byDeclines('s', 1)]
    const asked: Asked[] = [
      [5_000, 'late', 2],
      [2_100, 's', 2],
      [2_000, 'r', 2],
    ]
    expect(tripsOf(breakers, [asked])).toEqual([
      ['r', 3_000],
      ['s', 3_000],
    ])
    expect(tripsOf(breakers, [asked], ['r', 's'])).toEqual([['late', 6_000]])
  })

  it('of a share trips by an ask that is approved, too, where there are enough only then', () => {
    const few: Asked = [0, 'share', 60]
    expect(tripsOf([byShare], [[few, [2_000, '', 39]]])).toEqual([])
    expect(tripsOf([byShare], [[few, [2_000, '', 40]]])).toEqual([['share', 3_000]])
    expect(tripsOf([byShare], [[few], [[2_000, '', 540]]])).toEqual([])
    expect(tripsOf([byShare], [[few, [70_000, '', 200]]])).toEqual([])
  })
})
