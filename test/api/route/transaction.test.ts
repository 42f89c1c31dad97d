import { describe, expect, it } from 'vitest'
import { importRows } from '../../../src/engine/import.ts'
import { addCustomer } from '../../../src/management/customer.ts'
import { createProjector } from '../../../src/projection/projector.ts'
import { createRowDesk } from '../../../src/projection/row-desk.ts'
import { openApi } from '../../support/api-world.ts'
import { handed, testEvent } from '../../support/engine-world.ts'

async function openWorld() {
  const world = await openApi()
  const { engine, store, aggregates, clock, time } = world
  const rows = ['org-1', 'org-2'].map((organizationId, i) => ({
    cardId: `card-${i}`,
    customerId: `customer-${i}`,
    accountId: `account-${i}`,
    organizationId,
    type: 'retail',
    currency: 'USD',
    country: 'US',
    balance: '1000.00',
  }))
  expect((await importRows(rows, engine)).problems).toEqual([])
  const desk = createRowDesk({ aggregates, retentionDays: 400, nowMs: clock.nowMs })
  const consumers = [desk]
  const onTrouble = (message: string) => expect(message).toBe('')
  const instance = 'i'
  const projector = createProjector({ store, aggregates, clock, instance, consumers, onTrouble })
  let slots = 0
  return {
    ...world,
    async ask(event: Parameters<typeof testEvent>[0]) {
      time.ms += 1_000
      const slot = `s${slots++}`
      engine.deliver(handed(testEvent(event), slot, time.ms))
      await expect.poll(() => engine.answers.has(slot), { interval: 2 }).toBe(true)
      while (await projector.step()) {}
    },
    async get(target: string) {
      // Tokens are bounded by the second.
      time.ms += 250
      const path = `/api/v1${target}`
      const { status, body } = await world.call('GET', path, await world.headersOf('GET', path))
      return { status, code: body.responseCode, data: body.data as never as Data, bugs: world.bugs }
    },
  }
}

interface Data {
  readonly items: readonly Record<string, unknown>[]
  readonly nextCursor: string | null
  readonly [name: string]: unknown
}

describe('GET /transactions', () => {
  it('shows rows of the own organization as the contract has them', async () => {
    const { ask, get } = await openWorld()
    await ask({
      eventId: 'e1',
      amountMinor: 1_250,
      merchant: { mid: 'MID1', mcc: '5411', name: 'Shop', city: 'Lagos', country: 'NG' },
    })
    await ask({ eventId: 'e2', amountMinor: 100, cardId: 'card-1' })
    const { status, data } = await get('/transactions')
    expect(status).toBe(200)
    expect(data).toEqual({
      items: [
        {
          transactionType: 'Authorization',
          status: 'Approved',
          transactionId: 'e1',
          relayEventId: 'e1',
          transferId: null,
          cardId: 'card-0',
          customerId: 'customer-0',
          accountId: 'account-0',
          relatedCardId: null,
          amount: 12.5,
          currency: 'USD',
          responseCode: '000',
          reason: 'approved',
          decidedBy: 'engine',
          merchant: { mid: 'MID1', mcc: '5411', name: 'Shop', city: 'Lagos', country: 'NG' },
          reference: null,
          occurredAt: null,
          bookedAt: '2026-11-15T10:00:01.000Z',
        },
      ],
      nextCursor: null,
    })
  })

  it('goes on from a cursor while rows arrive, and refuses one of another list, filter or client', async () => {
    const { ask, get, time } = await openWorld()
    for (let i = 0; i < 5; i++) await ask({ eventId: `e${i}`, amountMinor: 100 })
    const first = await get('/transactions?limit=2&cardId=card-0')
    await ask({ eventId: 'e5', amountMinor: 100 })
    const next = encodeURIComponent(first.data.nextCursor!)
    const second = await get(`/transactions?limit=3&cardId=card-0&cursor=${next}`)
    const ids = [...first.data.items, ...second.data.items].map(({ relayEventId }) => relayEventId)
    expect(ids).toEqual(['e4', 'e3', 'e2', 'e1', 'e0'])
    expect(second.data.nextCursor).toBeNull()
    for (const wrong of [
      `/transactions?cardId=card-1&cursor=${next}`,
      `/transactions?cursor=${next}`,
      `/transactions?cardId=card-0&currency=USD&cursor=${next}`,
      `/transactions?cardId=card-0&cursor=${next.slice(0, -2)}`,
      '/transactions?cursor=abc',
      '/transactions?cursor=',
    ]) {
      expect(await get(wrong)).toMatchObject({ status: 400, code: '131' })
    }
    time.ms += 25 * 3_600_000
    expect(await get(`/transactions?cardId=card-0&cursor=${next}`)).toMatchObject({ code: '131' })
  })

  it('is narrowed by every filter, and refuses what is none', async () => {
    const { ask, get } = await openWorld()
    await ask({ eventId: 'e1', amountMinor: 1_000 })
    await ask({ eventId: 'e2', amountMinor: 500_000_00 })
    await ask({ eventId: 'e3', requestType: 'Refund', transactionId: 'e1', amountMinor: 1_000 })
    const idsOf = async (query: string) => {
      const { data } = await get(`/transactions?${query}`)
      return data.items.map(({ relayEventId }) => relayEventId)
    }
    expect(await idsOf('status=Declined')).toEqual(['e2'])
    expect(await idsOf('transactionType=Refund')).toEqual(['e3'])
    expect(await idsOf('transactionId=e1')).toEqual(['e3', 'e1'])
    expect(await idsOf('customerId=customer-0&currency=USD')).toEqual(['e3', 'e2', 'e1'])
    expect(await idsOf('customerId=customer-1')).toEqual([])
    expect(await idsOf('cardId=card-1')).toEqual([])
    expect(await idsOf('currency=EUR')).toEqual([])
    expect(await idsOf('startDate=2026-11-15&endDate=2026-11-15')).toEqual(['e3', 'e2', 'e1'])
    expect(await idsOf('startDate=2026-11-15T10:00:02Z')).toEqual(['e3', 'e2'])
    expect(await idsOf('endDate=2026-11-15T10:00:02Z')).toEqual(['e1'])
    expect(await idsOf('endDate=2026-11-14')).toEqual([])
    for (const [query, code] of [
      ['limit=0', '136'],
      ['limit=101', '136'],
      ['limit=abc', '136'],
      ['startDate=yesterday', '132'],
      ['startDate=2026-02-30', '132'],
      ['startDate=2026-11-16&endDate=2026-11-15T00:00:00Z', '132'],
      ['startDate=2026-11-16&endDate=2026-11-15', '132'],
      ['startDate=2025-01-01&endDate=2026-11-15', '132'],
      ['transactionType=Purchase', '136'],
      ['status=Open', '136'],
      ['currency=XX', '121'],
      [`cardId=${'x'.repeat(65)}`, '112'],
      ['cardID=card-0', '131'],
      ['colour=red', '131'],
      ['limit=5&limit=6', '131'],
    ]) {
      expect(await get(`/transactions?${query}`), query).toMatchObject({ status: 400, code })
    }
  })

  it('says of an id of another organization what it says of one that nobody knows, in every list', async () => {
    const { ask, get, aggregates, clock } = await openWorld()
    const theirs = { customerId: 'customer-1', organizationId: 'org-2', name: 'Bob' }
    await addCustomer(aggregates, { ...theirs, type: 'individual' }, clock.nowMs())
    await ask({ eventId: 'e1', cardId: 'card-1', amountMinor: 1_000 })
    for (const [list, unknown] of [
      ['/transactions?cardId=card-1', '/transactions?cardId=card-9'],
      ['/transactions?customerId=customer-1', '/transactions?customerId=customer-9'],
      ['/transactions?transactionId=e1', '/transactions?transactionId=e9'],
      ['/cards?customerId=customer-1', '/cards?customerId=customer-9'],
    ] as const) {
      const answer = await get(list)
      expect(answer, list).toMatchObject({ status: 200, data: { items: [], nextCursor: null } })
      expect(answer, list).toEqual(await get(unknown))
    }
  })

  it('shows one lifecycle with its sums, and none of another organization', async () => {
    const { ask, get } = await openWorld()
    await ask({ eventId: 'e1', amountMinor: 1_000 })
    await ask({
      eventId: 'e2',
      requestType: 'Settlement',
      transactionId: 'e1',
      amountMinor: 400,
      final: false,
    })
    const { status, data } = await get('/cards/card-0/transactions/e1')
    expect(status).toBe(200)
    expect(data).toMatchObject({ authorized: 10, settled: 4, held: 6, reversed: 0, closed: false })
    expect((data.events as Data['items']).map(({ relayEventId }) => relayEventId)).toEqual([
      'e2',
      'e1',
    ])
    expect(await get('/cards/card-0/transactions/nope')).toMatchObject({ status: 404, code: '157' })
    expect(await get('/cards/card-1/transactions/e1')).toMatchObject({ status: 404, code: '148' })
    expect(await get('/cards/card-9/transactions/e1')).toMatchObject({ status: 404, code: '148' })
  })

  it('finds an event that came without a transaction id by the one that its row has', async () => {
    const { ask, get } = await openWorld()
    for (const eventId of ['e1', 'e2']) {
      await ask({ eventId, transactionId: '', cardId: 'card-0', amountMinor: 500 })
    }
    const [newest] = (await get('/transactions')).data.items
    const transactionId = encodeURIComponent(String(newest!.transactionId))
    expect(newest).toMatchObject({ relayEventId: 'e2', transactionId: '·e2' })
    const { data } = await get(`/cards/card-0/transactions/${transactionId}`)
    expect(data).toMatchObject({ transactionId: '·e2', held: 5, events: [newest] })
    expect((await get(`/transactions?transactionId=${transactionId}`)).data.items).toEqual([newest])
  })

  it('shows of one lifecycle the events of its card, and of the card that was issued again for it', async () => {
    const { ask, get, engine } = await openWorld()
    const row = { customerId: 'customer-0', accountId: 'account-0', type: 'retail' }
    const shared = { ...row, organizationId: 'org-1', currency: 'USD', country: 'US' }
    const cards = [{ cardId: 'beside' }, { cardId: 'again', replaces: 'card-0' }]
    const given = cards.map((card) => ({ ...shared, ...card }))
    expect((await importRows(given, engine)).problems).toEqual([])
    const same = { transactionId: 't1', amountMinor: 1_000 }
    await ask({ eventId: 'e1', ...same })
    await ask({ eventId: 'e2', cardId: 'beside', ...same })
    await ask({ eventId: 'e3', cardId: 'again', ...same })
    const eventsOf = async (cardId: string) => {
      const { data } = await get(`/cards/${cardId}/transactions/t1`)
      return (data.events as Data['items']).map(({ relayEventId }) => relayEventId)
    }
    expect(await eventsOf('card-0')).toEqual(['e3', 'e1'])
    expect(await eventsOf('again')).toEqual(['e3', 'e1'])
    expect(await eventsOf('beside')).toEqual(['e2'])
  })

  it('holds nothing for cash, which is posted at once and does not expire', async () => {
    const { ask, get } = await openWorld()
    await ask({ eventId: 'e1', requestType: 'CashWithdrawal', amountMinor: 1_000 })
    const { data } = await get('/cards/card-0/transactions/e1')
    expect(data).toMatchObject({ authorized: 10, settled: 0, held: 0, expiresAt: null })
    const card = await get('/cards/card-0')
    expect(card.data).toMatchObject({ balances: { held: 0 } })
  })
})
