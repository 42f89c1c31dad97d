import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { startSweeper } from '../../src/engine/sweeper.ts'
import { StoreError } from '../../src/store/port.ts'
import { startEngine } from '../support/engine-world.ts'
import { createMemoryStore } from '../support/memory-store.ts'

const faultless = {
  clock: { ...systemClock, isDoubted: () => false },
  intervalMs: 1_000,
  logRetentionMs: 1,
  onError: (error: unknown) => {
    throw error
  },
}

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

it('ends what is due elsewhere while a node is down, and begins nothing there twice', async () => {
  const memory = createMemoryStore()
  const due = (accountId: string) => ({
    sortKey: [String(1).padStart(15, '0'), accountId, 'card', 'transaction'].join('\n'),
    value: '',
  })
  // Read before the node was gone, so they wait for its return; what it has besides cannot be read.
  const hanging = Array.from({ length: 200 }, (_, i) => due(`away-${i}`.padEnd(9, 'x')))
  const entries = [...hanging, due('near')].toSorted((a, b) => (a.sortKey < b.sortKey ? -1 : 1))
  const swept: string[] = []
  const sweeper = startSweeper({
    engine: {
      sweepTransaction(accountId) {
        swept.push(accountId)
        return accountId === 'near' ? Promise.resolve() : new Promise(() => {})
      },
    },
    store: {
      ...memory,
      range: () => Promise.reject(new StoreError('a node is down', 'no')),
      async rangeReachable(_, after, limit) {
        const left = entries.filter(({ sortKey }) => sortKey > after)
        return { entries: left.slice(0, limit), unread: 5 }
      },
    },
    ...faultless,
  })
  await vi.advanceTimersByTimeAsync(10_000)
  sweeper.stop()
  expect(swept.filter((accountId) => accountId !== 'near')).toHaveLength(hanging.length)
  expect(swept).toContain('near')
})

it('has 10,000 that wait for their commits at most, and goes on when some have ended', async () => {
  const memory = createMemoryStore()
  const entries = Array.from({ length: 10_300 }, (_, i) => ({
    sortKey: [String(i + 1).padStart(15, '0'), `account-${i}`, 'card', 'transaction'].join('\n'),
    value: '',
  }))
  const waiting: (() => void)[] = []
  const sweeper = startSweeper({
    engine: { sweepTransaction: () => new Promise<void>((resolve) => waiting.push(resolve)) },
    store: {
      ...memory,
      async range(_, after, limit) {
        return entries.filter(({ sortKey }) => sortKey > after).slice(0, limit)
      },
    },
    ...faultless,
  })
  await vi.advanceTimersByTimeAsync(60_000)
  expect(waiting).toHaveLength(10_000)
  for (const end of waiting.slice(0, 400)) end()
  entries.splice(0, 400)
  await vi.advanceTimersByTimeAsync(60_000)
  expect(waiting).toHaveLength(10_300)
  sweeper.stop()
})
