import { describe, expect, it } from 'vitest'
import { gatheringLoads } from '../../src/store/gathered-loads.ts'
import { type Key, noChange, type Store, StoreError } from '../../src/store/port.ts'
import { createMemoryState, createMemoryStore } from '../support/memory-store.ts'

const keyOf = (aggregate: string): Key => ({ aggregate, group: 'g', id: 'one' })

/** A store in which each aggregate has one child, whose value is its name; it notes what is read. */
async function openNoting(failing = '') {
  const calls: string[][] = []
  const store = createMemoryStore(createMemoryState())
  const command = { expectedVersion: null, newVersion: 'v', root: '', ...noChange }
  await store.commit(
    ['a', 'b', 'c'].map((aggregate) => ({
      ...command,
      aggregate,
      put: [{ group: 'g', id: 'one', value: aggregate }],
    })),
  )
  const noting: Store = {
    ...store,
    async load(keys) {
      calls.push(keys.map(({ aggregate }) => aggregate))
      if (keys.some(({ aggregate }) => aggregate === failing)) throw new StoreError('away', 'no')
      return store.load(keys)
    },
  }
  const gathered = gatheringLoads(noting)
  const load = async (...names: string[]) =>
    (await gathered.load(names.map(keyOf))).map((found) => found?.value)
  return { calls, load }
}

describe('loads that are gathered', () => {
  it('go in several calls when there are many keys, so that no call takes a server long', async () => {
    const { calls, load } = await openNoting()
    const names = Array.from({ length: 120 }, () => 'a')
    const found = await Promise.all([1, 2, 3, 4, 5].map(() => load(...names)))
    expect(found.map((values) => values.length)).toEqual([120, 120, 120, 120, 120])
    expect(calls.map((keys) => keys.length)).toEqual([240, 240, 120])
  })

  it('go in one call for each turn of the loop, and each is told its own', async () => {
    const { calls, load } = await openNoting()
    const found = await Promise.all([load('a', 'b'), load(), load('x', 'c')])
    expect(found).toEqual([['a', 'b'], [], [undefined, 'c']])
    expect(await load('b')).toEqual(['b'])
    expect(calls).toEqual([['a', 'b', 'x', 'c'], ['b']])
  })

  it('fail alone, when the store cannot give a part of them', async () => {
    const { load } = await openNoting('b')
    const found = await Promise.allSettled([load('a'), load('b'), load('c')])
    expect(found).toEqual([
      { status: 'fulfilled', value: ['a'] },
      { status: 'rejected', reason: expect.any(StoreError) },
      { status: 'fulfilled', value: ['c'] },
    ])
    await expect(load('b')).rejects.toThrow('away')
  })
})
