import { z } from 'zod'
import { cardStatuses, cardTypes } from '../../../domain/record/card.ts'

/** An address as answers have it. */
const shownAddress = z.object({
  line1: z.string(),
  line2: z.string().optional(),
  city: z.string(),
  state: z.string(),
  postalCode: z.string().optional(),
  country: z.string(),
})

/** What a card has, in major units of its currency. */
export const balances = z.object({
  posted: z.number(),
  held: z.number(),
  withheld: z.number(),
  available: z.number(),
  chargesPending: z.number(),
})

const main = {
  cardId: z.string(),
  customerId: z.string(),
  accountId: z.string(),
  type: z.enum(cardTypes),
  status: z.enum(cardStatuses),
  terminatedBy: z.enum(['swipes', 'exhausted', 'operator']).nullable(),
  maskedPan: z.string().nullable(),
  expiry: z.string().nullable(),
  currency: z.string(),
  balances,
  cardLimits: z.object({
    dailyLimit: z.number().nullable(),
    transactionLimit: z.number().nullable(),
  }),
  whiteListedMccs: z.array(z.string()),
  blackListedMccs: z.array(z.string()),
}

const rest = {
  swipesLeft: z.int().nullable(),
  replaces: z.string().nullable(),
  contactlessPayment: z.boolean(),
  nameOnCard: z.string().nullable(),
  address: shownAddress.nullable(),
  metadata: z.record(z.string(), z.string()),
  createdAt: z.string().nullable(),
}

export const cardData = z.object({
  ...main,
  whiteListedMids: z.array(z.string()),
  blackListedMids: z.array(z.string()),
  unblockedMids: z.array(z.string()),
  ...rest,
})

export const listedCardData = z.object({
  ...main,
  midCounts: z.object({ whiteListed: z.int(), blackListed: z.int(), unblocked: z.int() }),
  ...rest,
})

export const customerData = z.object({
  customerId: z.string(),
  type: z.enum(['individual', 'business']),
  clientReference: z.string().nullable(),
  name: z.string(),
  email: z.string().nullable(),
  phoneNumber: z.string().nullable(),
  address: shownAddress.nullable(),
  idType: z.string().nullable(),
  idLast4: z.string().nullable(),
  kycToken: z.string().nullable(),
  kycStatus: z.enum(['Approved', 'Suspended']),
  cards: z.int(),
  negative: z.boolean(),
  createdAt: z.string(),
})
