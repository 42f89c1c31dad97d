import { describe, expect, it } from 'vitest'
import { importRows } from '../../../src/engine/import.ts'
import { addCustomer } from '../../../src/management/customer.ts'
import { openApi } from '../../support/api-world.ts'

interface Data {
  readonly items: readonly Record<string, unknown>[]
  readonly nextCursor: string | null
}

async function openWorld() {
  const world = await openApi()
  const { engine, aggregates, time } = world
  return {
    ...world,
    async issue(i: number, given: Record<string, string> = {}) {
      time.ms += 60_000
      const row = {
        cardId: `card-${i}`,
        customerId: `customer-${i % 2}`,
        accountId: `account-${i}`,
        organizationId: 'org-1',
        type: 'retail',
        currency: 'USD',
        country: 'US',
        balance: '10.00',
        ...given,
      }
      expect((await importRows([row], engine)).problems).toEqual([])
    },
    add(customerId: string, name: string, given: Record<string, string> = {}) {
      time.ms += 60_000
      const made = { customerId, organizationId: 'org-1', type: 'individual', name, ...given }
      return addCustomer(aggregates, made as never, time.ms)
    },
    async get(target: string) {
      // Tokens are bounded by the second.
      time.ms += 250
      const path = `/api/v1${target}`
      const { status, body } = await world.call('GET', path, await world.headersOf('GET', path))
      expect(world.bugs).toEqual([])
      return { status, code: body.responseCode, data: body.data as Data }
    },
  }
}

describe('GET /cards', () => {
  it('lists the own cards, the newest first, by every filter', async () => {
    const { issue, get, engine, time } = await openWorld()
    const startMs = time.ms
    await issue(0)
    await issue(1, { type: 'corporate' })
    await issue(2, { currency: 'NGN' })
    await issue(3, { organizationId: 'org-2' })
    await issue(4)
    await engine.operate('account-4', { type: 'adjust', amountMinor: -2_000, reference: 'r' }, 'x')
    await engine.operate(
      'account-0',
      { type: 'changeCard', cardId: 'card-0', set: { status: 'Frozen' } },
      'x',
    )
    const idsOf = async (query: string) => {
      const { data } = await get(`/cards?${query}`)
      return data.items.map(({ cardId }) => cardId)
    }
    expect(await idsOf('limit=25')).toEqual(['card-4', 'card-2', 'card-1', 'card-0'])
    expect(await idsOf('status=Frozen')).toEqual(['card-0'])
    expect(await idsOf('status=Active')).toEqual(['card-4', 'card-2', 'card-1'])
    expect(await idsOf('type=corporate')).toEqual(['card-1'])
    expect(await idsOf('type=corporate&status=Frozen')).toEqual([])
    expect(await idsOf('type=retail&status=Frozen')).toEqual(['card-0'])
    expect(await idsOf('customerId=customer-0')).toEqual(['card-4', 'card-2', 'card-0'])
    expect(await idsOf('customerId=customer-0&currency=NGN')).toEqual(['card-2'])
    expect(await idsOf('negative=true')).toEqual(['card-4'])
    expect(await idsOf('negative=false&type=retail')).toEqual(['card-2', 'card-0'])
    const after = new Date(startMs + 90_000).toISOString()
    expect(await idsOf(`startDate=${after}`)).toEqual(['card-4', 'card-2', 'card-1'])
    expect(await idsOf(`endDate=${after}`)).toEqual(['card-0'])
    await engine.operate('account-0', { type: 'unfreeze', cardId: 'card-0' }, 'x')
    expect(await idsOf('status=Frozen')).toEqual([])
    const { data } = await get('/cards?limit=1')
    expect(data.items[0]).toMatchObject({
      balances: { posted: -10 },
      midCounts: { blackListed: 0 },
    })
    expect((await get(`/cards?limit=3&cursor=${data.nextCursor}`)).data.items).toHaveLength(3)
    expect(await get(`/customers?cursor=${data.nextCursor}`)).toMatchObject({ code: '131' })
    expect(await get('/cards?negative=maybe')).toMatchObject({ status: 400, code: '136' })
  })
})

describe('GET /customers', () => {
  it('lists the own customers, the newest first, by every filter', async () => {
    const { add, issue, get, engine } = await openWorld()
    await add('customer-0', 'Ada Obi', { clientReference: 'user 1' })
    await add('customer-1', 'Adé Ltd', { type: 'business', clientReference: 'user\n2' })
    await add('customer-2', 'Bob', { organizationId: 'org-2', clientReference: 'user 1' })
    await add('customer-3', 'Bola', { clientReference: 'user 1' })
    await issue(0)
    await engine.operate('account-0', { type: 'adjust', amountMinor: -2_000, reference: 'r' }, 'x')
    const idsOf = async (query: string) => {
      const { data } = await get(`/customers?${query}`)
      return data.items.map(({ customerId }) => customerId)
    }
    expect(await idsOf('limit=25')).toEqual(['customer-3', 'customer-1', 'customer-0'])
    expect(await idsOf('type=business')).toEqual(['customer-1'])
    expect(await idsOf('clientReference=user%201')).toEqual(['customer-3', 'customer-0'])
    expect(await idsOf('clientReference=user%0A2')).toEqual(['customer-1'])
    expect(await idsOf('clientReference=nobody')).toEqual([])
    expect(await idsOf('name=ad')).toEqual(['customer-1', 'customer-0'])
    expect(await idsOf('name=AD%C3%89')).toEqual(['customer-1'])
    expect(await idsOf('negative=true')).toEqual(['customer-0'])
    const first = await get('/customers?limit=2')
    expect(first.data.items[0]).toMatchObject({
      customerId: 'customer-3',
      cards: 0,
      negative: false,
    })
    const rest = await get(`/customers?limit=2&cursor=${first.data.nextCursor}`)
    expect(rest.data).toMatchObject({
      items: [{ customerId: 'customer-0', cards: 1 }],
      nextCursor: null,
    })
  })
})
