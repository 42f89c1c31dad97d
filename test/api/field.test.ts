import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { conditions, isRefused } from '../../src/api/condition.ts'
import {
  amount,
  cardParams,
  currency,
  customerId,
  limit,
  mccs,
  metadata,
  minorIn,
  nameOnCard,
  reason,
} from '../../src/api/field.ts'
import { readFields } from '../../src/api/input.ts'
import { address } from '../../src/management/address.ts'

const body = z.object({
  ...cardParams.shape,
  customerId,
  amount,
  cardLimits: z.object({ dailyLimit: limit.nullable() }).partial().optional(),
  currency: currency.optional(),
  mccs: mccs.optional(),
  nameOnCard: nameOnCard.optional(),
  metadata: metadata.optional(),
  reason,
})
const right = { cardId: 'card-1', customerId: 'customer-1', amount: 12.5 }

function codeOf(given: object): string {
  const read = readFields(body, { ...right, ...given }, 'ignored')
  if (!isRefused(read)) return '000'
  const { status, code } = conditions[read.condition]
  return `${status} ${code}`
}

const many = (length: number) => Array.from({ length }, (_, i) => String(1000 + i))
const pairs = (count: number) => Object.fromEntries(many(count).map((name) => [name, 'x']))

const cases: readonly (readonly [field: string, value: unknown, code: string])[] = [
  ['cardId', undefined, '400 158'],
  ['cardId', '', '400 112'],
  ['cardId', 'x'.repeat(64), '000'],
  ['cardId', 'x'.repeat(65), '400 112'],
  ['cardId', 'a\nb', '400 112'],
  ['cardId', 5, '400 112'],
  ['customerId', undefined, '400 158'],
  ['customerId', 'Adé', '400 136'],
  ['customerId', 5, '400 136'],
  ['amount', undefined, '400 158'],
  ['amount', '12.50', '000'],
  ['amount', 0, '400 111'],
  ['amount', '0.00', '400 111'],
  ['amount', -1, '400 111'],
  ['amount', '1e3', '400 111'],
  ['amount', 1e21, '400 111'],
  ['amount', 1e-7, '400 111'],
  ['amount', 'much', '400 111'],
  ['amount', null, '400 111'],
  ['amount', [1], '400 111'],
  ['cardLimits', { dailyLimit: 0 }, '000'],
  ['cardLimits', { dailyLimit: null }, '000'],
  ['cardLimits', { dailyLimit: -0.01 }, '400 111'],
  ['cardLimits', { dailylimit: 5 }, '400 131'],
  ['cardLimits', 5, '400 136'],
  ['currency', 'USD', '000'],
  ['currency', 'usd', '400 121'],
  ['currency', 'ZZZ', '400 121'],
  ['currency', 840, '400 121'],
  ['mccs', ['5411'], '000'],
  ['mccs', many(1000), '000'],
  ['mccs', many(1001), '400 136'],
  ['mccs', ['541'], '400 127'],
  ['mccs', [5411], '400 127'],
  ['mccs', '5411', '400 136'],
  ['nameOnCard', "ADA O'BI-2", '000'],
  ['nameOnCard', 'Ada Obi', '400 123'],
  ['nameOnCard', 'A', '400 123'],
  ['nameOnCard', 'A'.repeat(27), '400 123'],
  ['nameOnCard', 5, '400 123'],
  ['metadata', pairs(20), '000'],
  ['metadata', pairs(21), '400 136'],
  ['metadata', { ['n'.repeat(41)]: 'x' }, '400 136'],
  ['metadata', { n: 'x'.repeat(201) }, '400 136'],
  ['metadata', { n: 5 }, '400 136'],
  ['metadata', { n: 'two\nlines' }, '400 136'],
  ['metadata', { 'n\u0000': 'x' }, '400 136'],
  ['metadata', { n: 'Ad\u00e9 \u4e2d\u6587 \u202f!' }, '000'],
  ['reason', 'a \u001b[2J b', '400 136'],
  ['reason', 'x'.repeat(501), '400 136'],
]

describe('a field', () => {
  it.each(cases)('%s as %j says %s', (field, value, code) => {
    expect(codeOf({ [field]: value })).toBe(code)
  })

  it('that holds a control character is named', () => {
    const metadata = { note: 'two\nlines' }
    expect(readFields(body, { ...right, metadata }, 'ignored')).toMatchObject({
      errors: [{ field: 'metadata.note', message: 'must have no control characters' }],
    })
  })

  it('says the code of the first that is wrong, and names all', () => {
    const wrong = { ...right, amount: 0, nameOnCard: 'x', currency: 'x' }
    const read = readFields(body, wrong, 'ignored')
    if (!isRefused(read)) throw new Error('it was read')
    expect(read.condition).toBe('amountMalformed')
    expect(read.errors?.map(({ field }) => field)).toEqual(['amount', 'currency', 'nameOnCard'])
  })
})

it.each(['nigeria', 'ZZ', 'UK'])('%s, which is no country, is told what it must be', (country) => {
  const given = { line1: '1 Marina', city: 'Lagos', state: 'Lagos', country }
  expect(readFields(z.object({ address }), { address: given }, 'ignored')).toMatchObject({
    errors: [{ field: 'address.country', message: 'must be an ISO 3166 alpha-2 country' }],
  })
})

describe('an amount that is none', () => {
  it.each([0, '1e2', '01.50', 1e21])('is told how to be written: %s', (wrong) => {
    expect(readFields(body, { ...right, amount: wrong }, 'ignored')).toMatchObject({
      errors: [{ message: 'must be an amount above zero with at most 15 digits, as 12.50' }],
    })
  })
})

describe('an amount in its currency', () => {
  it.each([
    ['12.50', 'USD', 1250],
    ['12', 'JPY', 12],
    ['10000000000', 'USD', 1_000_000_000_000],
  ])('%s %s is %i minor units', (text, code, minor) => {
    expect(minorIn(text, code, 'amount')).toBe(minor)
  })

  it.each([
    ['12.505', 'USD', 'has too many decimals for an amount in USD'],
    ['12.5', 'JPY', 'has too many decimals for an amount in JPY'],
    ['10000000000.01', 'USD', 'is more than 10000000000.00 USD, the most that one amount may be'],
    ['1000000000001', 'JPY', 'is more than 1000000000000 JPY, the most that one amount may be'],
    ['1234567890123456', 'USD', 'has too many digits for an amount in USD'],
  ])('%s %s is refused: it %s', (text, code, message) => {
    expect(minorIn(text, code, 'amount')).toMatchObject({
      condition: 'amountMalformed',
      errors: [{ field: 'amount', message }],
    })
  })
})
