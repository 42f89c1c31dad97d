import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createStoreWatch } from '../../../src/engine/queue/store-watch.ts'
import { StoreError } from '../../../src/store/port.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function openWatch() {
  const world = { away: true, busy: false, looks: 0, told: [] as boolean[] }
  const store = {
    async load() {
      world.looks++
      if (world.away) throw new StoreError('away', 'no')
      return []
    },
  }
  const isBusy = () => world.busy
  const watch = createStoreWatch(store, isBusy, (available) => world.told.push(available))
  return { world, watch }
}

describe('a store that could not be reached', () => {
  it('is looked at until it is back, though nobody asks', async () => {
    const { world, watch } = openWatch()
    watch.note(false)
    await vi.advanceTimersByTimeAsync(3_500)
    expect([watch.isAvailable, world.looks]).toEqual([false, 3])
    world.away = false
    await vi.advanceTimersByTimeAsync(1_000)
    expect([watch.isAvailable, world.told]).toEqual([true, [false, true]])
    await vi.advanceTimersByTimeAsync(5_000)
    expect(world.looks).toBe(4)
  })

  it('is left to those who wait for it', async () => {
    const { world, watch } = openWatch()
    Object.assign(world, { away: false, busy: true })
    watch.note(false)
    await vi.advanceTimersByTimeAsync(5_000)
    expect([watch.isAvailable, world.looks]).toEqual([false, 0])
    world.busy = false
    await vi.advanceTimersByTimeAsync(1_000)
    expect(watch.isAvailable).toBe(true)
  })

  it('is not looked at by an engine that has stopped', async () => {
    const { world, watch } = openWatch()
    watch.note(false)
    watch.stop()
    await vi.advanceTimersByTimeAsync(5_000)
    expect([world.looks, vi.getTimerCount()]).toEqual([0, 0])
  })
})
