import { expect, it } from 'vitest'
import { createAggregates } from '../../src/engine/aggregates.ts'
import { negativePrefix } from '../../src/engine/format/account-cards.ts'
import { accountAggregate, indexes } from '../../src/engine/format/layout.ts'
import { importRows } from '../../src/engine/import.ts'
import { addCustomer } from '../../src/management/customer.ts'
import { customerListing } from '../../src/projection/customer-listing.ts'
import { allTime, readPage } from '../../src/projection/listing.ts'
import { startEngine } from '../support/engine-world.ts'
import { createMemoryState, createMemoryStore } from '../support/memory-store.ts'

it('2,000 negative customers are listed by name, and more are looked for among all', async () => {
  const state = createMemoryState()
  const places = Array.from({ length: 2_001 }, (_, i) => {
    return `${negativePrefix('org-1', `cus_${String(i).padStart(4, '0')}`)}A${i}`
  })
  const isByName = async (count: number) => {
    const entries = places.slice(0, count).map((sortKey) => [sortKey, ''] as const)
    const others = ['org-0', 'org-10', 'org-2'].map(
      (id) => [`${negativePrefix(id, 'c')}A`, ''] as const,
    )
    state.indexes.set(indexes.negative, new Map([...others, ...entries]))
    const store = createMemoryStore(state)
    const listing = await customerListing(store, 'org-1', { negative: true }, allTime)
    return listing.range !== undefined
  }
  expect([await isByName(2_000), await isByName(2_001)]).toEqual([true, false])
})

it('a name is found by what it begins with in capitals, also where that ends with a sigma', async () => {
  const store = createMemoryStore()
  let versions = 0
  const aggregates = createAggregates({ store, newVersion: () => `v${versions++}` })
  for (const [i, name] of ['Οδυσσέας', 'ΟΔΥΣΣΕΑΣ ΠΑΠΑΣ', 'Ada'].entries()) {
    const fields = { customerId: `c-${i}`, organizationId: 'org-1', type: 'individual', name }
    await addCustomer(aggregates, fields as never, i)
  }
  const found = async (name: string) => {
    const listing = await customerListing(store, 'org-1', { name }, allTime)
    const { items } = await readPage(store, listing, '', 10)
    return items.map(({ customer }) => customer.customerId)
  }
  for (const name of ['ΟΔ', 'ΟΔΥΣ', 'οδυσ', 'ΟΔΥΣΣ'])
    expect(await found(name)).toEqual(['c-1', 'c-0'])
  for (const name of ['ΟΔΥΣΣΕΑΣ', 'οδυσσεας']) {
    expect([name, await found(name)]).toEqual([name, ['c-1']])
  }
})

it('a customer of whose accounts one cannot be read is passed over, and told of', async () => {
  const state = createMemoryState()
  const store = createMemoryStore(state)
  const engine = startEngine(store)
  const aggregates = createAggregates({ store, newVersion: engine.newVersion })
  for (const customerId of ['ada', 'ben']) {
    const fields = { customerId, organizationId: 'org-1', type: 'individual', name: customerId }
    await addCustomer(aggregates, fields as never, 0)
    const card = { cardId: `card-${customerId}`, accountId: customerId, customerId }
    await importRows(
      [{ ...card, organizationId: 'org-1', type: 'retail', currency: 'USD' }],
      engine,
    )
  }
  // An account that is negative has more cards than are known by name: so all accounts are looked at.
  state.indexes.set(indexes.negative, new Map([[`${negativePrefix('org-1', '')}A`, '']]))
  await store.fill([
    { kind: 'root', aggregate: accountAggregate('ben'), version: 'damaged', value: '[broken' },
  ])
  const unreadable: string[] = []
  const listing = await customerListing(store, 'org-1', {}, allTime, (id) => unreadable.push(id))
  const { items } = await readPage(store, listing, '', 10)
  expect(items.map(({ customer }) => customer.customerId)).toEqual(['ada'])
  expect(unreadable).toEqual(['ben'])
  engine.stop()
})
