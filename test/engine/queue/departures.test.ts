import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createDepartures, type Flight } from '../../../src/engine/queue/departures.ts'
import { type Outcome, PartlyFailed, StoreError } from '../../../src/store/port.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Each call of commit waits for `answer`, with how many commands it has. */
function openWorld() {
  const calls: number[] = []
  const waiting: ((answer: Outcome[] | Error) => void)[] = []
  const arrived: [name: string, outcome: string][] = []
  const noted: string[] = []
  const world = { isOver: false }
  const departures = createDepartures({
    store: {
      commit(commands) {
        calls.push(commands.length)
        return new Promise((resolve, reject) => {
          waiting.push((answer) => (answer instanceof Error ? reject(answer) : resolve(answer)))
        })
      },
    },
    clock: { nowMs: () => 0, monoMs: () => 0 },
    isOver: () => world.isOver,
    noteStore: (problem) => void noted.push(problem),
    onArrived: ({ queue }, outcome) => void arrived.push([queue.aggregate, outcome]),
  })
  const add = (...names: string[]) =>
    departures.add(names.map((aggregate) => ({ queue: { aggregate }, batch: {} }) as Flight))
  async function answer(given: Outcome[] | Error): Promise<void> {
    waiting.shift()!(given)
    await vi.advanceTimersByTimeAsync(0)
  }
  return { world, departures, calls, arrived, noted, add, answer }
}

describe('flights', () => {
  it('leave together once the store has answered, or after 2 ms, or when they are 64', async () => {
    const { departures, calls, add, answer } = openWorld()
    add('a')
    add('b')
    add('c')
    expect(calls).toEqual([1])
    await answer(['committed'])
    expect(calls).toEqual([1, 2])
    add('d')
    await vi.advanceTimersByTimeAsync(1)
    expect(calls).toEqual([1, 2])
    await vi.advanceTimersByTimeAsync(1)
    expect(calls).toEqual([1, 2, 1])
    const names = Array.from({ length: 64 }, (_, i) => `n${i}`)
    add(...names.slice(1))
    expect(calls).toHaveLength(3)
    add('n0')
    expect(calls).toEqual([1, 2, 1, 64])
    expect([departures.commits, departures.commands]).toEqual([4, 68])
  })

  it('arrive each by its own outcome, and a store that took one of them is there', async () => {
    const { arrived, noted, add, answer } = openWorld()
    add('a', 'b', 'c')
    await answer(new PartlyFailed('one node is away', ['refused', 'committed', 'unknown']))
    expect(arrived).toEqual([
      ['a', 'refused'],
      ['b', 'committed'],
      ['c', 'unknown'],
    ])
    add('d', 'e')
    await answer(new PartlyFailed('one node is away', ['refused', 'conflict']))
    expect(noted).toEqual(['', 'one node is away'])
  })

  it.each([
    [new StoreError('away', 'no'), 'refused'],
    [new StoreError('no answer', 'unknown'), 'unknown'],
    [new TypeError('a bug'), 'unknown'],
  ] as const)('arrive all alike where the call fails: %s', async (error, outcome) => {
    const { arrived, noted, add, answer } = openWorld()
    add('a', 'b')
    await answer(error)
    expect(arrived).toEqual([
      ['a', outcome],
      ['b', outcome],
    ])
    expect(noted).toEqual([error.message])
  })

  it('neither leave nor arrive when another engine has taken over', async () => {
    const { world, calls, arrived, add, answer } = openWorld()
    add('a')
    add('b')
    world.isOver = true
    await answer(['committed'])
    await vi.advanceTimersByTimeAsync(10)
    expect([calls, arrived]).toEqual([[1], []])
  })
})
