import { expect, it } from 'vitest'
import { createAggregates } from '../../src/engine/aggregates.ts'
import { projectionAggregate } from '../../src/engine/format/layout.ts'
import { createLease, encodeProgress, noProgress } from '../../src/projection/lease.ts'
import type { Store } from '../../src/store/port.ts'
import { withOneFlippedBit } from '../support/flipped-bit.ts'
import { createMemoryState, createMemoryStore } from '../support/memory-store.ts'

function openLeases() {
  const store = createMemoryStore()
  let versions = 0
  const aggregates = createAggregates({ store, newVersion: () => `v${versions++}` })
  return (instance: string, afterRead = async () => {}) => {
    const load: Store['load'] = async (keys) => {
      const found = await store.load(keys)
      await afterRead()
      return found
    }
    return createLease({ ...store, load }, aggregates, instance)
  }
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

it('a turn is not taken from one that says something after it was seen to stand still', async () => {
  const leaseOf = openLeases()
  const a = leaseOf('a')
  let speaks = false
  const b = leaseOf('b', async () => {
    if (speaks) await a.tell(far)
  })
  await a.look(0)
  await b.look(0)
  speaks = true
  await b.look(3_000)
  expect([b.isMine, b.progress.owner]).toEqual([false, 'a'])
})

it('with any one bit flipped what is known says the same, or the log is followed from its beginning, told once', async () => {
  const state = createMemoryState()
  const store = createMemoryStore(state)
  let versions = 0
  const aggregates = createAggregates({ store, newVersion: () => `v${versions++}` })
  const known = {
    format: 1,
    cursor: '7',
    settledMs: 1_763_586_000_000,
    doneMs: 7,
    owner: '',
    beat: 3,
  } as const
  await aggregates.change({
    aggregate: projectionAggregate,
    decide: () => ({ result: null, write: { root: encodeProgress(known) } }),
  })
  const stored = state.aggregates.get(projectionAggregate)!
  const whole = stored.root
  for (const text of withOneFlippedBit(whole)) {
    stored.root = text
    let told = 0
    const lease = createLease(store, aggregates, 'a', () => told++)
    await lease.look(0)
    await lease.look(1_000)
    const { cursor, settledMs, doneMs } = lease.progress
    expect(lease.isMine).toBe(true)
    const { cursor: place, settledMs: settled, doneMs: done } = told === 0 ? known : noProgress
    expect({ text, cursor, settledMs, doneMs }).toEqual({
      text,
      cursor: place,
      settledMs: settled,
      doneMs: done,
    })
    expect(told).toBeLessThanOrEqual(1)
  }
  stored.root = whole.replace('"format":1', '"format":2').replace(/,"sum".*"/, '')
  await expect(createLease(store, aggregates, 'a').look(0)).rejects.toThrow('newer release')
})
