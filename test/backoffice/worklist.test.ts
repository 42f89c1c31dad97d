import { expect, it } from 'vitest'
import { chosenIn, findWork, workKey } from '../../src/backoffice/worklist.ts'
import { entryOfNotice } from '../../src/domain/ledger/entry.ts'
import { encodeEntry } from '../../src/engine/format/entry-codec.ts'
import { indexes, timeSortKey } from '../../src/engine/format/layout.ts'
import { createMemoryStore } from '../support/memory-store.ts'

it('finds each of many that were listed at the same time, and all of them by pages', async () => {
  const store = createMemoryStore()
  const atMs = Date.UTC(2026, 10, 15)
  const notice = { type: 'ruleArmed', ruleId: 'x' } as const
  const value = encodeEntry(entryOfNotice(notice, { reason: 'test' }, 0, atMs))
  const sortKeys = Array.from({ length: 1_200 }, (_, i) => timeSortKey(atMs, 'account', String(i)))
  const index = indexes.anomalies
  await store.fill(
    sortKeys.map((sortKey) => ({ kind: 'index', aggregate: 'a:x', index, sortKey, value })),
  )
  for (const sortKey of [...sortKeys.slice(0, 60), sortKeys.at(-1)!]) {
    expect(await findWork('anomalies', workKey(sortKey), store)).toMatchObject({ sortKey })
  }
  const keysBefore = async (before: number) => {
    const listed = new Set<string>()
    for await (const { sortKey } of chosenIn('anomalies', { before }, store)) listed.add(sortKey)
    return listed
  }
  expect(await keysBefore(atMs + 1)).toEqual(new Set(sortKeys))
  expect(await keysBefore(atMs)).toEqual(new Set())
})
