import { describe, expect, it } from 'vitest'
import { createRateLimit } from '../../src/api/rate-limit.ts'

describe('a limit of calls', () => {
  it('lets a burst pass, then as many as a second gives back, and never more than a burst', () => {
    const limit = createRateLimit(2, 3, 10)
    const taken = (atMs: number, calls: number) =>
      Array.from({ length: calls }, () => limit.take('a', atMs)).filter(Boolean).length
    expect(taken(0, 5)).toBe(3)
    expect(taken(499, 2)).toBe(0)
    expect(taken(500, 2)).toBe(1)
    expect(taken(1_500, 5)).toBe(2)
    expect(taken(60_000, 9)).toBe(3)
  })

  it('is spent for one name alone, and asking takes nothing', () => {
    const limit = createRateLimit(1, 2, 10)
    expect(limit.isSpent('a', 0)).toBe(false)
    expect(limit.size).toBe(0)
    limit.take('a', 0)
    for (let i = 0; i < 5; i++) expect(limit.isSpent('a', 0)).toBe(false)
    limit.take('a', 0)
    expect([limit.isSpent('a', 999), limit.isSpent('a', 1_000)]).toEqual([true, false])
    expect(limit.isSpent('b', 0)).toBe(false)
  })

  it('forgets the name that called longest ago where there are too many', () => {
    const limit = createRateLimit(1, 1, 2)
    for (const name of ['a', 'b', 'a', 'c']) limit.take(name, 0)
    expect(limit.size).toBe(2)
    expect(['a', 'b', 'c'].map((name) => limit.isSpent(name, 0))).toEqual([true, false, true])
  })
})
