import { expect, it } from 'vitest'
import { createAggregates } from '../../src/engine/aggregates.ts'
import { doneWrite, pendingPlace, readStanding } from '../../src/management/effect.ts'
import { createMemoryState, createMemoryStore } from '../support/memory-store.ts'

const nowMs = Date.UTC(2026, 10, 15, 12)
const dayMs = 86_400_000
const named = { clientId: 'cli_1', reference: 'Ref-1' }

it('what stands under a Reference is read at its home: money on its way before what was done, and that for a day', async () => {
  let versions = 0
  const store = createMemoryStore(createMemoryState())
  const aggregates = createAggregates({ store, newVersion: () => `v${versions++}` })
  const record = { hash: 'h', method: 'POST', path: '/', home: 'w:org-1:USD', startedAtMs: nowMs }
  const asked = { ...record, end: null, attempt: 0 }
  const standing = (seenAtMs: number, home = record.home) =>
    readStanding(store, named, { ...asked, seenAtMs, home })
  const write = (given: object) =>
    aggregates.change({ aggregate: record.home, decide: () => ({ result: null, write: given }) })

  expect(await standing(nowMs)).toEqual({ state: 'free' })
  const attempt = { ...named, id: 'trf_1', hash: 'h', path: '/', seenAtMs: nowMs }
  await write(doneWrite(attempt, { count: 1 }, nowMs, () => null))
  expect(await standing(nowMs + dayMs - 1)).toMatchObject({ state: 'done', note: { id: 'trf_1' } })
  expect(await standing(nowMs + dayMs)).toEqual({ state: 'free' })
  await write({ put: [{ ...pendingPlace(named), value: 'on its way' }] })
  expect(await standing(nowMs)).toEqual({ state: 'pending', record: 'on its way' })
  expect(await standing(nowMs, '')).toEqual({ state: 'free' })
})
