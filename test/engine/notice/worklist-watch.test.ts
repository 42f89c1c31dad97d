import { expect, it } from 'vitest'
import { indexes } from '../../../src/engine/format/layout.ts'
import { maxCounted, watchWorklists } from '../../../src/engine/notice/worklist-watch.ts'
import { commandOf } from '../../store/conformance.ts'
import { createMemoryStore } from '../../support/memory-store.ts'

it('counts what waits for people, whoever put it there, and no further than its bound', async () => {
  const store = createMemoryStore()
  const put = (aggregate: string, index: string, entries: number) =>
    store.commit([
      commandOf({
        aggregate,
        index: Array.from({ length: entries }, (_, i) => ({
          index,
          sortKey: `${aggregate}-${i}`,
          value: '',
        })),
      }),
    ])
  await put('a', indexes.unmatched, 2)
  await put('b', indexes.unmatched, 1)
  await put('c', indexes.anomalies, maxCounted + 5)
  const watch = watchWorklists(store, 5)
  await expect.poll(() => watch.waiting).toEqual({ unmatched: 3, anomalies: maxCounted })
  await store.commit([
    commandOf({
      aggregate: 'b',
      expectedVersion: 'next',
      newVersion: 'done',
      unindex: [{ index: indexes.unmatched, sortKey: 'b-0' }],
    }),
  ])
  await expect.poll(() => watch.waiting.unmatched).toBe(2)
  watch.stop()
})
