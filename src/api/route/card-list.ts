import { z } from 'zod'
import { cardStatuses, cardTypes, customerTypes } from '../../domain/record/card.ts'
import { listedCard } from '../../management/card.ts'
import { shownCustomer } from '../../management/customer.ts'
import { cardListing } from '../../projection/card-listing.ts'
import { customerListing } from '../../projection/customer-listing.ts'
import type { ApiContext } from '../context.ts'
import { currency, customerId } from '../field.ts'
import { defineRoute, type Route } from '../route.ts'
import { customerData, listedCardData } from './card/card-data.ts'
import { listOf, mapped, pageFields, pageRefusals, timeFields } from './list.ts'

const nothing = z.object({})
const yesOrNo = z
  .enum(['true', 'false'])
  .transform((text) => text === 'true')
  .meta({ type: 'boolean', enum: undefined })

/** Who holds cards, and which cards there are. */
export function cardListRoutes(context: ApiContext): readonly Route[] {
  return [customerList(context), cardList(context)]
}

function customerList({ store, lists }: ApiContext): Route {
  return defineRoute({
    operation: 'customers.list',
    summary: 'Customers, the newest first',
    method: 'GET',
    path: '/customers',
    scope: 'CardAPIs.Read',
    params: nothing,
    query: z.object({
      ...pageFields,
      ...timeFields,
      type: z.enum(customerTypes).optional(),
      clientReference: z.string().min(1).max(64).optional().describe('Exactly as it was given'),
      name: z
        .string()
        .min(1)
        .max(180)
        .optional()
        .describe('How it begins, in any case, however its accents are written'),
      negative: yesOrNo.optional(),
    }),
    body: nothing,
    data: listOf(customerData),
    reads: true,
    refusals: pageRefusals,
    handle: ({ caller, query, nowMs }) =>
      lists.answer({ list: 'customers', caller, query, nowMs }, async (span) =>
        mapped(
          await customerListing(store, caller.organization.organizationId, query, span),
          ({ customer, sum }) => shownCustomer(customer, sum),
        ),
      ),
  })
}

function cardList({ store, lists }: ApiContext): Route {
  return defineRoute({
    operation: 'cards.list',
    summary: 'Cards, the newest first',
    method: 'GET',
    path: '/cards',
    scope: 'CardAPIs.Read',
    params: nothing,
    query: z.object({
      ...pageFields,
      ...timeFields,
      status: z.enum(cardStatuses).optional(),
      type: z.enum(cardTypes).optional(),
      customerId: customerId.optional(),
      currency: currency.optional(),
      negative: yesOrNo.optional(),
    }),
    body: nothing,
    data: listOf(listedCardData),
    reads: true,
    refusals: pageRefusals,
    handle: ({ caller, query, nowMs }) =>
      lists.answer({ list: 'cards', caller, query, nowMs }, async (span) =>
        mapped(
          await cardListing(store, caller.organization.organizationId, query, span),
          listedCard,
        ),
      ),
  })
}
