import { describe, expect, it } from 'vitest'
import { customerAggregate, walletAggregate } from '../../../../src/engine/format/layout.ts'
import { readCard } from '../../../../src/management/card.ts'
import { setCustomerSuspended } from '../../../../src/management/customer.ts'
import type { NumberSource } from '../../../../src/management/number/source.ts'
import { setOrganization } from '../../../../src/management/organization.ts'
import { decodeWallet } from '../../../../src/management/wallet.ts'
import type { ApiWorldOptions } from '../../../support/api-world.ts'
import { openCardApi } from '../../../support/card-world.ts'
import { createMemoryState } from '../../../support/memory-store.ts'

const address = { line1: '1 Marina', city: 'Lagos', state: 'Lagos', country: 'NG' }
const sandbox = { source: 'sandbox', bin: '999999' } as const

/** A business with an address and a retail card `original` on it, and a wallet with 1000.00 USD. */
async function openIssueApi(options: ApiWorldOptions = {}) {
  const api = await openCardApi({ cardNumbers: sandbox, ...options })
  await api.customer('biz', { type: 'business', name: 'Äcme & Sons Ltd', address })
  const given = { customerId: 'biz', accountId: 'shared', contactlessPayment: true }
  const limits = { cardLimits: { dailyLimit: '500.00' }, blackListedMccs: ['7995'] }
  const mids = { blackListedMids: ['MID-7'], whiteListedMids: ['MID-1'], unblockedMids: ['MID-7'] }
  await api.card('original', { ...given, ...limits, ...mids, balance: '20.00' })
  await api.send('POST', '/wallets/USD/fund', { amount: 1000 })
  return api
}

type Api = Awaited<ReturnType<typeof openIssueApi>>

const kinds = {
  retail: ['/cards/retail', { customerId: 'biz' }],
  corporate: ['/cards/corporate', { customerId: 'biz' }],
  lite: ['/cards/lite', { customerId: 'biz', balance: 50, swipeCount: 3 }],
  shared: ['/cards/reissue', { customerId: 'biz', sharedBalance: true, cardId: 'original' }],
  own: ['/cards/reissue', { customerId: 'biz', sharedBalance: false, initialBalance: 25 }],
} as const
type Kind = keyof typeof kinds
const allKinds = Object.keys(kinds) as Kind[]
const fresh: readonly Kind[] = ['retail', 'corporate', 'lite']
const again: readonly Kind[] = ['shared', 'own']

const issue = (api: Pick<Api, 'send'>, kind: Kind, more: object = {}, reference?: string) =>
  api.send('POST', kinds[kind][0], { ...kinds[kind][1], ...more }, reference)

const without = (kind: Kind, field: string) =>
  Object.fromEntries(Object.entries(kinds[kind][1]).filter(([name]) => name !== field))

it('a card that gets no money has moved none: neither the log nor the wallet tells of 0.00', async () => {
  const api = await openIssueApi()
  const told = async () => {
    const entries = (await api.send('GET', '/wallets/USD/entries')).data.items.length
    const moved = (await api.store.readLog('', 100)).filter(({ entry }) => entry.includes('"trf_'))
    return [entries, moved.length]
  }
  const before = await told()
  expect((await issue(api, 'retail')).said).toBe('200 000')
  expect((await issue(api, 'shared')).said).toBe('200 000')
  expect(await told()).toEqual(before)
  expect((await issue(api, 'lite')).said).toBe('200 000')
  expect(await told()).toEqual(before.map((count) => count! + 1))
})

it('what needs no money is issued also by a wallet below zero, as a store that lost a debit leaves it', async () => {
  const api = await openIssueApi()
  await api.aggregates.change({
    aggregate: walletAggregate('org-1', 'USD'),
    decide({ root }) {
      const short = { ...decodeWallet(root!), balanceMinor: -500 }
      return { result: null, write: { root: JSON.stringify(short) } }
    },
  })
  for (const kind of ['retail', 'corporate', 'shared'] as const) {
    expect((await issue(api, kind)).said, kind).toBe('200 000')
  }
  for (const kind of ['lite', 'own'] as const) {
    expect((await issue(api, kind)).said, kind).toBe('422 116')
  }
  const [wallet] = (await api.send('GET', '/wallets')).data.items
  expect(wallet).toMatchObject({ currency: 'USD', balance: -5 })
})

describe('a card is issued', () => {
  it.each<readonly [Kind, object]>([
    ['retail', { type: 'retail', balances: { posted: 0 }, contactlessPayment: false }],
    ['corporate', { type: 'corporate', balances: { posted: 0 }, contactlessPayment: false }],
    ['lite', { type: 'lite', balances: { posted: 50, available: 50 }, swipesLeft: 3 }],
    [
      'shared',
      { type: 'retail', accountId: 'shared', replaces: 'original', balances: { posted: 20 } },
    ],
    ['own', { type: 'retail', replaces: null, balances: { posted: 25 } }],
  ])('%s: with these defaults', async (kind, expected) => {
    const api = await openIssueApi()
    const { said, data } = await issue(api, kind)
    expect(said).toBe('200 000')
    expect(data).toMatchObject({
      cardId: expect.stringMatching(/^card_[0-9A-Z]{26}$/),
      customerId: 'biz',
      status: 'Active',
      terminatedBy: null,
      maskedPan: expect.stringMatching(/^999999\*{6}\d{4}$/),
      expiry: '2029-11',
      currency: 'USD',
      nameOnCard: 'ACME SONS LTD',
      address,
      metadata: {},
      unblockedMids: [],
      ...expected,
    })
    const isAgain = again.includes(kind)
    expect(data).toMatchObject({
      cardLimits: { dailyLimit: isAgain ? 500 : null, transactionLimit: null },
      blackListedMccs: isAgain ? ['7995'] : [],
      whiteListedMccs: [],
      blackListedMids: isAgain ? ['MID-7'] : [],
      whiteListedMids: isAgain ? ['MID-1'] : [],
      contactlessPayment: isAgain,
    })
    expect('transferId' in data).toBe(kind === 'lite' || kind === 'own')
    const { transferId: _, ...card } = data
    expect((await api.send('GET', `/cards/${data.cardId}`)).data).toEqual(card)
    const full = (await api.send('GET', `/cards/${data.cardId}/full`)).data
    expect(`${full.pan.slice(0, 6)}******${full.pan.slice(-4)}`).toBe(data.maskedPan)
    const ask = { eventId: 'e1', cardId: data.cardId, amountMinor: 1 }
    const merchant = { mid: 'MID-1', mcc: '5411', name: '', city: '', country: 'US' }
    const { code } = await api.engine.ask({ ...ask, merchant })
    expect(code).toBe(kind === 'retail' || kind === 'corporate' ? '116' : '000')
    const [wallet] = (await api.send('GET', '/wallets')).data.items
    expect(wallet.balance).toBe(
      { retail: 1000, corporate: 1000, lite: 950, shared: 1000, own: 975 }[kind],
    )
  })

  it.each(allKinds)('%s: as its body says', async (kind) => {
    const api = await openIssueApi()
    const given = {
      cardLimits: { dailyLimit: 10, transactionLimit: '5.50' },
      whiteListedMccs: ['5411'],
      blackListedMccs: [],
      nameOnCard: "O'BRIEN",
      metadata: { team: 'a' },
      address: { ...address, line2: 'Flat 2', country: 'Ghana' },
      ...(kind === 'lite' ? {} : { contactlessPayment: false }),
    }
    const { data } = await issue(api, kind, given)
    expect(data).toMatchObject({
      ...given,
      cardLimits: { dailyLimit: 10, transactionLimit: 5.5 },
      address: { ...given.address, country: 'GH' },
      contactlessPayment: false,
    })
  })

  it.each<readonly [Kind, string]>([
    ['retail', 'new'],
    ['corporate', 'new'],
    ['lite', 'new'],
    ['shared', 'reissue-shared'],
    ['own', 'reissue-own'],
  ])('%s: rules are told how, and its metadata as it is', async (kind, issued) => {
    const api = await openIssueApi()
    const { cardId } = (await issue(api, kind, { metadata: { team: 'a' } })).data
    const kept = async () => (await readCard(api, 'org-1', cardId))!.card
    expect(await kept()).toMatchObject({ issued, metadata: ['team', 'a'] })
    await api.send('PATCH', `/cards/${cardId}`, { metadata: { team: 'b', Floor: '2' } })
    expect(await kept()).toMatchObject({ issued, metadata: ['team', 'b', 'Floor', '2'] })
    await api.send('PATCH', `/cards/${cardId}`, { contactlessPayment: true })
    expect((await kept()).metadata).toHaveLength(4)
    await api.send('PATCH', `/cards/${cardId}`, { metadata: {} })
    expect((await kept()).metadata).toEqual([])
    expect((await readCard(api, 'org-1', 'original'))!.card.issued).toBe('imported')
  })

  it('in another currency of the organization, with the wallet of that one', async () => {
    const api = await openIssueApi()
    expect((await issue(api, 'retail', { currency: 'NGN' })).data.currency).toBe('NGN')
    expect((await issue(api, 'lite', { currency: 'NGN' })).said).toBe('422 116')
  })

  it('again and ends the original in the same commit, when it shall', async () => {
    const api = await openIssueApi()
    const { data } = await issue(api, 'shared', { terminateOriginal: true })
    expect(data.status).toBe('Active')
    expect((await api.send('GET', '/cards/original')).data).toMatchObject({
      status: 'Terminated',
      terminatedBy: 'operator',
      balances: { posted: 20 },
    })
  })

  it('for the newest card that is no lite one, where none is named', async () => {
    const api = await openIssueApi()
    api.time.ms += 1000
    await issue(api, 'corporate', { cardLimits: { dailyLimit: 7 } })
    await issue(api, 'lite')
    expect((await issue(api, 'own')).data).toMatchObject({
      type: 'corporate',
      cardLimits: { dailyLimit: 7 },
    })
  })

  it('and a lite one ends when its swipes, or its money, are used up', async () => {
    const api = await openIssueApi()
    const spend = async (cardId: string, eventId: string, amountMinor: number) =>
      (await api.engine.ask({ eventId, cardId, amountMinor })).code
    const { cardId: swiped } = (await issue(api, 'lite', { swipeCount: 1 })).data
    expect(await spend(swiped, 'a1', 100)).toBe('000')
    expect((await api.send('GET', `/cards/${swiped}`)).data).toMatchObject({
      status: 'Terminated',
      terminatedBy: 'swipes',
      swipesLeft: 0,
    })
    const more = { transactionId: 'a1', cardId: swiped, amountMinor: 5 }
    expect((await api.engine.ask({ ...more, eventId: 'a2' })).code).toBe('000')
    const ended = await api.send('POST', `/cards/${swiped}/terminate`, {})
    expect(ended.data).toMatchObject({ status: 'Terminated', terminatedBy: 'operator' })
    expect((await api.engine.ask({ ...more, eventId: 'a3' })).code).toBe('143')
    const { cardId: spent } = (await issue(api, 'lite', { balance: 2 })).data
    expect(await spend(spent, 'b1', 200)).toBe('000')
    const settled = { eventId: 'b2', transactionId: 'b1', requestType: 'Settlement' } as const
    await api.engine.ask({ ...settled, cardId: spent, amountMinor: 200 })
    expect((await api.send('GET', `/cards/${spent}`)).data).toMatchObject({
      status: 'Terminated',
      terminatedBy: 'exhausted',
    })
    expect((await api.send('POST', `/cards/${spent}/topup`, { amount: 1 })).said).toMatch(/^422/)
  })

  it('once for a Reference, whoever asks again', async () => {
    const api = await openIssueApi()
    const both = await Promise.all([issue(api, 'lite', {}, 'Once'), issue(api, 'lite', {}, 'Once')])
    expect(both.map(({ said }) => said)).toContain('200 000')
    expect((await issue(api, 'lite', {}, 'Once')).said).toBe('400 139')
    const [wallet] = (await api.send('GET', '/wallets')).data.items
    expect(wallet.balance).toBe(950)
    expect((await api.send('GET', '/customers/biz')).data.cards).toBe(2)
    const { data } = await api.send('GET', '/requests/Once')
    expect(data).toMatchObject({ state: 'Succeeded', data: { type: 'lite' } })
  })
})

/** One case for each cell of the table of fields: what is refused, and what must be there. */
const cells: readonly (readonly [
  field: string,
  value: unknown,
  kinds: readonly Kind[],
  said: string,
])[] = [
  ['customerId', undefined, allKinds, '400 158'],
  ['customerId', 'é', allKinds, '400 136'],
  ['currency', 'USD', again, '400 131'],
  ['currency', 'ZZZ', fresh, '400 121'],
  ['contactlessPayment', true, ['lite'], '400 131'],
  ['contactlessPayment', 'yes', ['retail', 'corporate', ...again], '400 136'],
  ['cardLimits', { dailyLimit: -1 }, allKinds, '400 111'],
  ['cardLimits', { transactionLimit: 0.001 }, allKinds, '400 111'],
  ['whiteListedMccs', ['1'], allKinds, '400 127'],
  ['blackListedMccs', Array.from({ length: 1001 }, () => '5411'), allKinds, '400 136'],
  ['balance', 5, ['retail', 'corporate', ...again], '400 131'],
  ['balance', undefined, ['lite'], '400 158'],
  ['balance', 0, ['lite'], '400 111'],
  ['balance', 0.001, ['lite'], '400 111'],
  ['swipeCount', 5, ['retail', 'corporate', ...again], '400 131'],
  ['swipeCount', undefined, ['lite'], '400 158'],
  ['swipeCount', 0, ['lite'], '400 136'],
  ['swipeCount', 1_000_001, ['lite'], '400 136'],
  ['swipeCount', 1.5, ['lite'], '400 136'],
  ['sharedBalance', true, fresh, '400 131'],
  ['sharedBalance', undefined, again, '400 158'],
  ['sharedBalance', 'true', again, '400 136'],
  ['cardId', 'original', [...fresh, 'own'], '400 131'],
  ['cardId', undefined, ['shared'], '400 158'],
  ['cardId', 'x'.repeat(65), ['shared'], '400 112'],
  ['initialBalance', 5, [...fresh, 'shared'], '400 131'],
  ['initialBalance', undefined, ['own'], '400 158'],
  ['initialBalance', 0, ['own'], '400 111'],
  ['initialBalance', 0.001, ['own'], '400 111'],
  ['terminateOriginal', true, [...fresh, 'own'], '400 131'],
  ['terminateOriginal', 'yes', ['shared'], '400 136'],
  ['address', { line1: 'x' }, allKinds, '400 158'],
  ['address', { ...address, country: 'Nowhere' }, allKinds, '400 136'],
  ['address', { ...address, line1: 'x'.repeat(101) }, allKinds, '400 136'],
  ['nameOnCard', 'ada', allKinds, '400 123'],
  ['metadata', { a: 1 }, allKinds, '400 136'],
  ['dailylimit', 5, [], ''],
  ['cardlimits', {}, allKinds, '400 131'],
]

describe('the fields of an issue', () => {
  it('are refused where they do not belong, and missed where they do', async () => {
    const api = await openIssueApi()
    const cardsBefore = (await api.send('GET', '/customers/biz')).data.cards
    for (const [field, value, among, said] of cells) {
      for (const kind of among) {
        const body =
          value === undefined ? without(kind, field) : { ...kinds[kind][1], [field]: value }
        const answer = await api.send('POST', kinds[kind][0], body)
        expect(answer.said, `${kind} ${field} ${JSON.stringify(value)?.slice(0, 40)}`).toBe(said)
        expect(answer.data).toBeNull()
        expect(JSON.stringify(answer.errors)).toContain(field)
      }
    }
    expect((await api.send('GET', '/customers/biz')).data.cards).toBe(cardsBefore)
    const [wallet] = (await api.send('GET', '/wallets')).data.items
    expect(wallet.balance).toBe(1000)
  })
})

/** What stands against an issue, from the last check to the first: each is told before those above it. */
interface Obstacle {
  readonly said: string
  readonly kinds: readonly Kind[]
  readonly body?: object
  place?(api: Api): Promise<unknown>
}

let numbersSay: 'failed' | 'timedOut' = 'failed'
const brokenNumbers: NumberSource = { make: async () => numbersSay, read: async () => numbersSay }

const obstacles: readonly Obstacle[] = [
  { said: '502 152', kinds: allKinds },
  { said: '422 116', kinds: ['lite'], body: { balance: 1001 } },
  { said: '422 116', kinds: ['own'], body: { initialBalance: 1001 } },
  {
    said: '422 161',
    kinds: allKinds,
    place: (api) =>
      api.card('owing', { customerId: 'biz', balance: '-0.01', status: 'Terminated' }),
  },
  { said: '422 121', kinds: fresh, body: { currency: 'EUR' } },
  {
    said: '422 119',
    kinds: ['shared'],
    body: { cardId: 'a-lite' },
    place: (api) => api.card('a-lite', { customerId: 'biz', type: 'lite', swipeCount: 3 }),
  },
  { said: '404 148', kinds: ['shared'], body: { cardId: 'card-1' } },
  { said: '404 148', kinds: ['shared'], body: { cardId: 'foreign' } },
  { said: '404 148', kinds: ['shared'], body: { cardId: 'nobody' } },
  {
    said: '422 115',
    kinds: allKinds,
    place: (api) => setCustomerSuspended(api.aggregates, 'biz', true),
  },
  { said: '404 157', kinds: allKinds, body: { customerId: 'nobody' } },
]

describe('the checks of an issue', () => {
  it.each(allKinds)('%s: come in their order', async (kind) => {
    const api = await openIssueApi({ numbers: brokenNumbers })
    let body: object = {}
    for (const { said, kinds: among, body: more, place } of obstacles) {
      if (!among.includes(kind)) continue
      body = { ...body, ...more }
      await place?.(api)
      const answer = await issue(api, kind, body)
      expect(answer.said, JSON.stringify(body)).toBe(said)
      expect(answer.data).toBeNull()
    }
    const [wallet] = (await api.send('GET', '/wallets')).data.items
    expect(wallet.balance).toBe(1000)
  })

  it('see that a customer was suspended while the Reference of the call was bound', async () => {
    const state = createMemoryState()
    let isBinding = false
    const api = await openIssueApi({
      state,
      faults(commands) {
        if (isBinding && commands.some(({ aggregate }) => aggregate.startsWith('r:'))) {
          const customer = state.aggregates.get(customerAggregate('biz'))!
          customer.root = customer.root.replace('"suspended":false', '"suspended":true')
        }
        return { kind: 'none' }
      },
    })
    isBinding = true
    expect((await issue(api, 'lite')).said).toBe('422 115')
    expect((await api.send('GET', '/wallets')).data.items[0].balance).toBe(1000)
  })

  it('tell a source of numbers that is late from one that fails', async () => {
    const api = await openIssueApi({ numbers: brokenNumbers })
    numbersSay = 'timedOut'
    expect((await issue(api, 'retail')).said).toBe('504 172')
    numbersSay = 'failed'
    expect((await issue(api, 'retail')).said).toBe('502 152')
  })

  it('keep corporate cards for businesses, and re-issues for who has a card', async () => {
    const api = await openIssueApi()
    expect((await issue(api, 'corporate', { customerId: 'customer-1' })).said).toBe('422 115')
    await api.customer('new')
    expect((await issue(api, 'own', { customerId: 'new' })).said).toBe('404 148')
    await api.customer('theirs', { organizationId: 'org-2' })
    for (const kind of allKinds) {
      expect((await issue(api, kind, { customerId: 'theirs' })).said).toBe('404 157')
    }
    await issue(api, 'lite', { customerId: 'new' })
    expect((await issue(api, 'own', { customerId: 'new' })).said).toBe('404 148')
  })

  it('keep a re-issue with the wallet that its Reference began with', async () => {
    const api = await openIssueApi()
    const asked = { initialBalance: 1001 }
    expect((await issue(api, 'own', asked, 'Same')).said).toBe('422 116')
    await issue(api, 'retail', { currency: 'NGN' })
    await api.send('POST', '/wallets/NGN/fund', { amount: 2000 })
    expect((await issue(api, 'own', asked, 'Same')).said).toBe('422 116')
    await api.send('POST', '/wallets/USD/fund', { amount: 1 })
    const { said, data } = await issue(api, 'own', asked, 'Same')
    expect([said, data.currency, data.balances.posted]).toEqual(['200 000', 'USD', 1001])
  })

  it('keep an issue with the currency that its Reference began with', async () => {
    const api = await openIssueApi()
    await setCustomerSuspended(api.aggregates, 'biz', true)
    expect((await issue(api, 'retail', {}, 'Same')).said).toBe('422 115')
    await setCustomerSuspended(api.aggregates, 'biz', false)
    await setOrganization(api.aggregates, 'org-1', { currencies: ['NGN', 'USD'] })
    api.time.ms += 1_000
    expect((await issue(api, 'retail')).data.currency).toBe('NGN')
    const { said, data } = await issue(api, 'retail', {}, 'Same')
    expect([said, data.currency]).toEqual(['200 000', 'USD'])
  })

  it('let the same Reference try again after a refusal, with the same payload', async () => {
    const api = await openIssueApi()
    await setCustomerSuspended(api.aggregates, 'biz', true)
    expect((await issue(api, 'lite', {}, 'Retry')).said).toBe('422 115')
    await setCustomerSuspended(api.aggregates, 'biz', false)
    expect((await issue(api, 'lite', { balance: 1 }, 'Retry')).said).toBe('400 139')
    expect((await issue(api, 'lite', {}, 'Retry')).said).toBe('200 000')
  })
})
