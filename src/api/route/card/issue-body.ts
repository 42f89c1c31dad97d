import { z } from 'zod'
import { address } from '../../../management/address.ts'
import {
  amount,
  cardId,
  currency,
  customerId,
  limit,
  mccs,
  metadata,
  nameOnCard,
} from '../../field.ts'
import { fieldConditions } from '../../input.ts'
import { cardData } from './card-data.ts'

const nothing = z.object({})

/** A field of another kind of issue: who sends it means something that would not happen. */
const refused = z
  .never('must not be given here')
  .register(fieldConditions, { condition: 'fieldNotAllowed' })
  .optional()

const limits = z
  .object({ dailyLimit: limit.optional(), transactionLimit: limit.optional() })
  .optional()

/** In the order in which their faults are told. */
export const retailBody = z.object({
  customerId,
  currency: currency.optional().describe("ISO 4217; without it the organization's first"),
  contactlessPayment: z.boolean().optional(),
  cardLimits: limits,
  whiteListedMccs: mccs.optional(),
  blackListedMccs: mccs.optional(),
  balance: refused,
  swipeCount: refused,
  sharedBalance: refused,
  cardId: refused,
  initialBalance: refused,
  terminateOriginal: refused,
  address: address.optional(),
  nameOnCard: nameOnCard.optional(),
  metadata: metadata.optional(),
})

export const liteBody = z.object({
  ...retailBody.shape,
  contactlessPayment: refused,
  balance: amount,
  swipeCount: z.int().min(1).max(1_000_000),
})

export const reissueBody = z.object({
  ...retailBody.shape,
  currency: refused,
  sharedBalance: z
    .boolean()
    .describe(
      'true: on the money of the original. false: like the newest retail or corporate card of the customer, with money of its own',
    ),
  cardId: cardId.optional().describe('The original; required with sharedBalance, and only then'),
  initialBalance: amount
    .optional()
    .describe('Major units, from the wallet; required without sharedBalance, and only then'),
  terminateOriginal: z.boolean().optional().describe('With sharedBalance only'),
})

/** What may be chosen of any card. */
export type ChosenCard = Pick<
  z.output<typeof retailBody>,
  'cardLimits' | 'whiteListedMccs' | 'blackListedMccs' | 'address' | 'nameOnCard' | 'metadata'
> & { readonly contactlessPayment?: boolean | undefined }

const data = cardData.extend({ transferId: z.string().optional() })
export type IssuedData = z.output<typeof data>

/** What all operations that issue have. */
export const issuing = {
  method: 'POST',
  scope: 'CardAPIs',
  params: nothing,
  query: nothing,
  data,
  reads: false,
} as const

export const issueRefusals = [
  'amountMalformed',
  'recordUnknown',
  'customerNotApproved',
  'currencyNotSupported',
  'negativeBalance',
  'providerFailed',
  'providerTimedOut',
] as const
