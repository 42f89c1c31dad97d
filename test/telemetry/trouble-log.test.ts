import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createTroubleLog } from '../../src/telemetry/trouble-log.ts'

describe('the log of what threads have trouble with', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('tells the same only once a second, then how often it was said', () => {
    const lines: unknown[][] = []
    const note = createTroubleLog({ error: (...words: unknown[]) => void lines.push(words) })
    for (let i = 0; i < 20; i++) note('the engine failed: no room')
    note('another thing')
    expect(lines).toEqual([['the engine failed: no room'], ['another thing']])
    vi.advanceTimersByTime(1_000)
    expect(lines.slice(2)).toEqual([[{ count: 19 }, 'the engine failed: no room']])
    vi.advanceTimersByTime(10_000)
    expect(lines).toHaveLength(3)
    expect(vi.getTimerCount()).toBe(0)
  })
})
