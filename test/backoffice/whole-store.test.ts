import { describe, expect, it } from 'vitest'
import { listPlacesOf } from '../../src/backoffice/index-kind.ts'
import { createPlaceCheck, findDamage } from '../../src/backoffice/store-check.ts'
import { copyStore } from '../../src/backoffice/transfer.ts'
import { claimStore } from '../../src/engine/format/meta.ts'
import type { Store, StoreRecord } from '../../src/store/port.ts'
import { openCardApi } from '../support/card-world.ts'
import { createMemoryState, createMemoryStore, type MemoryState } from '../support/memory-store.ts'
import { createToldRecords } from '../support/told-records.ts'

async function damageIn(store: Store): Promise<string[]> {
  const found: string[] = []
  for await (const { name, problem } of findDamage(store, () => {}))
    found.push(`${name}: ${problem}`)
  return found
}

/** Without ids and days: one of each is enough. */
function kindOf(record: StoreRecord): string {
  if (record.kind === 'log') return 'log'
  if (record.kind === 'index') return `index ${record.index}`
  const group = record.kind === 'root' ? '' : record.group.replace(/@.*/, '@')
  return `${record.aggregate.split(':')[0]} ${group}`
}

async function recordsOf(store: Store): Promise<Map<string, StoreRecord>> {
  const found = new Map<string, StoreRecord>()
  for await (const page of store.scan()) {
    for (const record of page) found.set(kindOf(record), record)
  }
  return found
}

/** Gives back how to undo it. */
function spoil(state: MemoryState, record: StoreRecord): () => void {
  if (record.kind === 'log') return spoilLog(state)
  if (record.kind === 'root') {
    const aggregate = state.aggregates.get(record.aggregate)!
    aggregate.root = '\u0001'
    return () => {
      aggregate.root = record.value
    }
  }
  const { id, value, rows } =
    record.kind === 'index'
      ? { id: record.sortKey, value: record.value, rows: state.indexes.get(record.index)! }
      : { ...record, rows: state.aggregates.get(record.aggregate)!.groups.get(record.group)! }
  // Many indexes say all in their keys.
  const other = record.kind === 'index' ? '\u0001' : id
  rows.delete(id)
  rows.set(other, '\u0001')
  return () => {
    rows.delete(other)
    rows.set(id, value)
  }
}

function spoilLog({ log }: MemoryState): () => void {
  const last = log.pop()!
  log.push({ ...last, entry: '\u0001' })
  return () => {
    log.pop()
    log.push(last)
  }
}

async function openStore() {
  const state = createMemoryState()
  const api = await openCardApi({ state })
  const { store } = api
  await claimStore(store, { eventRetentionDays: 45 })
  await createToldRecords().leave(store)
  expect(await api.send('POST', '/cards/card-1/topup', { amount: 1 })).toMatchObject({
    said: '422 116',
  })
  await api.send('POST', '/wallets/USD/fund', { amount: 1000 })
  await api.send('POST', '/cards/card-1/topup', { amount: 10 })
  await api.engine.ask({ eventId: 'ask', cardId: 'card-1' })
  const late = { requestType: 'Settlement', transactionId: 'late', amountMinor: 90_000 } as const
  await api.engine.ask({ eventId: 'settled', cardId: 'card-2', ...late })
  await api.engine.ask({ eventId: 'lost', cardId: 'nobody', requestType: 'Refund' })
  return { state, store, nowMs: api.clock.nowMs }
}

describe('a store with cards, money, customers, webhooks and verifications', () => {
  it('can be read, and copied with all of it', async () => {
    const { store, nowMs } = await openStore()
    expect(await damageIn(store)).toEqual([])
    const copy = createMemoryStore()
    await copyStore(store, copy, { onProgress() {}, nowMs })
    expect(await damageIn(copy)).toEqual([])
    expect([...(await recordsOf(copy)).keys()].sort()).toEqual(
      [...(await recordsOf(store)).keys()].sort(),
    )
  })

  it('is told of every kind of record that cannot be read, and of no other', async () => {
    const { state, store } = await openStore()
    const kinds = await recordsOf(store)
    expect([...kinds.keys()]).toEqual(
      expect.arrayContaining(['w ', 'w x@', 'a i@', 'cu ', 'k ', 'r r@', 'index negative']),
    )
    // Only the installation's key opens a picture.
    kinds.delete('ky m@')
    for (const [kind, record] of kinds) {
      const undo = spoil(state, record)
      const damage = await damageIn(store)
      expect({ kind, damage }).toEqual({ kind, damage: [expect.any(String)] })
      expect(damage[0]).not.toContain('deciding failed')
      undo()
    }
    expect(await damageIn(store)).toEqual([])
  })

  it('has each record in the places that it says it has', async () => {
    const { store } = await openStore()
    const expected = new Map<string, string[]>()
    for await (const page of store.scan()) {
      for (const record of page) {
        if (record.kind !== 'root' && record.kind !== 'child') continue
        const key = record.kind === 'root' ? { ...record, group: '', id: '' } : record
        for (const { index, sortKey } of listPlacesOf(key, record.value)) {
          expected.set(index, [...(expected.get(index) ?? []), sortKey])
        }
      }
    }
    expect([...expected.keys()].sort()).toEqual(
      expect.arrayContaining(['clients', 'customers', 'deliveries', 'events', 'kycs', 'kycs-due']),
    )
    for (const [index, sortKeys] of expected) {
      const entries = await store.range(index, '', 1_000)
      expect(sortKeys.sort()).toEqual(entries.map(({ sortKey }) => sortKey))
    }
  })

  it('is told of what a list has lost', async () => {
    const { state, store } = await openStore()
    async function lost(): Promise<string[]> {
      const places = createPlaceCheck()
      for await (const page of store.scan()) page.forEach(places.look)
      return places.lost(store)
    }
    expect(await lost()).toEqual([])
    for (const index of ['cards', 'deliveries', 'kycs-due']) state.indexes.delete(index)
    const places = (await lost()).map((sentence) => sentence.replace(/^(ev|w|ky):.*:/, '$1:'))
    const work = ['ev', 'w', 'ky'].map((kind) => `${kind}: it is not among what is to be done`)
    expect([...new Set(places)]).toEqual([...work, 'the list of all cards has 0 of 3'])
  })

  it('is told of what only a later release knows', async () => {
    const put = { kind: 'child', aggregate: 'zz:1', group: 'q', id: '1', value: '1' } as const
    const root = { kind: 'root', aggregate: 'zz:1', version: '1', value: '' } as const
    const newer = createMemoryStore()
    await newer.fill([root, put])
    expect(await damageIn(newer)).toEqual([
      'zz:1: it is of a kind that this release does not know',
      'zz:1, q 1: it is of a kind that this release does not know',
    ])
  })
})
