import { describe, expect, it, vi } from 'vitest'
import { handed, testEvent } from '../../support/engine-world.ts'
import { createMemoryState } from '../../support/memory-store.ts'
import { openMoneyApi } from '../../support/money-world.ts'
import { defaultSwitches, packOf } from '../../support/world.ts'

const abroad = { mid: 'M', mcc: '5411', name: 'Shop', city: 'Paris', country: 'FR' }

async function open(walletMinor = 10_000, state = createMemoryState()) {
  const cards = [{ cardId: 'card-1', balance: '100.00' }]
  const world = await openMoneyApi(cards, walletMinor, { state })
  const crossBorder = { percentMillionths: 20_000, fixedMinor: {} }
  world.engine.setPack(packOf({ ...defaultSwitches, crossBorder }))
  /** Spends abroad what there is, so that the charge on it stays pending. */
  const spend = async (id: string, amountMinor: number) => {
    const settled = { requestType: 'Settlement', cardId: 'card-1', amountMinor } as const
    const event = testEvent({ eventId: id, ...settled, merchant: abroad })
    world.time.ms += 1_000
    world.engine.deliver(handed(event, `slot-${id}`, world.time.ms))
    await world.engine.idle()
  }
  return { ...world, spend }
}

const target = '/cards/card-1/charges/reprocess'

describe('pending charges', () => {
  it('are none to take where nothing is pending, also when nothing is available', async () => {
    const { post, spend, bugs } = await open()
    const none = { status: 200, data: { taken: 0, pending: 0, charges: [] } }
    expect(await post(target, {})).toMatchObject(none)
    await post('/cards/card-1/withdrawal', { amount: 99 })
    await post('/cards/card-1/terminate', {})
    await post('/cards/card-1/withdrawal', { amount: 1 })
    expect(await post(target, {})).toMatchObject({ ...none, data: { balances: { available: 0 } } })
    await spend('first', 100)
    expect((await post(target, {})).code).toBe('116')
    expect(bugs).toEqual([])
  })

  it('are taken later, the oldest first, as far as what is available', async () => {
    const { post, spend, store, bugs } = await open()
    await spend('zz-first', 10_000)
    await spend('aa-second', 5_000)
    expect((await post(target, {})).code).toBe('116')
    await post('/cards/card-1/topup', { amount: 52.5 })
    const part = await post(target, {})
    expect(part.data).toEqual({
      taken: 2.5,
      pending: 0.5,
      currency: 'USD',
      charges: [
        { transactionId: 'zz-first', taken: 2, pending: 0 },
        { transactionId: 'aa-second', taken: 0.5, pending: 0.5 },
      ],
      balances: { posted: 0, held: 0, withheld: 0, available: 0, chargesPending: 0.5 },
    })
    expect(store.dump().indexes.charges).toHaveLength(1)
    await post('/cards/card-1/topup', { amount: 10 })
    expect((await post(target, {})).data).toMatchObject({ taken: 0.5, pending: 0 })
    expect(store.dump().indexes.charges ?? []).toEqual([])
    expect((await post(target, {})).data).toMatchObject({ taken: 0, charges: [] })
    expect((await post('/cards/card-9/charges/reprocess', {})).code).toBe('148')
    expect(bugs).toEqual([])
  })

  it('are the oldest of all, where there are more than one call takes', async () => {
    const state = createMemoryState()
    const world = await open(100_000, state)
    const { post, spend, bugs } = world
    await spend('first', 10_000)
    // Their ids go down: the oldest is the last in the list of what is pending.
    const ids = Array.from({ length: 501 }, (_, i) => `charge-${999 - i}`)
    for (const id of ids) await spend(id, 100)
    await post('/cards/card-1/topup', { amount: 503.04 })
    // A server that has none of them in memory reads them together.
    const other = await openMoneyApi([], 0, { state, like: world })
    const loads = vi.spyOn(other.store, 'load')
    const { data }: { data: { charges: { transactionId: string; taken: number }[] } } =
      await other.post(target, {}, 'Other')
    const taken = data.charges.filter((charge) => charge.taken > 0)
    expect(taken.map(({ transactionId }) => transactionId)).toEqual([
      'first',
      'charge-999',
      'charge-998',
    ])
    expect(data).toMatchObject({ taken: 2.04, pending: 9.98 })
    expect(data.charges).toHaveLength(200)
    expect(loads.mock.calls.length).toBeLessThan(data.charges.length)
    expect([...bugs, ...other.bugs]).toEqual([])
  })
})
