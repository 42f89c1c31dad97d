import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { startRoutine, within } from '../src/timing.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('a routine', () => {
  it('is never under way twice, and goes on after a turn that was left out', async () => {
    const ends: (() => void)[] = []
    const routine = startRoutine(100, () => new Promise<void>((resolve) => ends.push(resolve)))
    routine.now()
    await vi.advanceTimersByTimeAsync(250)
    expect(ends).toHaveLength(1)
    ends[0]!()
    await vi.advanceTimersByTimeAsync(100)
    expect(ends).toHaveLength(2)
    routine.stop()
    ends[1]!()
    await vi.advanceTimersByTimeAsync(500)
    expect(ends).toHaveLength(2)
  })
})

describe('within', () => {
  it('gives what the work gives, or what is said when that is late', async () => {
    expect(await within(100, Promise.resolve('work'), () => 'late')).toBe('work')
    const never = within(100, new Promise(() => {}), () => Promise.reject(new Error('late')))
    const heard = expect(never).rejects.toThrow('late')
    await vi.advanceTimersByTimeAsync(100)
    await heard
    expect(vi.getTimerCount()).toBe(0)
  })
})
