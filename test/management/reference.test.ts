import { describe, expect, it } from 'vitest'
import { createAggregates } from '../../src/engine/aggregates.ts'
import { bindReference, endReference, readReference } from '../../src/management/reference.ts'
import {
  decodeReference,
  type ReferencedCall,
  type ReferenceRecord,
} from '../../src/management/reference-record.ts'
import { createMemoryState, createMemoryStore } from '../support/memory-store.ts'

const dayMs = 86_400_000
const nowMs = Date.UTC(2026, 10, 15, 23, 30)
const call: ReferencedCall = {
  clientId: 'cli_1',
  reference: 'Ref-1',
  hash: 'a'.repeat(64),
  method: 'POST',
  path: '/api/v1/cards/retail',
  home: 'a:account-1',
}
const other = { ...call, hash: 'b'.repeat(64) }
const done = { done: true, endedAtMs: nowMs, httpStatus: 200, code: '000', message: 'Success' }
const failed = { ...done, done: false, httpStatus: 422, code: '116' }

function open() {
  let versions = 0
  const state = createMemoryState()
  const store = createMemoryStore(state)
  const aggregates = createAggregates({ store, newVersion: () => `v${versions++}` })
  return { store, aggregates }
}

describe('a Reference', () => {
  it('lets the same payload try again, and another one only after a day', async () => {
    const { aggregates } = open()
    expect(await bindReference(aggregates, call, nowMs)).toMatchObject({ seenAtMs: nowMs })
    expect(await bindReference(aggregates, other, nowMs + 1)).toBe('other')
    expect(await bindReference(aggregates, call, nowMs + 5)).toMatchObject({ seenAtMs: nowMs + 5 })
    // The day counts from the newest attempt.
    expect(await bindReference(aggregates, other, nowMs + dayMs)).toBe('other')
    expect(await bindReference(aggregates, other, nowMs + 5 + dayMs)).toMatchObject({
      seenAtMs: nowMs + 5 + dayMs,
    })
  })

  it('is refused whatever the payload once it was done, for a day', async () => {
    const { aggregates } = open()
    await bindReference(aggregates, call, nowMs)
    await endReference(aggregates, call, done, nowMs)
    expect(await bindReference(aggregates, call, nowMs + 1)).toBe('seen')
    expect(await bindReference(aggregates, other, nowMs + 1)).toBe('seen')
    expect(await bindReference(aggregates, other, nowMs + dayMs)).toMatchObject({})
  })

  it('is refused by a commit, which a command that is still on its way cannot follow', async () => {
    const { aggregates, store } = open()
    const versionNow = () => Object.values(store.dump().aggregates)[0]!.version
    await bindReference(aggregates, call, nowMs)
    const begun = versionNow()
    expect(await bindReference(aggregates, other, nowMs)).toBe('other')
    const refused = versionNow()
    await endReference(aggregates, call, done, nowMs)
    const ended = versionNow()
    expect(await bindReference(aggregates, call, nowMs)).toBe('seen')
    expect(new Set([begun, refused, ended, versionNow()]).size).toBe(4)
  })

  it('stays done, whatever a slower attempt says later', async () => {
    const { aggregates, store } = open()
    await bindReference(aggregates, call, nowMs)
    await endReference(aggregates, call, done, nowMs)
    await endReference(aggregates, call, failed, nowMs + 1)
    expect((await readReference({ store, aggregates }, call, nowMs + 1))?.end).toEqual(done)
  })

  it('may be tried again after a failure, with the same payload', async () => {
    const { aggregates, store } = open()
    await bindReference(aggregates, call, nowMs)
    await endReference(aggregates, call, failed, nowMs)
    expect((await readReference({ store, aggregates }, call, nowMs))?.end).toEqual(failed)
    expect(await bindReference(aggregates, other, nowMs + 1)).toBe('other')
    expect(await bindReference(aggregates, call, nowMs + 1)).toMatchObject({ seenAtMs: nowMs + 1 })
    expect((await readReference({ store, aggregates }, call, nowMs + 1))?.end).toBeNull()
  })

  it('keeps the path that its home was told of, whatever path an equal call is refused by', async () => {
    const { aggregates } = open()
    const unnamed = { ...call, path: '/api/v1/cards/{cardId}/freeze' }
    const refuse = (ms: number) =>
      bindReference(aggregates, unnamed, ms, { homeOf: (_attempt, _startedAtMs, before) => before })
    expect(await refuse(nowMs)).toMatchObject({ path: unnamed.path, home: '' })
    expect(await bindReference(aggregates, call, nowMs + 1)).toMatchObject({ path: call.path })
    expect(await refuse(nowMs + 2)).toMatchObject({ path: call.path, home: call.home })
  })

  it('counts the attempts that ended, and none is ended by a slower one before it', async () => {
    const { aggregates } = open()
    const attempts = async () =>
      ((await bindReference(aggregates, call, nowMs)) as ReferenceRecord).attempt
    expect([await attempts(), await attempts()]).toEqual([0, 0])
    await endReference(aggregates, call, failed, nowMs)
    expect(await attempts()).toBe(1)
    await endReference(aggregates, call, failed, nowMs, 0)
    expect(await attempts()).toBe(1)
    await endReference(aggregates, call, failed, nowMs, 1)
    expect(await attempts()).toBe(2)
    // Nor by a slow one of another payload, of the day before.
    await endReference(aggregates, other, failed, nowMs, 2)
    expect(await attempts()).toBe(2)
  })

  it.each([
    ['GET', '/api/v1/cards/card-1', ''],
    ['CLI', 'wallet fund', 'w:org-1:USD'],
    ['DELETE', '/elsewhere', 'wh:org-1'],
  ])('is read as it was written: %s %s', async (method, path, home) => {
    const { aggregates, store } = open()
    const named = { ...call, method, path, home, hash: 'A_-cDeFgHiJk' }
    const message = 'two lines\nof it'
    await bindReference(aggregates, named, nowMs)
    await endReference(aggregates, named, { ...failed, endedAtMs: nowMs + 40, message }, nowMs)
    await bindReference(aggregates, named, nowMs + 1_000)
    expect(await readReference({ store, aggregates }, named, nowMs + 1_000)).toEqual({
      ...{ hash: named.hash, method, path, home, startedAtMs: nowMs, seenAtMs: nowMs + 1_000 },
      ...{ end: null, attempt: 1 },
    })
    const end = { ...failed, endedAtMs: nowMs + 1_040, message }
    await endReference(aggregates, named, end, nowMs + 1_000, 1)
    expect((await readReference({ store, aggregates }, named, nowMs + 1_000))?.end).toEqual(end)
  })

  it('is read as earlier releases wrote it', () => {
    const startedAtMs = Date.UTC(2026, 10, 15, 10)
    const started = startedAtMs.toString(36)
    const common = { hash: 'aGFzaA', home: 'a:1', startedAtMs, seenAtMs: startedAtMs, attempt: 0 }
    expect(decodeReference(`2${started}cards/card-1\naGFzaA\na:1`)).toEqual({
      ...{ ...common, method: 'PATCH', path: '/api/v1/cards/card-1', end: null },
    })
    expect(decodeReference(`0${started}\t/cards\naGFzaA\n\n\nk`)).toEqual({
      ...{ ...common, method: 'GET', path: '/cards', home: '' },
      end: { ...done, endedAtMs: startedAtMs + 20 },
    })
    const refused = `1${started}cards\naGFzaA\na:1\nk 2\n1k\n422\n116\ntwo\nlines`
    expect(decodeReference(refused)).toEqual({
      ...{ ...common, method: 'POST', path: '/api/v1/cards', attempt: 2 },
      seenAtMs: startedAtMs + 20,
      end: { ...failed, endedAtMs: startedAtMs + 56, message: 'two\nlines' },
    })
    expect(() => decodeReference('something else')).toThrow('another release')
  })

  it('is one of its client: another may use the same words', async () => {
    const { aggregates } = open()
    await bindReference(aggregates, call, nowMs, { end: done })
    expect(await bindReference(aggregates, { ...other, clientId: 'cli_2' }, nowMs)).toMatchObject(
      {},
    )
    expect(await bindReference(aggregates, call, nowMs)).toBe('seen')
  })

  it('stands once, also over midnight, and its first attempt stays known', async () => {
    const { aggregates, store } = open()
    await bindReference(aggregates, call, nowMs)
    await bindReference(aggregates, call, nowMs + 3_600_000)
    const kept = Object.values(store.dump().aggregates).flatMap(({ groups }) =>
      Object.values(groups).flat(),
    )
    expect(kept).toHaveLength(1)
    expect(await readReference({ store, aggregates }, call, nowMs + 3_600_000)).toMatchObject({
      startedAtMs: nowMs,
      seenAtMs: nowMs + 3_600_000,
    })
  })

  it('goes on with a clock that goes back', async () => {
    const { aggregates } = open()
    const tomorrowMs = nowMs + 3_600_000
    await bindReference(aggregates, call, tomorrowMs)
    expect(await bindReference(aggregates, call, nowMs)).toMatchObject({ seenAtMs: tomorrowMs })
    expect(await bindReference(aggregates, other, nowMs)).toBe('other')
  })

  it('lets one of two payloads through that come at once', async () => {
    const { aggregates } = open()
    const bound = await Promise.all([
      bindReference(aggregates, call, nowMs),
      bindReference(aggregates, other, nowMs),
    ])
    expect(bound.filter((one) => one === 'other')).toHaveLength(1)
  })

  it('goes with its day when nothing of that counts any more, and leaves no record', async () => {
    const { aggregates, store } = open()
    await bindReference(aggregates, call, nowMs, { end: done })
    const groups = () =>
      Object.values(store.dump().aggregates).flatMap(({ groups }) => Object.keys(groups))
    await store.sweep(nowMs + dayMs, 0, 100)
    expect(await readReference({ store, aggregates }, call, nowMs + dayMs - 1)).not.toBeNull()
    await store.sweep(nowMs + 3 * dayMs, 0, 100)
    expect(groups()).toEqual([])
  })
})
