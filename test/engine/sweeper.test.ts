import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { startSweeper } from '../../src/engine/sweeper.ts'
import { StoreError } from '../../src/store/port.ts'
import { startEngine } from '../support/engine-world.ts'
import { createMemoryStore } from '../support/memory-store.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it('says once why it cannot sweep, and again when that changes or comes back', async () => {
  const memory = createMemoryStore()
  let away = ''
  const store = {
    ...memory,
    async range(...place: Parameters<typeof memory.range>) {
      if (away !== '') throw new StoreError(away, 'no')
      return memory.range(...place)
    },
  }
  const engine = startEngine(store)
  const told: string[] = []
  const sweeper = startSweeper({
    engine,
    store,
    clock: { ...systemClock, isDoubted: () => false },
    intervalMs: 1_000,
    logRetentionMs: 1,
    onError: (error) => told.push((error as Error).message),
  })
  for (const reason of ['no connection', 'refused', '', 'refused']) {
    away = reason
    await vi.advanceTimersByTimeAsync(60_000)
  }
  expect(told).toEqual(['no connection', 'refused', 'refused'])
  sweeper.stop()
  engine.stop()
})
