import { describe, expect, it } from 'vitest'
import { createAggregates } from '../../src/engine/aggregates.ts'
import { indexes } from '../../src/engine/format/layout.ts'
import { importRows } from '../../src/engine/import.ts'
import {
  addCustomer,
  cardsOfCustomer,
  customerFields,
  readCustomer,
  setCustomerSuspended,
  shownCustomer,
  sumOfCards,
} from '../../src/management/customer.ts'
import { startEngine } from '../support/engine-world.ts'
import { createMemoryState, createMemoryStore } from '../support/memory-store.ts'

const nowMs = Date.UTC(2026, 10, 15, 10)
const ada = {
  customerId: 'customer-1',
  organizationId: 'org-1',
  type: 'individual',
  name: 'Ada Obi',
} as const

function openStore() {
  const store = createMemoryStore(createMemoryState())
  let versions = 0
  return { store, aggregates: createAggregates({ store, newVersion: () => `v${versions++}` }) }
}

describe('a customer', () => {
  it('that an earlier release took with control characters can be read', async () => {
    const { store, aggregates } = openStore()
    const name = 'Ada\u001b[2J'
    const address = { line1: '1\n2', city: 'Lagos', state: 'Lagos', country: 'NG' }
    await addCustomer(aggregates, { ...ada, name, address }, nowMs)
    expect(await readCustomer(store, 'customer-1')).toMatchObject({ name, address })
    expect(customerFields.safeParse({ ...ada, name }).success).toBe(false)
  })

  it('is made once, and stays as it is when it is made again', async () => {
    const { store, aggregates } = openStore()
    const made = await addCustomer(aggregates, ada, nowMs)
    const again = await addCustomer(aggregates, { ...ada, name: 'Other' }, nowMs + 1)
    expect(made).toMatchObject({ value: { added: true, customer: ada } })
    expect(again).toMatchObject({ value: { added: false, customer: ada } })
    expect(await readCustomer(store, 'customer-1')).toMatchObject({ ...ada, createdAtMs: nowMs })
    expect(await store.count(indexes.customers, 'org-1\n\n')).toBe(1)
  })

  it('is no one else: another organization or type is refused', async () => {
    const { aggregates } = openStore()
    await addCustomer(aggregates, ada, nowMs)
    for (const other of [{ organizationId: 'org-2' }, { type: 'business' as const }]) {
      const outcome = await addCustomer(aggregates, { ...ada, ...other }, nowMs)
      expect(outcome).toEqual({ refused: 'there is another customer customer-1' })
    }
  })

  it('is listed by its organization, the newest first', async () => {
    const { store, aggregates } = openStore()
    for (const [i, customerId] of ['a', 'b', 'c'].entries()) {
      await addCustomer(aggregates, { ...ada, customerId }, nowMs + i)
    }
    await addCustomer(aggregates, { ...ada, customerId: 'd', organizationId: 'org-2' }, nowMs + 9)
    const listed = await store.range(indexes.customers, 'org-1\n\n', 3)
    expect(listed.map(({ value }) => value)).toEqual(['c', 'b', 'a'])
  })

  it('can be suspended and restored', async () => {
    const { store, aggregates } = openStore()
    await addCustomer(aggregates, ada, nowMs)
    const status = async () =>
      shownCustomer((await readCustomer(store, 'customer-1'))!, { cards: 0, negative: false })
        .kycStatus
    expect(await setCustomerSuspended(aggregates, 'customer-1', true)).toBe('')
    expect(await status()).toBe('Suspended')
    expect(await setCustomerSuspended(aggregates, 'customer-1', false)).toBe('')
    expect(await status()).toBe('Approved')
    expect(await setCustomerSuspended(aggregates, 'nobody', true)).toContain('no customer')
  })

  it('has its own cards, the newest first, and is negative when one of them is', async () => {
    const { store, aggregates } = openStore()
    const time = { ms: nowMs }
    const engine = startEngine(store, { clock: { nowMs: () => time.ms, monoMs: () => time.ms } })
    await addCustomer(aggregates, ada, nowMs)
    const customer = (await readCustomer(store, 'customer-1'))!
    const card = (cardId: string, more: object) =>
      importRows(
        [{ cardId, customerId: 'customer-1', type: 'retail', currency: 'USD', ...more }],
        engine,
      )
    await card('card-1', { organizationId: 'org-1' })
    time.ms += 1
    await card('card-2', { organizationId: 'org-1', accountId: 'shared' })
    await card('foreign', { organizationId: 'org-2', balance: '-1.00' })
    await card('none', { customerId: 'customer-10', organizationId: 'org-1', balance: '-1.00' })
    const found: string[] = []
    for await (const page of cardsOfCustomer(store, customer)) {
      found.push(...page.map(({ cardId }) => cardId))
    }
    expect(found).toEqual(['card-2', 'card-1'])
    expect(await sumOfCards(store, customer)).toEqual({ cards: 2, negative: false })
    time.ms += 1
    await card('card-3', { organizationId: 'org-1', balance: '-0.01', status: 'Terminated' })
    expect(await sumOfCards(store, customer)).toEqual({ cards: 3, negative: true })
    engine.stop()
  })
})
