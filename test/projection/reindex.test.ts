import { describe, expect, it } from 'vitest'
import { createAggregates } from '../../src/engine/aggregates.ts'
import { indexes } from '../../src/engine/format/layout.ts'
import { importRows } from '../../src/engine/import.ts'
import { isNegative } from '../../src/management/customer.ts'
import { cardListing } from '../../src/projection/card-listing.ts'
import { allTime, readPage } from '../../src/projection/listing.ts'
import { createProjector } from '../../src/projection/projector.ts'
import { cardPlaces, indexCards, restartProjection } from '../../src/projection/reindex.ts'
import { createRowDesk } from '../../src/projection/row-desk.ts'
import { startEngine } from '../support/engine-world.ts'
import { createMemoryState, createMemoryStore } from '../support/memory-store.ts'
import { rowsIn } from '../support/row-check.ts'

async function openWorld() {
  const state = createMemoryState()
  const store = createMemoryStore(state)
  const engine = startEngine(store)
  const rows = Array.from({ length: 3 }, (_, i) => ({
    cardId: `card-${i}`,
    customerId: 'customer-1',
    accountId: `account-${Math.min(i, 1)}`,
    type: i === 2 ? 'corporate' : 'retail',
    currency: 'USD',
    country: 'US',
    ...(i < 2 && { balance: '10.00' }),
  }))
  expect((await importRows(rows, engine)).problems).toEqual([])
  async function reindex(): Promise<void> {
    for await (const places of cardPlaces(store)) await indexCards(engine, places)
  }
  async function listed(filters: Parameters<typeof cardListing>[2] = {}): Promise<string[]> {
    const listing = await cardListing(store, 'org-1', filters, allTime)
    const { items } = await readPage(store, listing, '', 10)
    return items.map(({ card }) => card.cardId).sort()
  }
  return { state, store, engine, reindex, listed }
}

describe('cards that no list has', () => {
  it('are put into their lists, once their organization has adopted them', async () => {
    const { state, engine, reindex, listed } = await openWorld()
    const adopting = { type: 'adopt', organizationId: 'org-1', country: 'US' } as const
    for (const account of ['account-0', 'account-1']) await engine.operate(account, adopting, 'x')
    expect(await listed()).toEqual([])
    await reindex()
    const after = structuredClone(state.indexes)
    expect(await listed()).toEqual(['card-0', 'card-1', 'card-2'])
    expect(await listed({ type: 'corporate' })).toEqual(['card-2'])
    expect(await listed({ customerId: 'customer-1' })).toHaveLength(3)
    const owners = [...state.indexes.get(indexes.organizationCards)!.keys()].map(
      (key) => key.split('\n')[0],
    )
    expect(new Set(owners)).toEqual(new Set(['org-1']))
    await reindex()
    expect(state.indexes).toEqual(after)
  })

  it('stand in the list of the status that they have', async () => {
    const { state, engine, reindex, listed } = await openWorld()
    const adopting = { type: 'adopt', organizationId: 'org-1', country: 'US' } as const
    await engine.operate('account-0', adopting, 'x')
    const freezing = { type: 'changeCard', cardId: 'card-0', set: { status: 'Frozen' } } as const
    await engine.operate('account-0', freezing, 'x')
    state.indexes.delete(indexes.organizationCards)
    await reindex()
    expect(await listed({ status: 'Frozen' })).toEqual(['card-0'])
    await engine.operate('account-0', { type: 'unfreeze', cardId: 'card-0' }, 'x')
    expect(await listed({ status: 'Frozen' })).toEqual([])
  })

  it('are known to be more than their account names, in whichever order they are come by', async () => {
    const { store, engine } = await openWorld()
    const ids = [...Array.from({ length: 100 }, (_, i) => `named-${i}`), 'another']
    const shared = { accountId: 'many', organizationId: 'org-1', type: 'retail', currency: 'USD' }
    const rows = ids.map((cardId, i) => ({
      ...shared,
      cardId,
      customerId: `of-${cardId}`,
      ...(i === 0 && { balance: '-5.00' }),
    }))
    expect((await importRows(rows, engine)).problems).toEqual([])
    const isNegativeNow = () =>
      isNegative(store, { organizationId: 'org-1', customerId: 'of-another' })
    expect(await isNegativeNow()).toBe(true)
    for (const page of [ids.slice(100), ids.slice(0, 100)]) {
      await indexCards(
        engine,
        page.map((cardId) => ({ cardId, accountId: 'many' })),
      )
    }
    expect(await isNegativeNow()).toBe(true)
  })
})

describe('a transactions list that is made anew', () => {
  it('has what was booked before its organization adopted the cards, and nothing twice', async () => {
    const { store, engine } = await openWorld()
    const time = { ms: Date.now() }
    let versions = 0
    const aggregates = createAggregates({ store, newVersion: () => `v${versions++}` })
    const clock = { nowMs: () => time.ms, monoMs: () => time.ms }
    const consumers = [createRowDesk({ aggregates, retentionDays: 400, nowMs: clock.nowMs })]
    const onTrouble = (message: string) => expect(message).toBe('')
    const instance = 'i'
    const projector = createProjector({ store, aggregates, clock, instance, consumers, onTrouble })
    const catchUp = async () => {
      for (let i = 0; i < 3; i++) {
        time.ms += 1_000
        while (await projector.step()) {}
      }
    }
    await engine.ask({ eventId: 'e1', amountMinor: 100 })
    await catchUp()
    const adopting = { type: 'adopt', organizationId: 'org-1', country: 'US' } as const
    await engine.operate('account-0', adopting, 'x')
    await engine.ask({ eventId: 'e2', amountMinor: 100 })
    await catchUp()
    const ids = async () => (await rowsIn(store, 'org-1')).map(({ eventId }) => eventId)
    expect(await ids()).toEqual(['e2'])
    for (let i = 0; i < 2; i++) {
      await restartProjection(aggregates)
      await catchUp()
      expect(await ids()).toEqual(['e2', 'e1'])
    }
  })
})
