import { expect, it } from 'vitest'
import { z } from 'zod'
import { fieldsIn, schemaOf } from '../../../src/api/document/field.ts'
import { amount, currency, mccs } from '../../../src/api/field.ts'

it('fields are told with what is in them, how much of it, and without those that are always refused', () => {
  const body = z.object({
    amount,
    currency: currency.optional(),
    mccs,
    limits: z.object({ daily: amount.nullable().optional() }).optional(),
    mids: z.array(z.object({ mid: z.string().min(1).max(64) })),
    status: z.enum(['Active', 'Frozen']),
    swipes: z.int().min(1).max(9),
    metadata: z.record(z.string(), z.string().max(5)).describe('At most 20'),
    balance: z.never().optional(),
  })
  const said = fieldsIn(schemaOf(body)).map(({ name, required, type }) => {
    return `${name}${required ? '' : '?'} ${type}`
  })
  const money = 'number or string: Major units, as 12.5 or "12.50"'
  expect(said).toEqual([
    `amount ${money}`,
    'currency? string: ISO 4217',
    'mccs list of string as ^\\d{4}$, at most 1000',
    'limits? object',
    `limits.daily? null or ${money}`,
    'mids list of object',
    'mids[].mid string, 1 to 64',
    'status Active | Frozen',
    'swipes integer, 1 to 9',
    'metadata object, of string, at most 5: At most 20',
  ])
})
