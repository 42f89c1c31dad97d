import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createStoreWatch } from '../../../src/engine/queue/store-watch.ts'
import { StoreError } from '../../../src/store/port.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function openWatch() {
  const world = { away: true, full: false, busy: false, looks: 0, turns: 0, told: [] as string[] }
  let say: (problem: string) => void = () => {}
  const store = {
    async load() {
      world.looks++
      if (world.away) throw new StoreError('away', 'no')
      return []
    },
    async commit(): Promise<'conflict'[]> {
      world.looks++
      if (world.away || world.full) throw new StoreError('full', 'no')
      return ['conflict']
    },
    onProblem(listener: typeof say) {
      say = listener
    },
  }
  const isBusy = () => world.busy
  const watch = createStoreWatch(store, isBusy, (problem, isTurn) => {
    world.told.push(problem)
    if (isTurn) world.turns++
  })
  return { world, watch, say }
}

describe('a store that could not be reached', () => {
  it('is looked at until it is back, though nobody asks', async () => {
    const { world, watch } = openWatch()
    watch.note('away', 'read')
    await vi.advanceTimersByTimeAsync(3_500)
    expect([watch.isAvailable, world.looks]).toEqual([false, 3])
    world.away = false
    await vi.advanceTimersByTimeAsync(1_000)
    expect([watch.isAvailable, world.told]).toEqual([true, ['away', '']])
    await vi.advanceTimersByTimeAsync(5_000)
    expect(world.looks).toBe(4)
  })

  it('is told of by what it says of itself, also when something has failed before', () => {
    const { world, watch, say } = openWatch()
    watch.note('away', 'read')
    watch.note('away, too', 'read')
    say('gone')
    expect(world.told).toEqual(['away', 'gone'])
    say('')
    expect([watch.isAvailable, world.told]).toEqual([true, ['away', 'gone', '']])
    expect(world.turns).toBe(2)
  })

  it('is left to those who wait for it', async () => {
    const { world, watch } = openWatch()
    Object.assign(world, { away: false, busy: true })
    watch.note('away', 'read')
    await vi.advanceTimersByTimeAsync(5_000)
    expect([watch.isAvailable, world.looks]).toEqual([false, 0])
    world.busy = false
    await vi.advanceTimersByTimeAsync(1_000)
    expect(watch.isAvailable).toBe(true)
  })

  it('is not looked at by an engine that has stopped', async () => {
    const { world, watch } = openWatch()
    watch.note('away', 'read')
    watch.stop()
    await vi.advanceTimersByTimeAsync(5_000)
    expect([world.looks, vi.getTimerCount()]).toEqual([0, 0])
  })
})

it('an engine that stops while it looks at its store hears no more of it', async () => {
  let answer: () => void = () => {}
  const told: string[] = []
  const store = {
    load: async () => [],
    commit: async () => [],
    trial: () => new Promise<void>((resolve) => (answer = resolve)),
  }
  const watch = createStoreWatch(
    store,
    () => false,
    (problem) => told.push(problem),
  )
  watch.note('away', 'commit')
  await vi.advanceTimersByTimeAsync(1_000)
  watch.stop()
  answer()
  await vi.advanceTimersByTimeAsync(5_000)
  expect([told, vi.getTimerCount()]).toEqual([['away'], 0])
})

describe('a store that can be tried', () => {
  it('is, every second, and known to take no commits before anybody needs one', async () => {
    const world = { full: false, trials: 0, told: [] as string[] }
    const watch = createStoreWatch(
      {
        load: async () => [],
        commit: async () => Promise.reject(new Error('nothing is to be written')),
        async trial() {
          world.trials++
          if (world.full) throw new StoreError('full', 'no')
        },
      },
      () => false,
      (problem) => world.told.push(problem),
    )
    await vi.advanceTimersByTimeAsync(2_500)
    expect([world.trials, world.told]).toEqual([2, []])
    world.full = true
    await vi.advanceTimersByTimeAsync(3_000)
    expect([watch.isAvailable, world.told]).toEqual([false, ['full']])
    world.full = false
    await vi.advanceTimersByTimeAsync(1_000)
    expect([watch.isAvailable, world.told]).toEqual([true, ['full', '']])
    watch.stop()
    await vi.advanceTimersByTimeAsync(5_000)
    expect([world.trials, vi.getTimerCount()]).toEqual([6, 0])
  })
})

it('a failure that lasts is told with what the store says then, once', async () => {
  const world = { problem: 'a connection was lost', told: [] as string[] }
  const trial = async () => {
    if (world.problem !== '') throw new StoreError(world.problem, 'no')
  }
  const store = { load: async () => [], commit: async () => [], trial }
  const isBusy = () => true
  const watch = createStoreWatch(store, isBusy, (problem) => world.told.push(problem))
  watch.note('closed', 'commit')
  await vi.advanceTimersByTimeAsync(1_500)
  expect(world.told).toEqual(['closed'])
  world.problem = 'refused at 127.0.0.1:7202'
  await vi.advanceTimersByTimeAsync(1_000)
  world.problem = 'timed out'
  await vi.advanceTimersByTimeAsync(60_000)
  expect([watch.problem, world.told]).toEqual([
    'refused at 127.0.0.1:7202',
    ['closed', 'refused at 127.0.0.1:7202'],
  ])
  world.problem = ''
  await vi.advanceTimersByTimeAsync(1_000)
  expect(world.told.at(-1)).toBe('')
  watch.stop()
})

describe('a store of several nodes', () => {
  it('is back when all of them are, whatever one of them takes meanwhile', async () => {
    const world = { full: true, trials: 0, told: [] as string[] }
    const store = {
      load: async () => [],
      commit: async () => Promise.reject(new Error('nothing is to be written')),
      async trial() {
        world.trials++
        if (world.full) throw new StoreError('full', 'no')
      },
    }
    const watch = createStoreWatch(
      store,
      () => true,
      (problem) => world.told.push(problem),
    )
    for (let i = 0; i < 30; i++) {
      watch.note('full', 'commit')
      watch.note('', 'commit')
      watch.note('', 'read')
      await vi.advanceTimersByTimeAsync(100)
    }
    expect([watch.isAvailable, world.told, world.trials]).toEqual([false, ['full'], 4])
    world.full = false
    await vi.advanceTimersByTimeAsync(1_000)
    expect([watch.isAvailable, world.told]).toEqual([true, ['full', '']])
    // What was a moment's failure is over with the next commit.
    watch.note('slow', 'commit')
    watch.note('', 'commit')
    await vi.advanceTimersByTimeAsync(1)
    expect([watch.isAvailable, world.told]).toEqual([true, ['full', '', 'slow', '']])
    watch.stop()
  })
})

describe('a store that can be read and takes no commits', () => {
  it('is not taken for well by a read, and is tried with a commit until it takes one', async () => {
    const { world, watch } = openWatch()
    Object.assign(world, { away: false, full: true })
    watch.note('full', 'commit')
    watch.note('', 'read')
    await vi.advanceTimersByTimeAsync(3_500)
    expect([watch.isAvailable, world.looks, world.told]).toEqual([false, 3, ['full']])
    world.full = false
    await vi.advanceTimersByTimeAsync(1_000)
    expect([watch.isAvailable, world.told]).toEqual([true, ['full', '']])
  })

  it('is tried with a commit also when a read failed first', async () => {
    const { world, watch } = openWatch()
    watch.note('away', 'read')
    watch.note('full', 'commit')
    watch.note('', 'read')
    expect([watch.isAvailable, world.told]).toEqual([false, ['away']])
    watch.note('', 'commit')
    expect([watch.isAvailable, world.told]).toEqual([true, ['away', '']])
    watch.note('full', 'commit')
    watch.note('away', 'read')
    watch.note('', 'read')
    expect([watch.isAvailable, world.told]).toEqual([false, ['away', '', 'full']])
    watch.stop()
  })
})
