import { describe, expect, it } from 'vitest'
import { decodeEntry } from '../../../../src/engine/format/entry-codec.ts'
import { openCardApi } from '../../../support/card-world.ts'

const sandbox = { source: 'sandbox', bin: '999999' } as const

describe('a card', () => {
  it('is shown as the contract says, without a number', async () => {
    const { send } = await openCardApi()
    const { said, data } = await send('GET', '/cards/card-1')
    expect(said).toBe('200 000')
    expect(data).toEqual({
      cardId: 'card-1',
      customerId: 'customer-1',
      accountId: 'card-1',
      type: 'retail',
      status: 'Active',
      terminatedBy: null,
      maskedPan: null,
      expiry: null,
      currency: 'USD',
      balances: { posted: 100, held: 0, withheld: 0, available: 100, chargesPending: 0 },
      cardLimits: { dailyLimit: null, transactionLimit: null },
      whiteListedMccs: [],
      blackListedMccs: [],
      whiteListedMids: [],
      blackListedMids: [],
      unblockedMids: [],
      swipesLeft: null,
      replaces: null,
      contactlessPayment: false,
      nameOnCard: null,
      address: null,
      metadata: {},
      createdAt: '2026-11-15T10:00:00.000Z',
    })
  })

  it('shows what its row of an import gave', async () => {
    const { send, card } = await openCardApi()
    const given = { maskedPan: '411111******1111', contactlessPayment: true, expiry: '2030-01' }
    const issuedAt = '2025-11-15T10:00:00.000Z'
    await card('card-3', { ...given, issuedAt })
    await card('card-3', { maskedPan: '422222******2222' })
    expect((await send('GET', '/cards/card-3')).data).toMatchObject({
      ...given,
      createdAt: issuedAt,
    })
    await send('PATCH', '/cards/card-3', { metadata: { a: 'b' } })
    expect((await send('GET', '/cards/card-3')).data).toMatchObject({
      ...given,
      metadata: { a: 'b' },
    })
    await expect(card('card-4', { maskedPan: '4111111111111111' })).rejects.toThrow('maskedPan')
  })

  it('is as unknown when it is of another organization', async () => {
    const { send } = await openCardApi()
    for (const id of ['nobody', 'foreign']) {
      const paths = ['', '/full', '/freeze', '/unfreeze', '/terminate'] as const
      for (const path of paths) {
        const method = path === '' || path === '/full' ? 'GET' : 'POST'
        const answer = await send(method, `/cards/${id}${path}`)
        expect([answer.said, answer.data]).toEqual(['404 148', null])
      }
      expect((await send('PATCH', `/cards/${id}`, { metadata: {} })).said).toBe('404 148')
    }
    expect((await send('GET', `/cards/${'x'.repeat(65)}`)).said).toBe('400 112')
    expect((await send('GET', '/cards/caf%C3%A9')).said).toBe('400 112')
  })

  it('has its number shown to whoever may see it', async () => {
    const { send } = await openCardApi({ cardNumbers: sandbox })
    const issued = await send('POST', '/cards/retail', { customerId: 'customer-1' })
    const { said, data } = await send('GET', `/cards/${issued.data.cardId}/full`)
    expect([said, data.pan, data.cvv]).toEqual([
      '200 000',
      expect.stringMatching(/^999999\d{10}$/),
      expect.stringMatching(/^\d{3}$/),
    ])
    expect((await send('GET', '/cards/card-1/full')).said).toBe('422 119')
  })

  it('keeps its number to itself without the scope, or with that scope alone', async () => {
    for (const [scope, missing] of [
      ['CardAPIs', 'CardAPIs.Pan'],
      ['CardAPIs.Read', 'CardAPIs.Pan'],
      ['CardAPIs.Pan', 'CardAPIs.Read'],
    ] as const) {
      const { send } = await openCardApi({ cardNumbers: sandbox, scopes: [scope] })
      const answer = await send('GET', '/cards/card-1/full')
      expect(answer.said).toBe('403 149')
      expect(answer.message).toBe(`Unauthorized: the token needs the scope ${missing}`)
    }
  })

  it('has no number where none are kept', async () => {
    const { send } = await openCardApi()
    expect((await send('GET', '/cards/card-1/full')).said).toBe('422 119')
  })

  it('says when the source of numbers fails or is late', async () => {
    for (const [fault, said] of [
      ['failed', '502 152'],
      ['timedOut', '504 172'],
    ] as const) {
      const numbers = { make: async () => fault, read: async () => fault }
      const { send } = await openCardApi({ numbers })
      const answer = await send('GET', '/cards/card-1/full', undefined, 'Full')
      expect([answer.said, answer.data]).toEqual([said, null])
      expect((await send('GET', '/cards/card-1', undefined, 'Full')).said).toBe('200 000')
    }
  })

  it('changes nothing but with the scope for it', async () => {
    const { send } = await openCardApi({ scopes: ['CardAPIs.Read'] })
    expect((await send('GET', '/cards/card-1')).said).toBe('200 000')
    expect((await send('POST', '/cards/card-1/freeze')).said).toBe('403 149')
    expect((await send('PATCH', '/cards/card-1', { metadata: {} })).said).toBe('403 149')
  })
})

describe('an update of a card', () => {
  it('sets what it names, and leaves the rest', async () => {
    const { send } = await openCardApi()
    const steps: readonly (readonly [object, object])[] = [
      [
        { cardLimits: { dailyLimit: 400, transactionLimit: '200.50' } },
        { cardLimits: { dailyLimit: 400, transactionLimit: 200.5 } },
      ],
      [
        { cardLimits: { transactionLimit: null } },
        { cardLimits: { dailyLimit: 400, transactionLimit: null } },
      ],
      [
        { cardLimits: { dailyLimit: 0 } },
        { cardLimits: { dailyLimit: 0, transactionLimit: null } },
      ],
      [{ whiteListedMccs: ['5411', '5411', '5812'] }, { whiteListedMccs: ['5411', '5812'] }],
      [
        { blackListedMccs: ['7995'] },
        { whiteListedMccs: ['5411', '5812'], blackListedMccs: ['7995'] },
      ],
      [{ whiteListedMccs: [] }, { whiteListedMccs: [], blackListedMccs: ['7995'] }],
      [{ contactlessPayment: true }, { contactlessPayment: true }],
      [{ metadata: { team: 'a' } }, { metadata: { team: 'a' }, contactlessPayment: true }],
      [{ metadata: { size: 'b' } }, { metadata: { size: 'b' } }],
      [{}, { metadata: { size: 'b' }, blackListedMccs: ['7995'] }],
    ]
    for (const [body, expected] of steps) {
      const { said, data } = await send('PATCH', '/cards/card-1', body)
      expect([said, data]).toMatchObject(['200 000', expected])
      expect((await send('GET', '/cards/card-1')).data).toEqual(data)
    }
  })

  it.each([
    [{ cardLimits: { dailyLimit: -1 } }, '400 111'],
    [{ cardLimits: { dailyLimit: 1.005 } }, '400 111'],
    [{ cardLimits: { dailyLimit: 10_000_000_000.01 } }, '400 111'],
    [{ cardLimits: { dailyLimit: 'much' } }, '400 111'],
    [{ cardLimits: { dailyLimits: 5 } }, '400 131'],
    [{ cardlimits: {} }, '400 131'],
    [{ whiteListedMccs: ['54'] }, '400 127'],
    [{ contactlessPayment: 'yes' }, '400 136'],
    [{ metadata: { a: 1 } }, '400 136'],
    [[], '400 136'],
  ])('%j is refused with %s', async (body, said) => {
    const { send } = await openCardApi()
    const before = await send('GET', '/cards/card-1')
    const answer = await send('PATCH', '/cards/card-1', body)
    expect([answer.said, answer.data]).toEqual([said, null])
    expect((await send('GET', '/cards/card-1')).data).toEqual(before.data)
  })

  it('counts from the next decision on', async () => {
    const { send, engine } = await openCardApi()
    const ask = async (eventId: string, amountMinor: number) =>
      (await engine.ask({ eventId, cardId: 'card-1', amountMinor })).code
    expect(await ask('e1', 6_000)).toBe('000')
    await send('PATCH', '/cards/card-1', { cardLimits: { transactionLimit: 10 } })
    expect([await ask('e2', 1_001), await ask('e3', 1_000)]).toEqual(['129', '000'])
  })
})

describe('the status of a card', () => {
  it('takes a body whatever unknown names it has, also those of our own refusals', async () => {
    const { send, bugs } = await openCardApi()
    const names = { condition: 'notAuthenticated', detail: 'no', challenge: 'x', data: {} }
    const { said, data, warnings } = await send('POST', '/cards/card-1/freeze', names)
    expect([said, data, warnings]).toMatchObject([
      '200 000',
      { status: 'Frozen' },
      ['condition', 'detail', 'challenge', 'data'],
    ])
    expect((await send('PATCH', '/cards/card-1', { condition: 'new' })).said).toBe('200 000')
    expect(bugs).toEqual([])
  })

  it('changes, again and again, until it is Terminated', async () => {
    const { send, engine, store, credentials } = await openCardApi()
    const steps: readonly (readonly [string, string, string | null, string | null])[] = [
      ['freeze', '200 000', 'Frozen', null],
      ['freeze', '200 000', 'Frozen', null],
      ['unfreeze', '200 000', 'Active', null],
      ['unfreeze', '200 000', 'Active', null],
      ['freeze', '200 000', 'Frozen', null],
      ['terminate', '200 000', 'Terminated', 'operator'],
      ['terminate', '200 000', 'Terminated', 'operator'],
      ['freeze', '422 143', null, null],
      ['unfreeze', '422 143', null, null],
    ]
    for (const [name, said, status, terminatedBy] of steps) {
      const answer = await send('POST', `/cards/card-1/${name}`, { reason: `why ${name}` })
      expect(answer.said, name).toBe(said)
      const found = answer.data && [answer.data.status, answer.data.terminatedBy]
      expect(found).toEqual(status && [status, terminatedBy])
    }
    expect((await send('PATCH', '/cards/card-1', { metadata: {} })).said).toBe('422 143')
    const { code } = await engine.ask({ eventId: 'e1', cardId: 'card-1' })
    expect(code).toBe('143')
    const entries = (await store.readLog('', 100)).map(({ entry }) => decodeEntry(entry))
    const mine = entries.filter(({ origin }) => origin?.startsWith(`api ${credentials.clientId} `))
    expect(mine.map(({ reason }) => reason)).toEqual([
      'why freeze',
      'why unfreeze',
      'why freeze',
      'why terminate',
    ])
  })

  it('needs no body', async () => {
    const { send } = await openCardApi()
    expect((await send('POST', '/cards/card-1/freeze')).said).toBe('200 000')
    expect((await send('POST', '/cards/card-1/unfreeze', { reason: 5 })).said).toBe('400 136')
  })

  it('changes once for a Reference, and what became of it can be asked for', async () => {
    const { send } = await openCardApi()
    const first = await send('POST', '/cards/card-1/freeze', {}, 'Freeze-1')
    expect((await send('POST', '/cards/card-1/freeze', {}, 'Freeze-1')).said).toBe('400 139')
    const { data } = await send('GET', '/requests/Freeze-1')
    expect(data).toMatchObject({ state: 'Succeeded', data: first.data })
    await send('POST', '/cards/nobody/freeze', {}, 'Freeze-2')
    const { data: lost } = await send('GET', '/requests/Freeze-2')
    expect(lost).toMatchObject({ state: 'Failed', httpStatus: 404, responseCode: '148' })
    expect((await send('POST', '/cards/card-2/freeze', {}, 'Freeze-2')).said).toBe('400 139')
  })

  it('does not keep what was given for a card that is not there: it may be the number of one', async () => {
    const { send } = await openCardApi()
    for (const act of ['freeze', 'topup', 'merchants/blacklist']) {
      const body = { freeze: {}, topup: { amount: 1 } }[act] ?? { mid: 'MID-1' }
      const asked = await send('POST', `/cards/4111111111111111/${act}`, body, act)
      expect(asked.said).toBe('404 148')
      const { data } = await send('GET', `/requests/${encodeURIComponent(act)}`)
      expect(data).toMatchObject({ state: 'Failed', path: `/api/v1/cards/{cardId}/${act}` })
    }
  })
})

describe('a customer', () => {
  it('is shown with the number of its cards, and as unknown to others', async () => {
    const { send, customer } = await openCardApi()
    const { said, data } = await send('GET', '/customers/customer-1')
    expect([said, data]).toEqual([
      '200 000',
      {
        customerId: 'customer-1',
        type: 'individual',
        clientReference: null,
        name: 'Ada Obi',
        email: null,
        phoneNumber: null,
        address: null,
        idType: null,
        idLast4: null,
        kycToken: null,
        kycStatus: 'Approved',
        cards: 2,
        negative: false,
        createdAt: '2026-11-15T10:00:00.000Z',
      },
    ])
    await customer('theirs', { organizationId: 'org-2' })
    for (const id of ['theirs', 'nobody']) {
      expect((await send('GET', `/customers/${id}`)).said).toBe('404 157')
    }
    expect((await send('GET', '/customers/%C3%A9')).said).toBe('400 136')
  })
})
