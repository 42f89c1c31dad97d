import { expect, it } from 'vitest'
import { repairAccount } from '../../src/backoffice/repair.ts'
import { verifyStore } from '../../src/backoffice/verify.ts'
import type { Transaction } from '../../src/domain/record/transaction.ts'
import { accountCodec, transactionCodec } from '../../src/engine/format/codec.ts'
import {
  accountAggregate,
  directoryKey,
  indexes,
  splitSortKey,
} from '../../src/engine/format/layout.ts'
import type { Store } from '../../src/store/port.ts'
import { commandOf } from '../store/conformance.ts'
import { openCards, startEngine } from '../support/engine-world.ts'
import { createMemoryState, createMemoryStore, type MemoryState } from '../support/memory-store.ts'
import { defaultSwitches, packOf } from '../support/world.ts'

const dayMs = 86_400_000
const retentionMs = 45 * dayMs

/** Some cards with asks, and one that nobody knows. */
async function openWorld(): Promise<{ state: MemoryState; store: Store }> {
  const state = createMemoryState()
  const store = createMemoryStore(state)
  const engine = startEngine(store)
  await openCards(engine, 8)
  for (let i = 0; i < 24; i++) {
    await engine.ask({ eventId: `ask-${i}`, cardId: i % 9 === 8 ? 'nobody' : `card-${i % 9}` })
  }
  engine.stop()
  return { state, store }
}

it('a log of more entries than are held at once is verified in parts, and all is told once', async () => {
  const { state, store } = await openWorld()
  const { length } = state.log
  const sound = await verifyStore(store, retentionMs)
  expect(sound).toMatchObject({ entries: length, accounts: 8, differences: [], tooShort: [] })
  const inParts = (progress: number[] = []) =>
    verifyStore(store, retentionMs, { onProgress: (n) => progress.push(n), atOnce: 5 })
  const progress: number[] = []
  expect(await inParts(progress)).toEqual(sound)
  expect(progress).toHaveLength(Math.ceil(length / 5))
  expect(progress.at(-1)).toBe(length)
  expect(progress).toEqual(progress.toSorted((a, b) => a - b))

  // A record that differs, an account with a gap, one that is older than the log, and a line that nobody can read.
  state.aggregates.get('a:account-1')!.root += ' '
  const lineOf = (name: string, which: number) =>
    state.log.flatMap(({ entry }, i) => (entry.includes(`"account-${name}"`) ? [i] : []))[which]!
  state.log.splice(lineOf('2', 1), 1)
  state.log.splice(lineOf('3', 0), 1)
  const unreadable = lineOf('4', 2)
  state.log[unreadable] = { ...state.log[unreadable]!, entry: '{' }
  const whole = await verifyStore(store, retentionMs)
  const found = await inParts()
  expect(whole.tooShort.toSorted()).toEqual(['account-2', 'account-3', 'account-4'])
  expect(whole.differences.length).toBeGreaterThanOrEqual(3)
  const told = ({ differences, tooShort, ...counts }: typeof whole) => ({
    ...counts,
    tooShort: tooShort.toSorted(),
    differences: differences.map((one) => JSON.stringify(one)).sort(),
  })
  expect(told(found)).toEqual(told(whole))
})

it('any number of accounts may be older than the log', async () => {
  const { state, store } = await openWorld()
  const { length } = state.log
  const last = state.log.at(-1)!
  const row = JSON.parse(state.log.find(({ entry }) => entry.includes('"ask-0"'))!.entry)
  const old = 120_000
  const kept = state.aggregates.get('a:account-1')!
  const account = accountCodec.decode(kept.root)
  const rootOf = (accountId: string, entryCount: number) =>
    accountCodec.encode({ ...account, accountId, entryCount })
  for (let i = 0; i < old; i++) {
    const entry = JSON.stringify(row.with(2, 7).with(4, `old-${i}`))
    state.log.push({ ...last, sequence: last.sequence + 1 + i, entry })
    state.aggregates.set(`a:old-${i}`, { ...kept, root: rootOf(`old-${i}`, 8) })
  }
  const { tooShort, differences, entries } = await verifyStore(store, retentionMs)
  expect({ entries, old: tooShort.length }).toEqual({ entries: length + old, old })
  expect(differences).toEqual([])

  // One without its last entry, one without its record, and one whose entry was lost in between.
  state.aggregates.set('a:old-5', { ...kept, root: rootOf('old-5', 7) })
  state.aggregates.delete('a:old-6')
  const entry = JSON.stringify(row.with(2, 9).with(4, 'old-7'))
  state.log.push({ ...last, sequence: last.sequence + 1 + old, entry })
  state.aggregates.set('a:old-7', { ...kept, root: rootOf('old-7', 10) })
  const found = await verifyStore(store, retentionMs)
  expect(found.differences).toEqual([
    { accountId: 'old-7', record: 'log', expected: 'entry 8', found: 'entry 9' },
    {
      accountId: 'old-5',
      record: 'account',
      expected: 'one with 8 entries',
      found: 'one with 7 entries',
    },
    { accountId: 'old-6', record: 'account', expected: 'one with 8 entries', found: 'nothing' },
  ])
})

it('what the log knows of events that are past their time is not missed', async () => {
  const { store } = await openWorld()
  const nowMs = Date.now() + retentionMs + 16 * dayMs
  while ((await store.sweep(nowMs, 0, 1_000)) > 0) {}
  expect((await verifyStore(store, retentionMs)).differences).not.toEqual([])
  expect((await verifyStore(store, retentionMs, { nowMs })).differences).toEqual([])
})

it('what a total says, and a server of 0.2.0 left out when it wrote the record again, is not missed', async () => {
  const state = createMemoryState()
  const store = createMemoryStore(state)
  const switches = { ...defaultSwitches, incrementalAmount: 'cumulative' } as const
  const engine = startEngine(store, { pack: packOf(switches) })
  await openCards(engine, 1)
  await engine.ask({ eventId: 'ask' })
  engine.stop()
  const rows = state.aggregates.get(accountAggregate('account-0'))!.groups.get('t')!
  const [[id, row]] = [...rows] as [[string, string]]
  const t = transactionCodec.decode(row) as Transaction
  expect(t.asks).toMatchObject([{ totalMinor: t.authorizedMinor }])
  const asks = t.asks.map((ask) => ({ ...ask, totalMinor: null }))
  rows.set(id, transactionCodec.encode({ ...t, asks }))
  expect((await verifyStore(store, retentionMs)).differences).toEqual([])
  rows.set(id, transactionCodec.encode({ ...t, asks, authorizedMinor: 1 }))
  expect((await verifyStore(store, retentionMs)).differences).toHaveLength(1)
})

it('a card whose place names another account, or that has none, is told', async () => {
  const { state, store } = await openWorld()
  const placeOf = (cardId: string) => state.aggregates.get(directoryKey(cardId).aggregate)!
  placeOf('card-1').groups.get('d')!.set('card-1', 'account-2')
  placeOf('card-3').groups.get('d')!.delete('card-3')
  const { differences } = await verifyStore(store, retentionMs)
  const place = { accountId: 'account-1', record: 'place of card card-1', expected: 'account-1' }
  expect(differences).toEqual([
    { ...place, found: 'account-2' },
    {
      accountId: 'account-3',
      record: 'place of card card-3',
      expected: 'account-3',
      found: 'nothing',
    },
  ])
})

it('a transaction that is not among what is due is told: its hold would never expire', async () => {
  const { store } = await openWorld()
  const [due] = await store.range(indexes.due, '', 1)
  const { parts } = splitSortKey(due!.sortKey)
  const [accountId, cardId, transactionId] = parts as [string, string, string]
  const aggregate = accountAggregate(accountId)
  const [root] = await store.load([{ aggregate, group: '', id: '' }])
  const unindex = [{ index: indexes.due, sortKey: due!.sortKey }]
  const expectedVersion = root!.version
  await store.commit([commandOf({ aggregate, expectedVersion, root: root!.value, unindex })])
  const { differences } = await verifyStore(store, retentionMs)
  const record = `due of transaction ${cardId} ${transactionId}`
  expect(differences).toEqual([{ accountId, record, expected: 'a place', found: 'nothing' }])
  const options = { retentionMs, nowMs: Date.now(), reason: 'test', newVersion: () => 'mended' }
  const repair = await repairAccount(store, accountId, { ...options, dryRun: false })
  expect(repair).toEqual({ refused: '', changed: [record] })
  expect(await store.range(indexes.due, '', 1)).toEqual([due])
  expect((await verifyStore(store, retentionMs)).differences).toEqual([])
})

it('a repair reads of what is due only the parts that its account can be in', async () => {
  const { state, store } = await openWorld()
  const first = (await store.range(indexes.due, '', 1))[0]!.sortKey
  const last = (await store.range(indexes.due, '', 1_000)).at(-1)!.sortKey
  const due = state.indexes.get(indexes.due)!
  // Of others: before all of this account, between them, and after.
  for (let i = 0; i < 9_000; i++) {
    const at = [first.slice(0, -6), first, last][i % 3]!
    due.set(`${at}${String(i).padStart(6, '0')}`, '')
  }
  let reads = 0
  const counted: Store = {
    ...store,
    range(index, after, limit) {
      if (index === indexes.due) reads++
      return store.range(index, after, limit)
    },
  }
  const options = { retentionMs, nowMs: Date.now(), reason: 'test', newVersion: () => 'mended' }
  for (const accountId of ['account-0', 'account-1', 'account-7']) {
    const repair = await repairAccount(counted, accountId, { ...options, dryRun: true })
    expect(repair).toEqual({ refused: '', changed: [] })
  }
  expect(reads).toBeLessThan(20)
  expect((await verifyStore(store, retentionMs)).differences).toEqual([])
})

it('more differences than are told are counted', async () => {
  const { state, store } = await openWorld()
  const last = state.log.at(-1)!
  for (let i = 1; i <= 1_500; i++) {
    state.log.push({ ...last, sequence: last.sequence + i, entry: 'no row' })
  }
  const { differences, differing } = await verifyStore(store, retentionMs)
  expect([differences.length, differing]).toEqual([1_000, 1_500])
})
