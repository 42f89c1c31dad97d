import { expect, it, onTestFinished, vi } from 'vitest'
import { slowTransferProblem } from '../../../src/management/transfer/slow-transfer.ts'
import { startTransferSweeper } from '../../../src/management/transfer/sweeper.ts'
import {
  lookedAfterMs,
  movingEntry,
  type Transfer,
} from '../../../src/management/transfer/transfer.ts'
import { StoreError } from '../../../src/store/port.ts'
import { until } from '../../support/server.ts'

const clientId = 'client-1'
const from = { kind: 'wallet', organizationId: 'org-1', currency: 'USD' } as const

it('finishes what comes behind many whose destinations do not answer', async () => {
  const nowMs = Date.UTC(2026, 10, 15, 10)
  const hanging = Array.from({ length: 40 }, (_, i) => `hangs-${i}`)
  const places = [...hanging, 'moves'].map((reference, i) => {
    const { sortKey } = movingEntry({ from, clientId, reference, seenAtMs: i } as Transfer)
    return { sortKey, value: '' }
  })
  const tried: string[] = []
  let done = false
  const sweeper = startTransferSweeper({
    store: { range: async (_, after) => places.filter(({ sortKey }) => sortKey > after) },
    steps: { find: async (_, { reference }) => ({ reference }) as Transfer },
    transfers: {
      finish({ reference }) {
        tried.push(reference)
        if (reference !== 'moves') return new Promise(() => {})
        done = true
        return Promise.resolve({ state: 'busy' as const })
      },
    },
    clock: { nowMs: () => nowMs },
    intervalMs: 10,
    onTrouble(message) {
      throw new Error(message)
    },
  })
  onTestFinished(sweeper.stop)
  await until(async () => done)
  const once = tried.filter((reference) => reference !== 'moves')
  expect(once.toSorted()).toEqual(hanging.toSorted())
  expect(sweeper.open.count).toBe(places.length)
})

it('looks at what is behind 10,000 that fail, and has no more at work', async () => {
  const places = Array.from({ length: 10_001 }, (_, i) => {
    const reference = i < 10_000 ? `fails-${i}` : 'moves'
    const { sortKey } = movingEntry({ from, clientId, reference, seenAtMs: i } as Transfer)
    return { sortKey, value: '' }
  })
  const tried: string[] = []
  const sweeper = startTransferSweeper({
    store: {
      async range(_, after, limit) {
        const at = places.findIndex(({ sortKey }) => sortKey > after)
        return at < 0 ? [] : places.slice(at, at + limit)
      },
    },
    steps: { find: async (_, { reference }) => ({ reference }) as Transfer },
    transfers: {
      async finish({ reference }) {
        tried.push(reference)
        if (reference !== 'moves') throw new StoreError('a node is down', 'no')
        places.pop()
        return { state: 'busy' }
      },
    },
    clock: { nowMs: () => Date.UTC(2026, 10, 15, 10) },
    intervalMs: 600_000,
    onTrouble(message) {
      throw new Error(message)
    },
  })
  onTestFinished(sweeper.stop)
  await sweeper.sweep()
  expect([tried.length, tried.includes('moves'), sweeper.open.count]).toEqual([
    10_000,
    false,
    10_000,
  ])
  await sweeper.sweep()
  expect([tried.length, tried.at(-1), sweeper.open.count]).toEqual([10_001, 'moves', 10_000])
  // From the first again: those that failed a moment ago rest.
  await sweeper.sweep()
  expect(tried.length).toBe(10_001)
})

/** Each transfer came at its number of milliseconds; `sweep` tells which were tried. */
function openAlone(references: readonly string[], fails: (reference: string) => boolean) {
  const time = { nowMs: lookedAfterMs, isDoubted: false, unread: 0, readable: references.length }
  let tried: string[] = []
  const places = references.map((reference, seenAtMs) => {
    const { sortKey } = movingEntry({ from, clientId, reference, seenAtMs } as Transfer)
    return { sortKey, value: '' }
  })
  const sweeper = startTransferSweeper({
    store: {
      range: async () => [],
      rangeReachable: async (_, after, limit) => ({
        entries: places
          .slice(0, time.readable)
          .filter(({ sortKey }) => sortKey > after)
          .slice(0, limit),
        unread: after === '' ? time.unread : 0,
      }),
    },
    steps: { find: async (_, { reference }) => ({ reference }) as Transfer },
    transfers: {
      async finish({ reference }) {
        tried.push(reference)
        if (fails(reference)) throw new StoreError('a node is down', 'no')
        places.splice(0, places.length)
        return { state: 'busy' }
      },
    },
    clock: { nowMs: () => time.nowMs, isDoubted: () => time.isDoubted },
    intervalMs: 600_000,
    onTrouble(message) {
      throw new Error(message)
    },
  })
  onTestFinished(sweeper.stop)
  const sweep = async () => {
    tried = []
    await sweeper.sweep()
    return tried
  }
  return { time, sweeper, sweep }
}

it('tries again what failed, five seconds later, until it is finished', async () => {
  let isDown = true
  const { time, sweep } = openAlone(['R'], () => isDown)
  expect(await sweep()).toEqual(['R'])
  time.nowMs += 4_999
  expect(await sweep()).toEqual([])
  time.nowMs += 1
  expect(await sweep()).toEqual(['R'])
  time.nowMs += 5_000
  isDown = false
  expect(await sweep()).toEqual(['R'])
  expect(await sweep()).toEqual([])
})

it('leaves alone what its own request may still end, and everything while its clock is not believed', async () => {
  const { time, sweeper, sweep } = openAlone(['first', 'second'], () => true)
  time.isDoubted = true
  expect(await sweep()).toEqual([])
  expect(sweeper.open.count).toBe(2)
  time.isDoubted = false
  expect(await sweep()).toEqual(['first'])
  time.nowMs += 1
  expect(await sweep()).toEqual(['second'])
})

it('counts what it has seen on its way as there, and older, while it cannot look', async () => {
  const { time, sweeper, sweep } = openAlone(['R'], () => true)
  await sweep()
  expect(sweeper.open).toEqual({ count: 1, oldestMs: lookedAfterMs, unread: 0 })
  time.unread = 1
  time.readable = 0
  for (let look = 0; look < 2; look++) {
    time.nowMs += 1_000
    await sweep()
  }
  expect(sweeper.open).toEqual({ count: 1, oldestMs: lookedAfterMs + 2_000, unread: 1 })
})

it('says that it could not look everywhere, and nothing of the age of what it has never seen', async () => {
  const references = Array.from({ length: 501 }, (_, i) => `R${i}`)
  const { time, sweeper, sweep } = openAlone(references, () => true)
  time.unread = 1
  time.readable = 0
  for (let look = 0; look < 2; look++) {
    time.nowMs += 1_000
    await sweep()
    expect(sweeper.open).toEqual({ count: 0, oldestMs: 0, unread: 1 })
  }
  time.readable = references.length
  await sweep()
  expect(sweeper.open).toMatchObject({ count: 501, unread: 1 })
})

it('forgets what failed here once another has finished it, and remembers what fails then', async () => {
  const placeOf = (reference: string, seenAtMs: number) => {
    const { sortKey } = movingEntry({ from, clientId, reference, seenAtMs } as Transfer)
    return { sortKey, value: '' }
  }
  let places = Array.from({ length: 20_000 }, (_, i) => placeOf(`fails-${i}`, i))
  let tried = 0
  const sweeper = startTransferSweeper({
    store: {
      async range(_, after, limit) {
        const at = places.findIndex(({ sortKey }) => sortKey > after)
        return at < 0 ? [] : places.slice(at, at + limit)
      },
    },
    steps: { find: async (_, { reference }) => ({ reference }) as Transfer },
    transfers: {
      async finish() {
        tried++
        throw new StoreError('a node is down', 'no')
      },
    },
    clock: { nowMs: () => Date.UTC(2026, 10, 15, 10) },
    intervalMs: 600_000,
    onTrouble(message) {
      throw new Error(message)
    },
  })
  onTestFinished(sweeper.stop)
  // Two looks see all, the third nothing, and then those that failed rest.
  for (let look = 0; look < 5; look++) await sweeper.sweep()
  expect(tried).toBe(places.length)
  await sweeper.sweep()
  places = []
  await sweeper.sweep()
  places = [placeOf('new', 0)]
  for (let look = 0; look < 2; look++) await sweeper.sweep()
  expect(tried).toBe(20_001)
})

it('has at most sixteen at work that take less than half a second', async () => {
  let atWork = 0
  let most = 0
  const references = Array.from({ length: 40 }, (_, i) => `R${i}`)
  const places = references.map((reference, seenAtMs) => {
    const { sortKey } = movingEntry({ from, clientId, reference, seenAtMs } as Transfer)
    return { sortKey, value: '' }
  })
  const sweeper = startTransferSweeper({
    store: { range: async () => places },
    steps: { find: async (_, { reference }) => ({ reference }) as Transfer },
    transfers: {
      async finish() {
        most = Math.max(most, ++atWork)
        await new Promise((resolve) => setTimeout(resolve, 5))
        atWork--
        return { state: 'busy' }
      },
    },
    clock: { nowMs: () => Date.UTC(2026, 10, 15, 10) },
    intervalMs: 600_000,
    onTrouble(message) {
      throw new Error(message)
    },
  })
  onTestFinished(sweeper.stop)
  await sweeper.sweep()
  expect(most).toBe(16)
})

/** Transfers whose destinations say nothing, beside some that failed at the first look; at a time that stands. */
function openHanging(references: readonly string[]) {
  vi.useFakeTimers()
  const time = { nowMs: Date.UTC(2026, 10, 15, 10), isDown: true }
  const placeOf = (reference: string) => {
    const seenAtMs = places.length
    const { sortKey } = movingEntry({ from, clientId, reference, seenAtMs } as Transfer)
    places.push({ sortKey, value: '' })
  }
  const places: { sortKey: string; value: string }[] = []
  references.forEach(placeOf)
  const tried: string[] = []
  const sweeper = startTransferSweeper({
    store: { range: async (_, after) => places.filter(({ sortKey }) => sortKey > after) },
    steps: { find: async (_, { reference }) => ({ reference }) as Transfer },
    transfers: {
      finish({ reference }) {
        tried.push(reference)
        if (time.isDown) return Promise.reject(new StoreError('a node is down', 'no'))
        return new Promise(() => {})
      },
    },
    clock: { nowMs: () => time.nowMs },
    intervalMs: 600_000,
    onTrouble(message) {
      throw new Error(message)
    },
  })
  onTestFinished(() => {
    sweeper.stop()
    vi.useRealTimers()
  })
  const look = async () => {
    void sweeper.sweep()
    await vi.advanceTimersByTimeAsync(0)
    return tried.splice(0)
  }
  return { time, tried, sweeper, placeOf, look }
}

it('keeps places free of those that failed before, which say nothing now', async () => {
  const failing = Array.from({ length: 16 }, (_, i) => `fails-${i}`)
  const { time, placeOf, look } = openHanging(failing)
  expect(await look()).toEqual(failing)
  time.nowMs += 5_000
  time.isDown = false
  placeOf('new')
  expect(await look()).toContain('new')
})

it('begins none once it has stopped', async () => {
  const { time, tried, sweeper, look } = openHanging(Array.from({ length: 20 }, (_, i) => `R${i}`))
  time.isDown = false
  expect(await look()).toHaveLength(16)
  sweeper.stop()
  await vi.advanceTimersByTimeAsync(5_000)
  expect(tried).toEqual([])
})

it('is told of a transfer when it is on its way for more than two minutes', () => {
  expect([0, 15_000, 120_000].map(slowTransferProblem)).toEqual(['', '', ''])
  expect(slowTransferProblem(121_000)).toBe('a transfer is on its way for 121 s')
})
