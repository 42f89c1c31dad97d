import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createRefusalLog } from '../../src/telemetry/refusal-log.ts'

describe('the log of refusals', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('tells the first at once, and then how many there were in a second, for each status', () => {
    const lines: unknown[] = []
    const note = createRefusalLog({ warn: (line: unknown) => void lines.push(line) })
    const call = (status: number, reason: string) => note({ status, reason, peer: '10.0.0.1' })
    call(401, 'signature missing')
    for (let i = 0; i < 500; i++) call(401, 'signature too old')
    call(404, 'wrong')
    expect(lines).toEqual([
      { status: 401, count: 1, reason: 'signature missing', peer: '10.0.0.1' },
      { status: 404, count: 1, reason: 'wrong', peer: '10.0.0.1' },
    ])
    vi.advanceTimersByTime(1_000)
    expect(lines.slice(2)).toEqual([
      { status: 401, count: 500, reason: 'signature too old', peer: '10.0.0.1' },
    ])
    call(401, 'signature wrong')
    vi.advanceTimersByTime(999)
    expect(lines).toHaveLength(3)
    vi.advanceTimersByTime(1)
    expect(lines.at(-1)).toMatchObject({ count: 1, reason: 'signature wrong' })
    vi.advanceTimersByTime(10_000)
    expect(lines).toHaveLength(4)
    expect(vi.getTimerCount()).toBe(0)
    call(401, 'signature wrong')
    expect(lines).toHaveLength(5)
  })
})
