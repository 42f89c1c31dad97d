import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type CardEvent, requestTypes } from '../../src/domain/record/event.ts'
import { readEvent } from '../../src/wire/event.ts'
import { isRefusal, type Refusal } from '../../src/wire/refusal.ts'
import { renderRefusal } from '../../src/wire/reply.ts'

type Body = Record<string, unknown>

const merchant = { mid: 'MID1', mcc: '5411', name: 'Shop', city: 'Lagos', country: 'NG' }
const ask: Body = {
  eventId: 'evt-1',
  requestType: 'Authorization',
  transactionId: 'txn-1',
  cardId: 'card-1',
  amount: 12.5,
  currency: 'USD',
  merchant,
  occurredAt: '2026-11-14T10:00:00Z',
}
const advice: Body = { ...without(ask, 'merchant'), requestType: 'Settlement' }

describe('readEvent', () => {
  it('reads an ask', () => {
    expect(read(ask)).toEqual({
      eventId: 'evt-1',
      requestType: 'Authorization',
      transactionId: 'txn-1',
      originalTransactionId: '',
      cardId: 'card-1',
      amountMinor: 1250,
      currency: 'USD',
      final: null,
      partialApprovalSupported: false,
      merchant,
      channel: '',
      entryMode: '',
      merchantAmountMinor: 0,
      merchantCurrency: '',
      occurredAtMs: Date.UTC(2026, 10, 14, 10),
    })
  })

  it('reads the optional fields', () => {
    const optional = {
      originalTransactionId: 'txn-0',
      partialApprovalSupported: true,
      final: false,
      channel: 'pos',
      entryMode: 'chip',
      merchantAmount: '1500',
      merchantCurrency: 'JPY',
    }
    expect(read({ ...ask, ...optional })).toMatchObject({
      ...without(optional, 'merchantAmount'),
      merchantAmountMinor: 1500,
    })
  })

  it('takes null and the empty text for an absent optional field', () => {
    const names = ['originalTransactionId', 'channel', 'entryMode', 'merchantCurrency']
    for (const value of [null, '']) {
      const optional = Object.fromEntries(names.map((name) => [name, value]))
      const absent = { ...optional, final: null, merchantAmount: value }
      expect(read({ ...ask, ...absent })).toEqual(read(ask))
    }
  })

  it('ignores fields it does not know, whatever is in them', () => {
    const unknown = { terminal: { id: [1, { a: null }] }, ['__proto__']: { mid: 'x' }, x: 1e300 }
    expect(read({ ...ask, ...unknown, merchant: { ...merchant, id: 7 } })).toEqual(read(ask))
  })

  it('reads every requestType', () => {
    for (const requestType of Object.keys(requestTypes)) {
      expect(read({ ...ask, requestType })).toMatchObject({ requestType })
    }
  })

  it.each([
    ['12.5', 'USD', 1250],
    ['"12.50"', 'USD', 1250],
    ['0.1', 'USD', 10],
    ['1.10', 'USD', 110],
    ['1e2', 'USD', 10_000],
    ['0', 'USD', 0],
    ['1500', 'JPY', 1500],
    ['1500.000', 'JPY', 1500],
    ['1.234', 'KWD', 1234],
    ['9007199254740.99', 'USD', 900719925474099],
  ])('reads the amount %s of %s exactly', (amount, currency, amountMinor) => {
    const text = JSON.stringify({ ...ask, amount: '@', currency }).replace('"@"', amount)
    expect(readEvent(Buffer.from(text))).toMatchObject({ amountMinor })
  })

  it.each([
    ['-1', 'amount must not be negative'],
    ['1.005', 'amount has more decimals than its currency'],
    ['1234567890123456', 'amount must have at most 15 digits'],
    ['"12,50"', 'amount must be a number or a decimal text'],
    ['" 1"', 'amount must be a number or a decimal text'],
    ['"1e2"', 'amount must be a number or a decimal text'],
    ['"1E2"', 'amount must be a number or a decimal text'],
    ['"0x10"', 'amount must be a number or a decimal text'],
    ['true', 'amount must be a number or a decimal text'],
    ['{}', 'amount must be a number or a decimal text'],
    ['[1]', 'amount must be a number or a decimal text'],
    ['null', 'amount is required'],
    ['""', 'amount is required'],
  ])('refuses the amount %s', (amount, message) => {
    const text = JSON.stringify({ ...ask, amount: '@' }).replace('"@"', amount)
    const refusal = readEvent(Buffer.from(text))
    expect(refusal).toMatchObject({ status: 400, responseCode: '136', field: 'amount', message })
  })

  it('lets only a Reversal come without an amount', () => {
    const reversal = { ...without(advice, 'amount'), requestType: 'Reversal' }
    expect(read(reversal)).toMatchObject({ amountMinor: null })
    expect(read({ ...reversal, amount: 3 })).toMatchObject({ amountMinor: 300 })
    for (const requestType of ['Settlement', 'PartialReversal', 'Refund']) {
      expect(refused({ ...reversal, requestType }).message).toBe('amount is required')
    }
  })

  it.each(['eventId', 'requestType', 'transactionId', 'cardId', 'currency', 'occurredAt'])(
    'refuses an event without %s, or with a null in it',
    (field) => {
      for (const body of [without(ask, field), { ...ask, [field]: null }]) {
        const message = `${field} is required`
        expect(refused(body)).toMatchObject({ responseCode: '136', field, message })
      }
    },
  )

  it.each(['eventId', 'cardId', 'transactionId', 'originalTransactionId', 'channel'])(
    'refuses %s when it is no text, too long or not printable ASCII',
    (field) => {
      for (const value of [7, true, {}, ['a'], 'x'.repeat(65), 'é', 'a\nb', 'a\u007f']) {
        expect(refused({ ...ask, [field]: value }).field).toBe(field)
      }
      expect(read({ ...ask, [field]: `~ ${'x'.repeat(62)}` })).toBeDefined()
    },
  )

  it('takes an empty transactionId, as some relays send none, but no empty eventId or cardId', () => {
    expect(read({ ...ask, transactionId: '' })).toMatchObject({ transactionId: '' })
    expect(refused({ ...ask, eventId: '' }).field).toBe('eventId')
    expect(refused({ ...ask, cardId: '' }).field).toBe('cardId')
  })

  it.each(['authorization', 'Capture', 'constructor', '__proto__', 'toString'])(
    'refuses the unknown requestType %s with 131',
    (requestType) => {
      const expected = { responseCode: '131', field: 'requestType', eventId: 'evt-1' }
      expect(refused({ ...ask, requestType })).toMatchObject(expected)
    },
  )

  it('refuses a requestType that is no text with 136', () => {
    expect(refused({ ...ask, requestType: 1 })).toMatchObject({ responseCode: '136' })
  })

  it.each([
    ['merchant is required', undefined],
    ['merchant must be an object', 'MID1'],
    ['merchant must be an object', [merchant]],
    ['merchant.mid is required', without(merchant, 'mid')],
    ['merchant.mcc is required', without(merchant, 'mcc')],
    ['merchant.mcc must be four digits', { ...merchant, mcc: '541' }],
    ['merchant.mcc must be four digits', { ...merchant, mcc: '54l1' }],
    ['merchant.mcc must be a text', { ...merchant, mcc: 5411 }],
    ['merchant.mid must be a text', { ...merchant, mid: 12345 }],
    ['merchant.mcc must be four digits', { ...merchant, mcc: '' }],
    ['merchant.mid must be 1 to 64 printable ASCII characters', { ...merchant, mid: '' }],
    ['merchant.country must be an ISO 3166 alpha-2 code', { ...merchant, country: 'UK' }],
    ['merchant.name must be at most 200 characters', { ...merchant, name: 'x'.repeat(201) }],
    ['merchant.city must be a text', { ...merchant, city: 5 }],
  ])('refuses an ask: %s', (message, value) => {
    expect(refused({ ...ask, merchant: value }).message).toBe(message)
  })

  it('takes an advice without a merchant, or with a part of one, but not with a wrong one', () => {
    const nobody = { mid: '', mcc: '', name: '', city: '', country: '' }
    expect(read(advice)).toMatchObject({ merchant: nobody })
    expect(read({ ...advice, merchant: null })).toMatchObject({ merchant: nobody })
    expect(read({ ...advice, merchant: { mid: 'M', mcc: '' } })).toMatchObject({
      merchant: { ...nobody, mid: 'M' },
    })
    expect(refused({ ...advice, merchant: { mcc: '1' } }).field).toBe('merchant.mcc')
  })

  it('puts spaces for control characters in names, so that none reaches a terminal', () => {
    const event = read({ ...ask, merchant: { ...merchant, name: 'A\u0000\u001b[2J\u009b😀' } })
    expect((event as CardEvent).merchant.name).toBe('A  [2J 😀')
  })

  it.each(['usd', 'XXX', 'EURO', '', 840])('refuses the currency %j', (currency) => {
    expect(refused({ ...ask, currency }).message).toBe('currency must be an ISO 4217 code')
  })

  it('takes what the merchant counted in for absent when it cannot be read', () => {
    for (const body of [ask, advice]) {
      const without = read(body)
      expect(read({ ...body, merchantAmount: 1 })).toEqual(without)
      expect(read({ ...body, merchantAmount: 1, merchantCurrency: 'ANG' })).toEqual(without)
      expect(read({ ...body, merchantAmount: 1, merchantCurrency: 7 })).toEqual(without)
      for (const merchantAmount of [1.5, '1e2', -1, {}, '1'.repeat(20)]) {
        const yen = { ...body, merchantAmount, merchantCurrency: 'JPY' }
        expect(read(yen)).toEqual({ ...without, merchantCurrency: 'JPY' })
      }
    }
  })

  it('tells all that is wrong with a body, and names the first field', () => {
    const broken = {
      ...ask,
      cardId: 7,
      currency: 'usd',
      amount: -1,
      occurredAt: 'now',
      merchant: {},
    }
    expect(refused(broken)).toMatchObject({
      responseCode: '136',
      field: 'cardId',
      eventId: 'evt-1',
      message:
        'cardId must be a text; currency must be an ISO 4217 code; ' +
        'merchant.mid is required; merchant.mcc is required; ' +
        'occurredAt must be an RFC 3339 time with Z or an offset',
    })
    expect(refused({ requestType: 'Capture', eventId: 'evt-1' })).toMatchObject({
      responseCode: '131',
      field: 'requestType',
    })
    expect(refused({}).message).toBe(
      ['requestType', 'eventId', 'transactionId', 'cardId', 'currency', 'occurredAt']
        .map((name) => `${name} is required`)
        .join('; '),
    )
  })

  it('tells a refused advice from a refused ask', () => {
    expect(refused({ ...ask, cardId: '' }).about).toBe('ask')
    expect(refused({ ...advice, cardId: '' }).about).toBe('advice')
    expect(refused({ ...advice, requestType: 'Capture' }).about).toBe('ask')
  })

  it('refuses what is no JSON object without showing it', () => {
    const message = 'not JSON: a value is expected at byte 0'
    expect(readEvent(Buffer.from('hello'))).toMatchObject({ field: '', message, eventId: '' })
    for (const text of ['[]', '"x"', '1', 'null', 'true']) {
      const expected = { field: '', message: 'the body must be a JSON object' }
      expect(readEvent(Buffer.from(text))).toMatchObject(expected)
    }
  })

  it('refuses duplicate names, of which JSON.parse would silently take the last', () => {
    const text = JSON.stringify(ask).replace('"amount"', String.raw`"am\u006funt":1,"amount"`)
    expect(readEvent(Buffer.from(text))).toMatchObject({ status: 400, responseCode: '136' })
  })

  it('echoes ids in a refusal only when they are well-formed', () => {
    const broken = { ...ask, currency: 'x' }
    expect(refused(broken)).toMatchObject({ eventId: 'evt-1', transactionId: 'txn-1' })
    for (const bad of ['<script>\u0007', 'x'.repeat(65), 5, null, ['a']]) {
      const body = { ...broken, eventId: bad, transactionId: bad }
      expect(refused(body)).toMatchObject({ eventId: '', transactionId: '' })
    }
  })

  it('never throws on mutations of a good body, and what it lets through is true', () => {
    const value = fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom('', 'USD', 'Reversal', '2026-02-30T00:00:00Z', 1e21, 'x'.repeat(70)),
    )
    const names = [...Object.keys(ask), 'final', 'merchantAmount', 'merchantCurrency', 'channel']
    const mutation = fc.tuple(fc.constantFrom(...names), value)
    fc.assert(
      fc.property(
        fc.constantFrom(ask, advice),
        fc.array(mutation, { maxLength: 3 }),
        fc.nat(),
        fc.option(fc.nat(255)),
        (body, mutations, at, byte) => {
          const bytes = Buffer.from(JSON.stringify({ ...body, ...Object.fromEntries(mutations) }))
          if (byte !== null) bytes[at % bytes.length] = byte
          const result = readEvent(bytes)
          if (isRefusal(result)) {
            const rendered = JSON.parse(renderRefusal(result)) as Body
            expect(rendered).toMatchObject({ decision: 'decline', message: result.message })
            return
          }
          expect(result.eventId).toMatch(/^[\x20-\x7e]{1,64}$/)
          expect(result.cardId).toMatch(/^[\x20-\x7e]{1,64}$/)
          expect(Number.isSafeInteger(result.occurredAtMs)).toBe(true)
          expect(Number.isSafeInteger(result.merchantAmountMinor)).toBe(true)
          if (result.amountMinor === null) expect(result.requestType).toBe('Reversal')
          else expect(result.amountMinor).toBeGreaterThanOrEqual(0)
        },
      ),
      { numRuns: 3000 },
    )
  })
})

function read(body: Body): CardEvent {
  const result = readEvent(Buffer.from(JSON.stringify(body)))
  if (isRefusal(result)) throw new Error(result.message)
  return result
}

function refused(body: Body): Refusal {
  const result = readEvent(Buffer.from(JSON.stringify(body)))
  if (!isRefusal(result)) throw new Error('was read')
  return result
}

function without(body: Body, name: string): Body {
  return Object.fromEntries(Object.entries(body).filter(([each]) => each !== name))
}
