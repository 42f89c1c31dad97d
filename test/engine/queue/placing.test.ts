import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { newDeliveryItem } from '../../../src/engine/item.ts'
import { createPlacing } from '../../../src/engine/queue/placing.ts'
import { createQueues } from '../../../src/engine/queue/queue.ts'
import { StoreError } from '../../../src/store/port.ts'
import { handed, testEvent } from '../../support/engine-world.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Where cards cannot be looked up until the store is back; each try notes how many it asks for. */
function openWorld() {
  const world = { away: true, tries: [] as number[] }
  const directory = {
    size: 0,
    accountOf: () => undefined,
    async resolve(cardIds: readonly string[]) {
      world.tries.push(cardIds.length)
      if (world.away) throw new StoreError('away', 'no')
      return new Map(cardIds.map((cardId) => [cardId, 'A1']))
    },
    enter: async () => [],
  }
  const queues = createQueues()
  const placing = createPlacing({
    directory,
    queues,
    random: () => 1,
    schedule: () => {},
    onDamaged: () => {},
    noteStore: () => {},
  })
  async function turn(): Promise<void> {
    placing.resolve()
    await vi.advanceTimersByTimeAsync(200)
  }
  const itemOf = (slot: string) => newDeliveryItem(handed(testEvent({ eventId: slot }), slot), 0)
  return { world, queues, placing, turn, itemOf }
}

describe('deliveries whose cards cannot be looked up', () => {
  it('are let go when they are withdrawn, and the others are placed when the store is back', async () => {
    const { world, queues, placing, turn, itemOf } = openWorld()
    const items = ['s1', 's2', 's3'].map(itemOf)
    for (const item of items) placing.place(item)
    await turn()
    items[0]!.state = 'withdrawn'
    items[2]!.state = 'withdrawn'
    await turn()
    world.away = false
    await turn()
    expect(world.tries).toEqual([3, 1, 1])
    expect(queues.find('a:A1')?.waiting).toEqual([items[1]])
    await turn()
    expect(world.tries).toHaveLength(3)
  })

  it('wait again, however many they are', async () => {
    const { world, placing, turn, itemOf } = openWorld()
    const item = itemOf('s1')
    for (let i = 0; i < 200_000; i++) placing.place(item)
    await turn()
    await turn()
    expect(world.tries).toEqual([200_000, 200_000])
  })
})
