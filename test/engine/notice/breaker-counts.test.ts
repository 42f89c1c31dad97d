import { describe, expect, it } from 'vitest'
import type { Step } from '../../../src/domain/decide/answer.ts'
import { createBreakerCounts } from '../../../src/engine/notice/breaker-counts.ts'

const byDeclines = { ruleId: 'r', withinMs: 60_000, maxDeclines: 3, maxShare: Infinity, minAsks: 1 }
const byShare = {
  ruleId: 'r',
  withinMs: 60_000,
  maxDeclines: Infinity,
  maxShare: 500,
  minAsks: 100,
}
const startMs = 1_800_000_000_000

function stepOf(ruleId: string): Step {
  return { answer: { ruleId } } as unknown as Step
}

describe('what a breaker counts', () => {
  it('is past its bound with one decline more, and not by those of other rules', () => {
    const counts = createBreakerCounts([byDeclines])
    for (let i = 0; i < 50; i++) counts.note(stepOf('other'), startMs)
    for (let i = 0; i < 3; i++) counts.note(stepOf('r'), startMs + i)
    expect(counts.past(startMs + 10)).toEqual([])
    counts.note(stepOf('r'), startMs + 11)
    expect(counts.past(startMs + 12)).toEqual([
      { ruleId: 'r', reason: 'declined 4 asks within 60 s, more than 3' },
    ])
  })

  it('is forgotten with its time', () => {
    const counts = createBreakerCounts([byDeclines])
    for (let i = 0; i < 4; i++) counts.note(stepOf('r'), startMs)
    expect(counts.past(startMs + 50_000)).toHaveLength(1)
    expect(counts.past(startMs + 61_000)).toEqual([])
    // Spread thinner than the bound it never trips, and a clock that goes back forgets nothing.
    for (let i = 1; i <= 60; i++) {
      counts.note(stepOf('r'), startMs + 61_000 + i * 21_000)
      expect(counts.past(startMs + i * 21_000)).toEqual([])
    }
  })

  it('is forgotten of a rule that is armed, and of no other', () => {
    const counts = createBreakerCounts([byDeclines, { ...byDeclines, ruleId: 'other' }])
    for (let i = 0; i < 4; i++) counts.note(stepOf('r'), startMs)
    for (let i = 0; i < 3; i++) counts.note(stepOf('other'), startMs)
    counts.forget('r')
    counts.note(stepOf('other'), startMs + 1)
    expect(counts.past(startMs + 2).map(({ ruleId }) => ruleId)).toEqual(['other'])
    for (let i = 0; i < 4; i++) counts.note(stepOf('r'), startMs + 3)
    expect(counts.past(startMs + 4)).toHaveLength(2)
  })

  it('of a share says nothing of few asks', () => {
    const counts = createBreakerCounts([byShare])
    for (let i = 0; i < 50; i++) counts.note(stepOf('r'), startMs)
    expect(counts.past(startMs)).toEqual([])
    for (let i = 0; i < 949; i++) counts.note(stepOf(''), startMs)
    expect(counts.past(startMs)).toEqual([
      { ruleId: 'r', reason: 'declined 50 of 999 asks within 60 s, more than 5%' },
    ])
    counts.note(stepOf(''), startMs)
    expect(counts.past(startMs)).toEqual([])
  })
})
