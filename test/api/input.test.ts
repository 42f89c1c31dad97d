import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { bodyText, type Plain, payloadHash, readBody } from '../../src/api/body.ts'
import { isRefused } from '../../src/api/condition.ts'
import { fieldConditions, readFields } from '../../src/api/input.ts'

const amount = z
  .union([z.number(), z.string()], 'must be a number or a decimal text')
  .register(fieldConditions, { condition: 'amountMalformed' })
const mcc = z
  .string()
  .regex(/^[0-9]{4}$/, 'must be four digits')
  .register(fieldConditions, { condition: 'mccMalformed' })

const schema = z.object({
  customerId: z.string().min(1),
  type: z.enum(['retail', 'lite']).optional(),
  balance: amount.optional(),
  cardLimits: z.object({ dailyLimit: amount.nullable().optional() }).optional(),
  blackListedMccs: z.array(mcc).max(3).default([]),
})

function read(given: unknown) {
  return readFields(schema, given, 'ignored')
}

function bodyOf(text: string): Plain {
  const given = readBody(Buffer.from(text))
  if (isRefused(given)) throw new Error('refused')
  return given.body
}

describe('the fields of a body', () => {
  it('may have any name where they are named by the caller, and the one that cannot be kept is told', () => {
    const named = z.object({ metadata: z.record(z.string(), z.string()).optional() })
    const body = bodyOf('{"metadata":{"constructor":"a","__proto__":"b"}}')
    expect(readFields(named, body, 'ignored')).toEqual({
      value: { metadata: Object.fromEntries([['constructor', 'a']]) },
      warnings: ['metadata.__proto__'],
    })
  })

  it('are read, and what was not understood is named', () => {
    expect(read({ customerId: 'c', colour: 1, cardLimits: { hue: 1 } })).toEqual({
      value: { customerId: 'c', cardLimits: {}, blackListedMccs: [] },
      warnings: ['colour', 'cardLimits.hue'],
    })
  })

  it.each([
    [{}, 'fieldMissing', 'customerId is required'],
    [{ customerId: 1 }, 'bodyMalformed', 'customerId must be a text'],
    [{ customerId: null }, 'bodyMalformed', 'customerId must not be null'],
    [{ customerId: '' }, 'bodyMalformed', 'customerId must be at least 1 characters long'],
    [{ customerId: 'c', type: 'x' }, 'bodyMalformed', 'type must be one of retail, lite'],
    [{ customerId: 'c', balance: true }, 'amountMalformed', 'balance'],
    [{ customerId: 'c', cardLimits: { dailyLimit: [] } }, 'amountMalformed', 'dailyLimit'],
    [{ customerId: 'c', blackListedMccs: ['5411', '541'] }, 'mccMalformed', 'blackListedMccs.1'],
    [{ customerId: 'c', blackListedMccs: {} }, 'bodyMalformed', 'blackListedMccs must be a list'],
    [
      { customerId: 'c', blackListedMccs: ['0001', '0002', '0003', '0004'] },
      'bodyMalformed',
      'blackListedMccs must be at most 3 entries long',
    ],
    [[], 'bodyMalformed', 'must be an object'],
    [null, 'bodyMalformed', 'must be an object'],
    [{ customerId: 'c', cardLimits: { dailylimit: 5 } }, 'fieldNotAllowed', 'dailyLimit?'],
    [{ customerID: 'c' }, 'fieldNotAllowed', 'did you mean customerId?'],
  ])('%j is refused as %s', (given, condition, detail) => {
    const refused = read(given)
    expect(isRefused(refused) && refused.condition).toBe(condition)
    expect(isRefused(refused) && refused.detail).toContain(detail)
  })

  it.each([
    ['12345678901234567', 'bodyMalformed', 'must be an object'],
    ['{"customerId":"c","cardLimits":12345678901234567}', 'bodyMalformed', 'cardLimits'],
    ['{"customerId":"c","blackListedMccs":1.000000000000000}', 'bodyMalformed', 'must be a list'],
    ['{"customerId":"c","balance":12345678901234567}', 'amountMalformed', 'balance'],
  ])('%s has a number that no field takes', (text, condition, detail) => {
    const refused = read(bodyOf(text))
    expect(isRefused(refused) && refused.condition).toBe(condition)
    expect(isRefused(refused) && refused.detail).toContain(detail)
  })

  it('are all named when several are wrong, and the first one says the code', () => {
    const refused = read({ balance: true, blackListedMccs: ['x'] })
    expect(refused).toMatchObject({
      condition: 'fieldMissing',
      errors: [{ field: 'customerId' }, { field: 'balance' }, { field: 'blackListedMccs.0' }],
    })
  })

  it('are all named beside a slip, which says the code', () => {
    expect(read({ customerid: 'c', balance: true })).toMatchObject({
      condition: 'fieldNotAllowed',
      errors: [
        { field: 'customerid', message: 'is not known: did you mean customerId?' },
        { field: 'customerId', message: 'is required' },
        { field: 'balance', message: 'must be a number or a decimal text' },
      ],
    })
  })

  it('are refused in a query when they are not known', () => {
    const query = z.object({ limit: z.string().optional() })
    expect(readFields(query, { colour: 'red' }, 'refused')).toMatchObject({
      condition: 'fieldNotAllowed',
    })
  })

  it('are no place for a prototype', () => {
    const body = bodyOf('{"customerId":"c","__proto__":{"balance":5}}')
    expect(read(body)).toMatchObject({ value: { customerId: 'c', blackListedMccs: [] } })
  })
})

describe('the payload of a call', () => {
  it('is the same for the same words in another order and spacing', () => {
    const hash = (text: string) => payloadHash('POST', '/api/v1/cards/card-1/topup', bodyOf(text))
    const expected = '8d6f950383b6fd99f2ef4903e980cfc7bba8ef2dca164c73f4ab9598a0063636'
    expect(hash('{"amount":25.5,"currency":"USD"}')).toBe(expected)
    expect(hash('{ "currency": "USD", "amount": 25.50 }')).toBe(expected)
    expect(hash('{"amount":25.51,"currency":"USD"}')).not.toBe(expected)
    expect(hash('{"amount":"25.5","currency":"USD"}')).not.toBe(expected)
  })

  it('tells numbers apart that a double would not', () => {
    const hash = (text: string) => payloadHash('POST', '/', bodyOf(text))
    expect(hash('{"a":1.0000000000000000001}')).not.toBe(hash('{"a":1.0000000000000000002}'))
  })

  it('is written again with all digits of a number, so that whoever gets it can refuse it', () => {
    const body = bodyOf('{"amount":1.0000000000000005,"ids":["1"]}')
    expect(bodyText(body)).toBe('{"amount":"1.0000000000000005","ids":["1"]}')
  })

  it('refuses what is not JSON, and a name twice', () => {
    expect(readBody(Buffer.from('{"a":1,"a":2}'))).toMatchObject({ condition: 'bodyMalformed' })
    expect(readBody(Buffer.from('{"a":'))).toMatchObject({ condition: 'bodyMalformed' })
    expect(readBody(Buffer.alloc(0))).toEqual({ body: {} })
  })
})

it('a body has as many values as one of the usual size can have, and is not read when it has more', () => {
  const listOf = (values: number) => Buffer.from(`{"x":[${'1,'.repeat(values - 1)}1]}`)
  expect(readBody(listOf(65_537))).toMatchObject({ body: { x: { length: 65_537 } } })
  const refused = { condition: 'bodyMalformed', detail: 'the body has too many values' }
  expect(readBody(listOf(65_538))).toMatchObject(refused)
})
