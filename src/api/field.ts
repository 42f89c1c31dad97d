import { z } from 'zod'
import { maxListedMccs } from '../domain/record/card.ts'
import { isCurrency } from '../domain/record/currency.ts'
import { formatMinor, parseMinor } from '../domain/record/money.ts'
import { givenText } from '../management/given-text.ts'
import { type Refused, refuseField } from './condition.ts'
import { fieldConditions } from './input.ts'

/** Fields that several operations have, each with what it says when it is wrong. */

const idPattern = /^[\x20-\x7e]{1,64}$/
const idText = 'must be 1 to 64 printable ASCII characters'

export const cardId = z
  .string()
  .regex(idPattern, idText)
  .register(fieldConditions, { condition: 'cardIdMalformed' })
export const customerId = z.string().regex(idPattern, idText)
export const cardParams = z.object({ cardId })

export const currency = z
  .string()
  .refine(isCurrency, 'must be an ISO 4217 currency')
  .describe('ISO 4217')
  .register(fieldConditions, { condition: 'currencyMalformed' })

/** As many minor units as an ask may have. */
const maxAmountMinor = 1_000_000_000_000
const decimal = /^(?:0|[1-9]\d*)(?:\.\d+)?$/

/** An amount in major units; how many decimals it may have, its currency says: see `minorIn`. */
function amountWith(must: string, isRight: (text: string) => boolean) {
  return z
    .union([z.number(), z.string()], must)
    .transform(String)
    .refine((text) => decimal.test(text) && isRight(text), must)
    .describe('Major units, as 12.5 or "12.50"')
    .register(fieldConditions, { condition: 'amountMalformed' })
}

const written = 'with at most 15 digits, as 12.50'
export const amount = amountWith(`must be an amount above zero ${written}`, (text) => {
  return /[1-9]/.test(text)
})
export const limit = amountWith(`must be an amount ${written}`, () => true)

/** An amount in the currency that it turned out to be in. */
export function minorIn(text: string, currency: string, field: string): number | Refused {
  const minor = parseMinor(text, currency)
  if (typeof minor === 'number' && minor <= maxAmountMinor) return minor
  const problem = minor === 'too many decimals' ? minor : 'too many digits'
  const most = `${formatMinor(maxAmountMinor, currency)} ${currency}`
  const message =
    typeof minor === 'number'
      ? `is more than ${most}, the most that one amount may be`
      : `has ${problem} for an amount in ${currency}`
  return refuseField('amountMalformed', field, message)
}

const mcc = z
  .string()
  .regex(/^\d{4}$/, 'must be four digits')
  .register(fieldConditions, { condition: 'mccMalformed' })
export const mccs = z.array(mcc).max(maxListedMccs)

export const nameOnCard = z
  .string()
  .regex(/^[A-Z0-9 .'-]{2,26}$/, "must be 2 to 26 of A-Z 0-9 space . - '")
  .register(fieldConditions, { condition: 'nameOnCardMalformed' })

const maxMetadata = 20

export const metadata = z
  .record(givenText(40).min(1), givenText(200))
  .refine((given) => Object.keys(given).length <= maxMetadata, `must have at most ${maxMetadata}`)
  .describe(`At most ${maxMetadata}, under names of 1 to 40 characters`)

/** Why a person wants it, for the log. */
export const reason = givenText(500).optional()

/** What a movement of money is for, as the business says. */
export const narration = givenText(200).optional()
