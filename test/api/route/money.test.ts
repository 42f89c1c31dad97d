import { describe, expect, it, vi } from 'vitest'
import { readCard } from '../../../src/management/card.ts'
import { addCustomer } from '../../../src/management/customer.ts'
import { handed, testEvent } from '../../support/engine-world.ts'
import { createMemoryState } from '../../support/memory-store.ts'
import { openMoneyApi } from '../../support/money-world.ts'

type World = Awaited<ReturnType<typeof openMoneyApi>>

const two = [
  { cardId: 'card-1', balance: '100.00' },
  { cardId: 'card-2', balance: '10.00', customerId: 'customer-2' },
]

/** A settlement without a hold, which no limit stops. */
async function spend({ engine, time }: World, cardId: string, amountMinor: number, id = 's1') {
  const event = testEvent({ eventId: id, requestType: 'Settlement', cardId, amountMinor })
  engine.deliver(handed(event, `slot-${id}`, time.ms))
  await engine.idle()
}

const setCard = (world: World, cardId: string, set: object) =>
  world.engine.operate(`account-of-${cardId}`, { type: 'changeCard', cardId, set }, 'test')

describe('a top-up', () => {
  it('moves money from the wallet to a card, where it can be spent at once', async () => {
    const world = await openMoneyApi(two, 5_000)
    const { status, data } = await world.post('/cards/card-1/topup', {
      amount: 25.5,
      currency: 'USD',
      narration: 'allowance',
    })
    expect([status, data]).toEqual([
      200,
      {
        transferId: expect.stringMatching(/^trf_[0-9A-Z]{26}$/),
        type: 'TopUp',
        amount: 25.5,
        currency: 'USD',
        cardId: 'card-1',
        balances: { posted: 125.5, held: 0, withheld: 0, available: 125.5, chargesPending: 0 },
        wallet: { currency: 'USD', balance: 24.5 },
        completedAt: expect.stringMatching(/^2026-11-15T10:/),
      },
    ])
    expect(
      (await world.engine.ask({ eventId: 'e', cardId: 'card-1', amountMinor: 12_550 })).code,
    ).toBe('000')
    expect(await world.walletMinorNow()).toBe(2_450)
    expect(world.bugs).toEqual([])
  })

  it('is done once for its Reference, and found by it', async () => {
    const world = await openMoneyApi(two, 5_000)
    const body = { amount: '10' }
    const first = await world.post('/cards/card-1/topup', body, 'Once')
    expect(first.status).toBe(200)
    const again = await world.post('/cards/card-1/topup', body, 'Once')
    const other = await world.post('/cards/card-1/topup', { amount: '11' }, 'Once')
    expect([again.code, other.code]).toEqual(['139', '139'])
    expect(await world.postedMinor('card-1')).toBe(11_000)
    const { data } = await world.get('/requests/Once')
    expect(data).toMatchObject({ state: 'Succeeded', data: first.data })
    // Nothing of it is left on its way.
    const { indexes, aggregates } = world.store.dump()
    expect(indexes.moving ?? []).toEqual([])
    expect(Object.keys(aggregates['w:org-1:USD']!.groups)).toEqual([
      expect.stringMatching(/^x@\d+$/),
    ])
  })

  it.each([
    ['a card that nobody knows', 'card-9', { amount: 1 }, 404, '148'],
    ['an amount of none', 'card-1', { amount: 0 }, 400, '111'],
    ['too many decimals', 'card-1', { amount: '1.001' }, 400, '111'],
    ['another currency', 'card-1', { amount: 1, currency: 'NGN' }, 422, '121'],
    ['another, with its decimals', 'card-1', { amount: 1.234, currency: 'BHD' }, 422, '121'],
    ['more decimals than said', 'card-1', { amount: 1.5, currency: 'JPY' }, 400, '111'],
    ['more than the organization allows', 'card-1', { amount: 10_001 }, 422, '114'],
    ['more than the wallet has', 'card-1', { amount: 50.01 }, 422, '116'],
    ['a lite card', 'lite', { amount: 1 }, 422, '119'],
    ['a Terminated card', 'ended', { amount: 10_001, currency: 'NGN' }, 422, '143'],
    ['a card of another organization', 'theirs', { amount: 1 }, 404, '148'],
  ])('of %s is refused', async (_name, cardId, body, status, code) => {
    const more = [
      { cardId: 'lite', type: 'lite', balance: '5', swipeCount: 3 },
      { cardId: 'ended', status: 'Terminated' },
      { cardId: 'theirs', organizationId: 'org-2' },
    ]
    const world = await openMoneyApi([...two, ...more], 5_000)
    const answer = await world.post(`/cards/${cardId}/topup`, body)
    expect([answer.status, answer.code]).toEqual([status, code])
    expect(await world.walletMinorNow()).toBe(5_000)
    expect(world.bugs).toEqual([])
  })

  it('settles a negative card, and a Frozen one takes it', async () => {
    const world = await openMoneyApi(two, 20_000)
    await spend(world, 'card-1', 15_000)
    await setCard(world, 'card-1', { status: 'Frozen' })
    const { data } = await world.post('/cards/card-1/topup', { amount: 50 })
    expect(data).toMatchObject({ balances: { posted: 0 } })
  })

  it('is taken back when its card ends on the way', async () => {
    let hold = false
    const world: World = await openMoneyApi(two, 5_000, {
      faults: (commands) => {
        // The card ends between the debit of the wallet and the credit of the card.
        if (hold && commands.some(({ put }) => put.some(({ group }) => group === 'x'))) {
          hold = false
          void setCard(world, 'card-1', { status: 'Terminated', terminatedBy: 'operator' })
        }
        return { kind: 'none' }
      },
    })
    hold = true
    const { status, code } = await world.post('/cards/card-1/topup', { amount: 10 }, 'Back')
    expect([status, code]).toEqual([422, '143'])
    expect([await world.walletMinorNow(), await world.postedMinor('card-1')]).toEqual([
      5_000, 10_000,
    ])
    const entries = await world.get('/wallets/USD/entries')
    expect(entries.data).toMatchObject({
      items: [
        { type: 'TopUp', amount: 10, balance: 50 },
        { type: 'TopUp', amount: -10, balance: 40 },
        { type: 'WalletFunding', amount: 50 },
      ],
    })
    expect((await world.get('/requests/Back')).data).toMatchObject({
      state: 'Failed',
      responseCode: '143',
    })
    expect(world.store.dump().indexes.moving ?? []).toEqual([])
  })
})

describe('a withdrawal', () => {
  it('leaves what must stay available, and takes all from an account whose cards ended', async () => {
    const world = await openMoneyApi(two, 0)
    const most = await world.post('/cards/card-1/withdrawal', { amount: 99.5 })
    expect(most.answer.message).toBe('Insufficient funds: 1 USD must stay available')
    const more = await world.post('/cards/card-1/withdrawal', { amount: 100.5 })
    expect(more.code).toBe('116')
    const { data } = await world.post('/cards/card-1/withdrawal', { amount: 99 })
    expect(data).toMatchObject({
      type: 'Withdrawal',
      balances: { posted: 1 },
      wallet: { currency: 'USD', balance: 99 },
    })
    await setCard(world, 'card-1', { status: 'Terminated', terminatedBy: 'operator' })
    const rest = await world.post('/cards/card-1/withdrawal', { amount: 1 })
    expect(rest.data).toMatchObject({ balances: { posted: 0 }, wallet: { balance: 100 } })
  })

  it.each(['customer-1', 'customer-2'])(
    'keeps the minimum while another card of the account is live, one of %s',
    async (customerId) => {
      const shared = { accountId: 'account-of-card-1', balance: undefined }
      const joined = { ...shared, cardId: 'card-3', customerId }
      const world = await openMoneyApi([...two, joined], 0)
      await setCard(world, 'card-1', { status: 'Terminated', terminatedBy: 'operator' })
      const { code } = await world.post('/cards/card-1/withdrawal', { amount: 100 })
      expect(code).toBe('116')
    },
  )

  it('of a card in a currency that its organization does not have leaves the money there', async () => {
    const world = await openMoneyApi([{ cardId: 'cedi', currency: 'GHS', balance: '100.00' }], 0)
    const { status, code, answer } = await world.post('/cards/cedi/withdrawal', { amount: 10 })
    expect([status, code]).toEqual([422, '121'])
    expect(answer.message).toContain('the organization has no wallet in GHS')
    expect(await world.postedMinor('cedi')).toBe(10_000)
    expect(world.bugs).toEqual([])
  })

  it('from the wallet to such a card is refused alike, and not told as a wallet that is empty', async () => {
    const cedi = { cardId: 'cedi', customerId: 'c', currency: 'GHS' }
    const owes = { cardId: 'owes', currency: 'GHS', balance: '-1.00' }
    const world = await openMoneyApi([cedi, owes], 100)
    await setCard(world, 'owes', { status: 'Terminated', terminatedBy: 'operator' })
    const own = { customerId: 'c', sharedBalance: false, initialBalance: 1 }
    await addCustomer(
      world.aggregates,
      { customerId: 'c', organizationId: 'org-1', type: 'individual', name: 'C' },
      world.time.ms,
    )
    for (const [path, body] of [
      ['/cards/cedi/topup', { amount: 1 }],
      ['/cards/cedi/topup', { amount: 1, currency: 'GHS' }],
      ['/cards/owes/regularize', {}],
      ['/cards/reissue', own],
    ] as const) {
      const { status, code, answer } = await world.post(path, body)
      expect([path, status, code]).toEqual([path, 422, '121'])
      expect(answer.message).toContain('the organization has no wallet in GHS')
    }
  })

  it('looks at all cards of an account together, however many and whose', async () => {
    const ids = Array.from({ length: 150 }, (_, i) => `shared-${i}`)
    const shared = { accountId: 'account-of-card-1', balance: undefined }
    const joined = ids.map((cardId) => ({ ...shared, cardId, customerId: `of-${cardId}` }))
    const state = createMemoryState()
    const world = await openMoneyApi([...two, ...joined], 0, { state })
    const end = { status: 'Terminated', terminatedBy: 'operator' } as const
    const endCard = (cardId: string) =>
      world.engine.operate('account-of-card-1', { type: 'changeCard', cardId, set: end }, 'test')
    for (const cardId of ['card-1', ...ids.slice(0, -1)]) await endCard(cardId)
    expect((await world.post('/cards/card-1/withdrawal', { amount: 100 })).code).toBe('116')
    await endCard(ids.at(-1)!)
    // A server that has none of them in memory.
    const other = await openMoneyApi([], 0, { state, like: world })
    const loads = vi.spyOn(other.store, 'load')
    expect((await other.post('/cards/card-1/withdrawal', { amount: 100 })).code).toBe('000')
    expect(loads.mock.calls.length).toBeLessThan(ids.length)
  })

  it.each([
    ['a lite card that is live', 'lite', { amount: 1 }, '119'],
    ['another currency', 'card-1', { amount: 1, currency: 'NGN' }, '121'],
    ['another, with its decimals', 'card-1', { amount: 1.234, currency: 'BHD' }, '121'],
  ])('from %s is refused', async (_name, cardId, body, code) => {
    const lite = { cardId: 'lite', type: 'lite', balance: '5', swipeCount: 3 }
    const world = await openMoneyApi([...two, lite], 0)
    expect((await world.post(`/cards/${cardId}/withdrawal`, body)).code).toBe(code)
  })
})

describe('a transfer between cards', () => {
  const transfer = (
    sourceCardId: string,
    beneficiaryCardId: string,
    amount: number | string = 10,
  ) => ['/cards/transfer', { sourceCardId, beneficiaryCardId, amount }] as const

  it('moves what the source has, down to nothing', async () => {
    const world = await openMoneyApi(two, 0)
    const { data } = await world.post(...transfer('card-1', 'card-2', 100))
    expect(data).toMatchObject({
      type: 'CardToCard',
      cardId: 'card-1',
      balances: { posted: 0 },
      beneficiaryCardId: 'card-2',
      beneficiaryBalances: { posted: 110 },
    })
    expect(data).not.toHaveProperty('wallet')
  })

  it.each([
    ['to itself', 'card-1', 'card-1', 400, '131'],
    ['from nobody', 'card-8', 'card-9', 404, '148'],
    ['to nobody', 'card-1', 'card-9', 404, '148'],
    ['from a Terminated card', 'ended', 'frozen', 422, '143'],
    ['to a Terminated card', 'frozen', 'ended', 422, '143'],
    ['from a Frozen card', 'frozen', 'lite', 422, '117'],
    ['to a Frozen card', 'card-1', 'frozen', 422, '117'],
    ['to a lite card', 'card-1', 'lite', 422, '119'],
    ['within one account', 'card-1', 'twin', 422, '119'],
    ['to another currency', 'card-1', 'naira', 422, '121'],
    ['of more than there is', 'card-2', 'card-1', 422, '116'],
  ])('%s is refused', async (_name, source, beneficiary, status, code) => {
    const world = await openMoneyApi(
      [
        ...two,
        { cardId: 'ended', status: 'Terminated' },
        { cardId: 'frozen', status: 'Frozen' },
        { cardId: 'lite', type: 'lite', balance: '5', swipeCount: 3 },
        { cardId: 'twin', accountId: 'account-of-card-1', balance: undefined },
        { cardId: 'naira', currency: 'NGN' },
      ],
      0,
    )
    const answer = await world.post(...transfer(source, beneficiary, '10.01'))
    expect([answer.status, answer.code]).toEqual([status, code])
    expect(await world.postedMinor('card-1')).toBe(10_000)
    expect(world.bugs).toEqual([])
  })
})

describe('regularizing', () => {
  it('brings a Terminated card that owes to exactly nothing', async () => {
    const world = await openMoneyApi(two, 5_000)
    await spend(world, 'card-1', 10_750)
    expect((await world.post('/cards/card-1/regularize', {})).code).toBe('119')
    await setCard(world, 'card-1', { status: 'Terminated', terminatedBy: 'operator' })
    const { data } = await world.post('/cards/card-1/regularize', { narration: 'closed' })
    expect(data).toMatchObject({
      type: 'Regularization',
      amount: 7.5,
      balances: { posted: 0 },
      wallet: { balance: 42.5 },
    })
    expect((await world.post('/cards/card-1/regularize', {})).code).toBe('119')
  })

  it('is not for an account that a card of another customer draws on', async () => {
    const shared = { accountId: 'account-of-card-1', balance: undefined }
    const joined = { ...shared, cardId: 'card-3', customerId: 'customer-2' }
    const world = await openMoneyApi([...two, joined], 5_000)
    await spend(world, 'card-1', 10_750)
    await setCard(world, 'card-1', { status: 'Terminated', terminatedBy: 'operator' })
    expect((await world.post('/cards/card-1/regularize', {})).code).toBe('119')
  })

  it('begins again when an event changes what is owed, and gives up after four tries', async () => {
    let spends = 0
    let count = 0
    const world: World = await openMoneyApi(two, 50_000, {
      faults: (commands) => {
        const debits = commands.some(
          ({ aggregate, put }) =>
            aggregate.startsWith('w:') && put.some(({ group }) => group === 'x'),
        )
        if (debits && spends > 0) {
          spends--
          void spend(world, 'card-1', 100, `late-${count++}`)
        }
        return { kind: 'none' }
      },
    })
    await spend(world, 'card-1', 11_000)
    await setCard(world, 'card-1', { status: 'Terminated', terminatedBy: 'operator' })
    spends = 4
    const { status, code } = await world.post('/cards/card-1/regularize', {}, 'Reg')
    expect([status, code]).toEqual([503, '170'])
    expect(await world.walletMinorNow()).toBe(50_000)
    spends = 2
    const again = await world.post('/cards/card-1/regularize', {}, 'Reg')
    expect(again.data).toMatchObject({ amount: 16, balances: { posted: 0 } })
    expect(world.bugs).toEqual([])
  })
})

describe('an issued card', () => {
  it('is opened with money of the wallet in one commit, once', async () => {
    const world = await openMoneyApi(two, 5_000)
    const { transfers, credentials, time } = world
    const whole = (await readCard(world, 'org-1', 'card-1'))!
    const callOf = (reference: string) => ({
      caller: {
        clientId: credentials.clientId,
        reference,
        organization: { organizationId: 'org-1', currencies: ['USD'] },
      } as never,
      request: { hash: 'a'.repeat(64), method: 'POST', path: '/api/v1/cards/lite' },
      nowMs: time.ms,
    })
    const issue = (amountMinor: number) => ({
      currency: 'USD',
      amountMinor,
      joins: null,
      check: async () => null,
      prepare: async ({ cardId, accountId }: { cardId: string; accountId: string }) => ({
        account: { ...whole.account, accountId, openingMinor: 0, postedMinor: 0, entryCount: 0 },
        card: { ...whole.card, cardId, accountId },
        put: [{ group: 'k', id: cardId, value: 'extra' }],
        terminates: '',
        data: { cardId },
      }),
    })
    const done = await transfers.issue<{ cardId: string }>(callOf('I-1'), issue(4_000))
    if (!('data' in done)) throw new Error(JSON.stringify(done))
    const { cardId } = done.data as { cardId: string }
    expect(done.data).toMatchObject({ balances: { posted: 40 }, transferId: expect.any(String) })
    expect(await world.postedMinor(cardId)).toBe(4_000)
    expect(await transfers.issue(callOf('I-1'), issue(4_000))).toMatchObject({
      condition: 'referenceSeen',
    })
    expect(await transfers.issue(callOf('I-2'), issue(1_001))).toMatchObject({
      condition: 'fundsMissing',
    })
    const free = await transfers.issue(callOf('I-3'), issue(0))
    expect(free).not.toHaveProperty('data.transferId')
    expect(await world.walletMinorNow()).toBe(1_000)
  })
})

it('a card that is none may be the number of one, and is not said back', async () => {
  const { send } = await openMoneyApi(two, 5_000)
  const pan = '4111111111111111'
  const between = (sourceCardId: string, beneficiaryCardId: string) => {
    return send('POST', '/cards/transfer', { sourceCardId, beneficiaryCardId, amount: 1 })
  }
  for (const refused of [
    await send('POST', `/cards/${pan}/topup`, { amount: 1 }),
    await send('POST', `/cards/${pan}/withdrawal`, { amount: 1 }),
    await send('POST', `/cards/${pan}/regularize`),
    await send('POST', `/cards/${pan}/charges/reprocess`),
    await between(pan, 'card-1'),
    await between('card-1', pan),
  ]) {
    expect(refused.said).toBe('404 148')
    expect(JSON.stringify(refused)).not.toContain(pan)
  }
})

it('a lite card gives back what is left on it when it has ended, down to nothing', async () => {
  const lite = { cardId: 'card-1', type: 'lite', swipeCount: 3, balance: '5' }
  const { post, postedMinor, walletMinorNow } = await openMoneyApi([lite], 0)
  expect((await post('/cards/card-1/withdrawal', { amount: 5 })).code).toBe('119')
  expect((await post('/cards/card-1/terminate', {})).status).toBe(200)
  expect((await post('/cards/card-1/withdrawal', { amount: 5 })).code).toBe('000')
  expect([await postedMinor('card-1'), await walletMinorNow()]).toEqual([0, 500])
})

it.each([
  ['JPY', '500', 500, 499],
  ['KWD', '5.000', 4.001, 4],
])(
  'of a card in %s one major unit stays where nobody says otherwise',
  async (currency, balance, tooMuch, most) => {
    const card = { cardId: 'card-1', currency, balance }
    const { post } = await openMoneyApi([card], 0, { currencies: ['USD', currency] })
    expect((await post('/cards/card-1/withdrawal', { amount: tooMuch })).code).toBe('116')
    const done = await post('/cards/card-1/withdrawal', { amount: most })
    expect(done).toMatchObject({ status: 200, data: { balances: { posted: 1 } } })
  },
)
