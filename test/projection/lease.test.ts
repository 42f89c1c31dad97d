import { expect, it } from 'vitest'
import { createAggregates } from '../../src/engine/aggregates.ts'
import { createLease } from '../../src/projection/lease.ts'
import { createMemoryStore } from '../support/memory-store.ts'

function openLeases() {
  const store = createMemoryStore()
  let versions = 0
  const aggregates = createAggregates({ store, newVersion: () => `v${versions++}` })
  return (instance: string) => createLease(store, aggregates, instance)
}

const far = { cursor: '7', settledMs: 7, doneMs: 7 }

it('a turn is taken over from one that stood still for three seconds, which then tells nothing', async () => {
  const leaseOf = openLeases()
  const [a, b] = [leaseOf('a'), leaseOf('b')]
  await a.look(0)
  await b.look(100_000)
  expect(await a.tell({ ...far, cursor: '5' })).toBe(true)
  // It is seen to move for the last time.
  await b.look(104_000)
  await b.look(106_999)
  expect(b.isMine).toBe(false)
  await b.look(107_000)
  expect([b.isMine, b.progress.cursor]).toEqual([true, '5'])
  expect(await a.tell(far)).toBe(false)
  expect(a.isMine).toBe(false)
  await b.release()
  await a.look(200_000)
  expect([a.isMine, a.progress.cursor]).toEqual([true, '5'])
})

it('of two that look at once one takes the turn', async () => {
  const leaseOf = openLeases()
  const [a, b] = [leaseOf('a'), leaseOf('b')]
  await Promise.all([a.look(0), b.look(0)])
  expect([a.isMine, b.isMine].filter(Boolean)).toHaveLength(1)
})
