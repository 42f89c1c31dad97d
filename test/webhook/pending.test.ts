import { expect, it } from 'vitest'
import { indexes } from '../../src/engine/format/layout.ts'
import { newId } from '../../src/management/id.ts'
import { maxCountedDeliveries, readPending } from '../../src/webhook/pending.ts'
import { commandOf } from '../store/conformance.ts'
import { createMemoryStore } from '../support/memory-store.ts'

const nowMs = Date.parse('2026-11-17T12:00:00Z')
const hourMs = 3_600_000

function due(organizationId: string, webhookId: string, count: number, madeMs: number) {
  return Array.from({ length: count }, (_, i) => {
    const time = String(madeMs + i).padStart(15, '0')
    const sortKey = [organizationId, webhookId, time, newId('evt', madeMs + i)].join('\n')
    return { index: indexes.deliveries, sortKey, value: '' }
  })
}

async function storeOf(...entries: readonly ReturnType<typeof due>[]) {
  const store = createMemoryStore()
  await store.commit([commandOf({ aggregate: 'a', index: entries.flat() })])
  return store
}

it('finds the oldest of an endpoint behind one that has more than is counted', async () => {
  const store = await storeOf(
    due('a', 'whk_1', maxCountedDeliveries + 1, nowMs),
    due('z', 'whk_2', 1, nowMs - hourMs),
  )
  const counted = { pending: maxCountedDeliveries, oldestMs: nowMs - hourMs }
  expect(await readPending(store)).toEqual(counted)
})

it('counts all of many endpoints, and of one alone', async () => {
  const store = await storeOf(
    due('a', 'whk_1', 1_205, nowMs),
    due('a', 'whk_11', 100, nowMs - hourMs),
    due('b', 'whk_2', 99, nowMs - 2 * hourMs),
    due('b', 'whk_3', 2_100, nowMs),
    due('c', 'whk_4', 1, nowMs),
  )
  expect(await readPending(store)).toEqual({ pending: 3_505, oldestMs: nowMs - 2 * hourMs })
  expect(await readPending(store, 'a\nwhk_1\n')).toEqual({ pending: 1_205, oldestMs: nowMs })
  expect((await readPending(store, 'b\nwhk_3\n')).pending).toBe(2_100)
  expect(await readPending(store, 'd\nwhk_5\n')).toEqual({ pending: 0, oldestMs: null })
})
