import { describe, expect, it } from 'vitest'
import { showTransfer, showWallet } from '../../src/backoffice/show-money.ts'
import { createMemoryState } from '../support/memory-store.ts'
import { openMoneyApi } from '../support/money-world.ts'

type World = Awaited<ReturnType<typeof openMoneyApi>>

const two = [
  { cardId: 'card-1', balance: '100.00' },
  { cardId: 'card-2', balance: '10.00', customerId: 'customer-2' },
]

async function idOf(posted: ReturnType<World['post']>): Promise<string> {
  const { data } = (await posted) as { readonly data: { readonly transferId: string } }
  return data.transferId
}

describe('a wallet is shown', () => {
  it('with its newest entries, the balance after each', async () => {
    const world = await openMoneyApi(two, 5_000)
    for (let i = 0; i < 12; i++) await world.post('/cards/card-1/topup', { amount: 1 })
    const shown = await showWallet(world.store, 'org-1', 'USD')
    expect(shown).toMatchObject({ balanceMinor: 3_800, fundedMinor: 5_000, entryCount: 13 })
    const newest = shown!.newest as { readonly balanceMinor: number }[]
    expect(newest.map(({ balanceMinor }) => balanceMinor)).toEqual(
      Array.from({ length: 10 }, (_, i) => 3_800 + 100 * i),
    )
  })

  it('only where the organization has the currency', async () => {
    const { store } = await openMoneyApi(two, 0)
    expect(await showWallet(store, 'org-1', 'EUR')).toBeNull()
    expect(await showWallet(store, 'org-9', 'USD')).toBeNull()
  })
})

describe('a transfer is shown', () => {
  it('after it has arrived, with both of its sides', async () => {
    const world = await openMoneyApi(two, 5_000)
    const { store, post } = world
    const toCard = await idOf(post('/cards/card-1/topup', { amount: 5, narration: 'n' }, 'Top'))
    const toWallet = await idOf(post('/cards/card-1/withdrawal', { amount: 2 }))
    const other = { sourceCardId: 'card-1', beneficiaryCardId: 'card-2', amount: 3 }
    const toOther = await idOf(post('/cards/transfer', other))
    const funding = await idOf(post('/wallets/USD/fund', { amount: 7 }))
    const wallet = 'wallet org-1 USD'
    expect(await showTransfer(store, toCard)).toMatchObject({
      ...{ state: 'arrived', type: 'TopUp', amountMinor: 500, currency: 'USD' },
      ...{ reference: 'Top', narration: 'n' },
      moved: [
        { at: wallet, amountMinor: -500 },
        { at: 'card card-1', amountMinor: 500 },
      ],
    })
    const moved = async (id: string) => {
      const shown = await showTransfer(store, id)
      const parts = shown!.moved as { readonly at: string; readonly amountMinor: number }[]
      return [shown!.state, shown!.type, ...parts.map((one) => `${one.at} ${one.amountMinor}`)]
    }
    expect(await moved(toWallet)).toEqual([
      ...['arrived', 'Withdrawal', 'card card-1 -200', `${wallet} 200`],
    ])
    expect(await moved(toOther)).toEqual([
      ...['arrived', 'CardToCard', 'card card-1 -300', 'card card-2 300'],
    ])
    expect(await moved(funding)).toEqual(['arrived', 'WalletFunding', `${wallet} 700`])
    expect(await showTransfer(store, 'trf_01JCQ8A1B2C3D4E5F6G7H8J9KM')).toBeNull()
    expect(await showTransfer(store, 'nothing')).toBeNull()
  })

  it('while it is on its way, and when it was taken back', async () => {
    let onItsWay: unknown = null
    const world: World = await openMoneyApi(two, 5_000, {
      faults(commands) {
        const begun = commands.flatMap(({ put }) => put).find(({ group }) => group === 'x')
        if (begun !== undefined) {
          const cardId = 'card-1'
          const set = { status: 'Terminated', terminatedBy: 'operator' } as const
          void world.engine.operate('account-of-card-1', { type: 'changeCard', cardId, set }, 't')
          const { id } = JSON.parse(begun.value) as { id: string }
          transferId = id
        }
        const credit = commands.some(({ put }) => put.some(({ group }) => group.startsWith('i@')))
        if (credit) onItsWay = showTransfer(world.store, transferId)
        return { kind: 'none' }
      },
    })
    let transferId = ''
    expect((await world.post('/cards/card-1/topup', { amount: 10 }, 'Back')).code).toBe('143')
    expect(await onItsWay).toMatchObject({ state: 'on its way', reference: 'Back' })
    expect(await showTransfer(world.store, transferId)).toMatchObject({
      state: 'taken back',
      moved: [
        { at: 'wallet org-1 USD', amountMinor: -1_000, isBack: false },
        { at: 'wallet org-1 USD', amountMinor: 1_000, isBack: true },
      ],
    })
  })

  it.each([
    { path: '/cards/card-1/withdrawal', isEnded: false, state: 'arrived' },
    { path: '/cards/card-1/topup', isEnded: true, state: 'taken back' },
  ])('as $state when $path ended hours after its call', async ({ path, isEnded, state }) => {
    const shared = createMemoryState()
    let transferId = ''
    const first = await openMoneyApi(two, 5_000, {
      state: shared,
      faults(commands) {
        const begun = commands.flatMap(({ put }) => put).find(({ group }) => group === 'x')
        if (begun === undefined) return { kind: 'none' }
        transferId = (JSON.parse(begun.value) as { id: string }).id
        return { kind: 'dies', executed: true }
      },
    })
    void first.post(path, { amount: 5 }).catch(() => null)
    await expect.poll(() => transferId).not.toBe('')
    const second = await openMoneyApi([], 0, { state: shared, like: first })
    if (isEnded) {
      const set = { status: 'Terminated', terminatedBy: 'operator' } as const
      const change = { type: 'changeCard', cardId: 'card-1', set } as const
      await second.engine.operate('account-of-card-1', change, 't')
    }
    second.time.ms = first.time.ms + 3 * 3_600_000
    await second.sweeper.sweep()
    expect(second.sweeper.open.count).toBe(1)
    expect(await showTransfer(second.store, transferId)).toMatchObject({ state })
  })
})
