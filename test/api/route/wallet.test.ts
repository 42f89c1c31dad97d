import { describe, expect, it } from 'vitest'
import { showWallet } from '../../../src/backoffice/show-money.ts'
import { walletAggregate, webhooksAggregate } from '../../../src/engine/format/layout.ts'
import { openMoneyApi } from '../../support/money-world.ts'

describe('a wallet', () => {
  it('is funded once for a Reference, and shows what moved its money', async () => {
    const { post, get, time } = await openMoneyApi([{ cardId: 'card-1' }], 0)
    expect((await get('/wallets')).data).toEqual({
      items: [
        { currency: 'USD', balance: 0 },
        { currency: 'NGN', balance: 0 },
      ],
    })
    const funded = await post('/wallets/USD/fund', { amount: 100, narration: 'wire' }, 'F-1')
    expect(funded.data).toEqual({
      transferId: expect.stringMatching(/^trf_/),
      type: 'WalletFunding',
      amount: 100,
      currency: 'USD',
      wallet: { currency: 'USD', balance: 100 },
      completedAt: expect.any(String),
    })
    expect((await post('/wallets/USD/fund', { amount: 100 }, 'F-1')).code).toBe('139')
    for (let i = 1; i <= 3; i++) await post('/cards/card-1/topup', { amount: i })
    const first = (await get('/wallets/USD/entries?limit=2')).data as { nextCursor: string }
    expect(first).toMatchObject({
      items: [
        { type: 'TopUp', amount: -3, balance: 94, cardId: 'card-1' },
        { type: 'TopUp', amount: -2, balance: 97 },
      ],
    })
    const rest = await get(`/wallets/USD/entries?limit=2&cursor=${first.nextCursor}`)
    expect(rest.data).toMatchObject({
      items: [
        { type: 'TopUp', amount: -1, balance: 99 },
        { type: 'WalletFunding', amount: 100, balance: 100, cardId: null, reference: 'F-1' },
      ],
      nextCursor: null,
    })
    const fundings = await get('/wallets/USD/entries?type=WalletFunding')
    expect(fundings.data).toMatchObject({ items: [{ type: 'WalletFunding' }] })
    time.ms += 1
    expect((await get('/wallets/EUR/entries')).code).toBe('121')
  })

  it('shows what moved its money also when one entry cannot be read', async () => {
    const { post, get, store, aggregates, bugs } = await openMoneyApi([{ cardId: 'card-1' }], 0)
    await post('/wallets/USD/fund', { amount: 100 })
    for (let i = 1; i <= 2; i++) await post('/cards/card-1/topup', { amount: i })
    const [newest] = await store.range('wallet-entries', '', 1)
    const index = [{ index: 'wallet-entries', sortKey: newest!.sortKey, value: '{"transferId":' }]
    await aggregates.change({
      aggregate: walletAggregate('org-1', 'USD'),
      decide: () => ({ result: null, write: { index } }),
    })
    const types = ['TopUp', 'WalletFunding']
    expect((await get('/wallets/USD/entries')).data).toMatchObject({
      items: types.map((type) => ({ type })),
    })
    expect(await showWallet(store, 'org-1', 'USD')).toMatchObject({
      newest: types.map((type) => ({ type })),
      unreadable: '1 of the newest: see arbiter damaged',
    })
    expect(bugs).toEqual([])
  })

  it.each([
    ['/wallets/EUR/fund', { amount: 1 }, 422, '121'],
    ['/wallets/XXX1/fund', { amount: 1 }, 400, '121'],
    ['/wallets/USD/fund', { amount: -1 }, 400, '111'],
    ['/wallets/USD/fund', { amount: '10000000000.01' }, 400, '111'],
    ['/wallets/USD/fund', {}, 400, '158'],
  ])('is not funded by %s %o', async (target, body, status, code) => {
    const { post } = await openMoneyApi([], 0)
    const answer = await post(target, body)
    expect([answer.status, answer.code]).toEqual([status, code])
  })

  it('has no more than it may', async () => {
    const { post, walletMinorNow } = await openMoneyApi([], 999_999_999_999_999)
    expect((await post('/wallets/USD/fund', { amount: 0.02 })).code).toBe('111')
    expect((await post('/wallets/USD/fund', { amount: 0.01 })).status).toBe(200)
    expect(await walletMinorNow()).toBe(1_000_000_000_000_000)
  })

  it('is funded again when it has given, however much it was funded with before', async () => {
    const card = [{ cardId: 'card-1' }]
    const { post, walletMinorNow } = await openMoneyApi(card, 1_000_000_000_000_000)
    expect((await post('/cards/card-1/topup', { amount: 10 })).status).toBe(200)
    expect((await post('/wallets/USD/fund', { amount: 0.01 })).status).toBe(200)
    expect(await walletMinorNow()).toBe(999_999_999_999_001)
  })

  it('is funded, and gets back what a card has, while the webhooks cannot be read', async () => {
    const card = [{ cardId: 'card-1', balance: '100.00' }]
    const { post, aggregates, walletMinorNow, bugs } = await openMoneyApi(card, 0)
    await aggregates.change({
      aggregate: webhooksAggregate('org-1'),
      decide: () => ({ result: null, write: { root: '{"format":2,"endpoints":[]}' } }),
    })
    expect((await post('/wallets/USD/fund', { amount: 5 })).status).toBe(200)
    expect((await post('/cards/card-1/withdrawal', { amount: 10 })).status).toBe(200)
    expect([await walletMinorNow(), bugs]).toEqual([1_500, []])
  })

  it('gives no more than it has to fifty top-ups at once', async () => {
    const { post, postedMinor, walletMinorNow, time, bugs } = await openMoneyApi(
      [{ cardId: 'card-1' }, { cardId: 'card-2' }],
      20_000,
    )
    await post('/wallets/NGN/fund', { amount: 1 })
    time.ms += 1_000
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        post(`/cards/card-${1 + (i % 2)}/topup`, { amount: 10 }),
      ),
    )
    const codes = answers.map(({ code }) => code)
    expect(codes.filter((code) => code === '000')).toHaveLength(20)
    expect(codes.filter((code) => code === '116')).toHaveLength(30)
    expect(await walletMinorNow()).toBe(0)
    expect((await postedMinor('card-1')) + (await postedMinor('card-2'))).toBe(20_000)
    expect(bugs).toEqual([])
  })
})
