import { afterEach, expect, it, vi } from 'vitest'
import type { FromEngine } from '../../../src/engine/messages.ts'
import { watchServerClocks } from '../../../src/engine/notice/server-clocks.ts'
import { createMemoryStore } from '../../support/memory-store.ts'

afterEach(() => {
  vi.useRealTimers()
})

it('that the time of Redis is unknown is told once, and again after it was known', async () => {
  vi.useFakeTimers()
  let isAway = false
  const serverTimes = async () => {
    if (isAway) throw new Error('it is away')
    return [Date.now()]
  }
  const told: FromEngine[] = []
  const store = { ...createMemoryStore(), serverTimes }
  const timer = await watchServerClocks(store, (message) => told.push(message))
  const troubles = () => told.filter(({ type }) => type === 'trouble').length
  const counts: number[] = []
  for (const away of [true, true, false, true]) {
    isAway = away
    await vi.advanceTimersByTimeAsync(5_000)
    counts.push(troubles())
  }
  clearInterval(timer)
  expect(counts).toEqual([1, 1, 1, 2])
})
