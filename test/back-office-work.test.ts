import { Registry } from 'prom-client'
import { expect, it, vi } from 'vitest'
import { tellWork } from '../src/back-office-work.ts'
import { indexes, projectionAggregate, timeSortKey } from '../src/engine/format/layout.ts'
import { watchBackOffice } from '../src/engine/notice/back-office-watch.ts'
import { maxCounted } from '../src/engine/notice/worklist-watch.ts'
import { newId } from '../src/management/id.ts'
import { noProgress } from '../src/projection/lease.ts'
import { createManagementMetrics } from '../src/telemetry/management-metrics.ts'
import { commandOf } from './store/conformance.ts'
import { createMemoryStore } from './support/memory-store.ts'

const nowMs = Date.parse('2026-11-17T12:00:00Z')
const minuteMs = 60_000

async function tell(store: ReturnType<typeof createMemoryStore>) {
  const watch = watchBackOffice(store, () => nowMs, minuteMs)
  await expect.poll(() => watch.work).not.toBeNull()
  watch.stop()
  const metrics = { projection: vi.fn(), transfers: vi.fn(), webhooks: vi.fn() }
  const oldestMs = tellWork(watch.work!, metrics, nowMs - minuteMs)
  const [[projection], [transfers], [webhooks]] = [
    metrics.projection.mock.calls[0]!,
    metrics.transfers.mock.calls[0]!,
    metrics.webhooks.mock.calls[0]!,
  ]
  return { oldestMs, projection, transfers, webhooks }
}

it('tells nothing of a store without a management plane', async () => {
  expect(await tell(createMemoryStore())).toMatchObject({
    oldestMs: 0,
    projection: { lagMs: 0 },
    transfers: { count: 0, oldestMs: 0 },
    webhooks: { pending: 0, oldestSeconds: 0 },
  })
})

it('tells lists as late since the start where nobody can tell how far they are', async () => {
  const store = createMemoryStore()
  await store.commit([commandOf({ aggregate: projectionAggregate, root: '{"format":1,"cur' })])
  expect(await tell(store)).toMatchObject({ projection: { lagMs: minuteMs } })
})

it('tells how late lists, webhooks and transfers are that nobody looks after', async () => {
  const store = createMemoryStore()
  const root = JSON.stringify({ ...noProgress, doneMs: nowMs - 90_000 })
  await store.commit([commandOf({ aggregate: projectionAggregate, root })])
  const due = (webhookId: string, dueMs: number, madeMs: number) => ({
    index: indexes.deliveries,
    sortKey: `org-1\n${webhookId}\n${String(dueMs).padStart(15, '0')}\n${newId('evt', madeMs)}`,
    value: '',
  })
  const left = timeSortKey(nowMs - 5 * minuteMs + 15_000, 'w:org-1:USD', 'client-1', 'r')
  const index = [
    due('whk_1', nowMs + minuteMs, nowMs - 2 * minuteMs),
    due('whk_2', nowMs + 60 * minuteMs, nowMs - 120 * minuteMs),
    { index: indexes.moving, sortKey: left, value: '' },
  ]
  await store.commit([commandOf({ aggregate: 'a', index })])
  expect(await tell(store)).toMatchObject({
    oldestMs: 5 * minuteMs,
    projection: { lagMs: 90_000 },
    transfers: { count: 1, oldestMs: 5 * minuteMs },
    webhooks: { pending: 2, oldestSeconds: 7_200 },
  })
})

it('leaves what only the thread of the management API counts: it may hang, and come back', async () => {
  const registry = new Registry()
  const metrics = createManagementMetrics([registry])
  metrics.webhooks({ pending: 1, oldestSeconds: 1, disabled: 3 })
  metrics.transfers({ count: 1, oldestMs: 1, unread: 0, kept: 4, repeated: 5, forgotten: 6 })
  const watch = watchBackOffice(createMemoryStore(), () => nowMs, minuteMs)
  await expect.poll(() => watch.work).not.toBeNull()
  watch.stop()
  tellWork(watch.work!, metrics, nowMs)
  const text = await registry.metrics()
  for (const line of [
    'arbiter_webhooks_pending 0',
    'arbiter_webhooks_disabled 3',
    'arbiter_transfers_kept 4',
    'arbiter_transfers_repeated 5',
    'arbiter_transfers_forgotten 6',
  ]) {
    expect(text.split('\n')).toContain(line)
  }
})

it('tells how late the webhooks of one receiver are behind another that has more than is counted', async () => {
  const store = createMemoryStore()
  const due = (organizationId: string, madeMs: number, i: number) => {
    const parts = [organizationId, 'whk_1', String(madeMs + i).padStart(15, '0')]
    const sortKey = [...parts, newId('evt', madeMs + i)].join('\n')
    return { index: indexes.deliveries, sortKey, value: '' }
  }
  const many = Array.from({ length: maxCounted + 1 }, (_, i) => due('a', nowMs - minuteMs, i))
  const index = [...many, due('z', nowMs - 60 * minuteMs, 0)]
  await store.commit([commandOf({ aggregate: 'a', index })])
  expect(await tell(store)).toMatchObject({
    webhooks: { pending: maxCounted, oldestSeconds: 3_600 },
  })
})

it('counts no further than its bound', async () => {
  const store = createMemoryStore()
  const index = Array.from({ length: maxCounted + 1 }, (_, i) => {
    const sortKey = timeSortKey(nowMs, 'w:org-1:USD', 'client-1', String(i))
    return { index: indexes.moving, sortKey, value: '' }
  })
  await store.commit([commandOf({ aggregate: 'a', index })])
  expect(await tell(store)).toMatchObject({ transfers: { count: maxCounted } })
})
