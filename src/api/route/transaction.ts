import { z } from 'zod'
import { readCard } from '../../management/card.ts'
import { readTransaction } from '../../management/transaction.ts'
import { rowsOfTransaction, shownTransaction } from '../../projection/lifecycle.ts'
import { rowStatuses, transactionTypes } from '../../projection/row.ts'
import { rowListing } from '../../projection/row-desk.ts'
import { shownRow } from '../../projection/shown-row.ts'
import { refuse } from '../condition.ts'
import type { ApiContext } from '../context.ts'
import { cardId, currency, customerId } from '../field.ts'
import { defineRoute, type Route } from '../route.ts'
import { listOf, mapped, pageFields, pageRefusals, timeFields } from './list.ts'

const nothing = z.object({})
const text = z.string().nullable()
/** As rows have it: of an event that came without one it is made from its own, behind a middle dot. */
const transactionId = z
  .string()
  .regex(/^\u00b7?[\x20-\x7e]{1,64}$/, 'must be 1 to 64 printable characters')

/** One row of the lists, and what webhooks tell of it. */
export const transactionRow = z.object({
  transactionType: z.enum(transactionTypes),
  status: z.enum(rowStatuses),
  transactionId: text,
  relayEventId: text,
  transferId: text,
  cardId: text,
  customerId: text,
  accountId: z.string(),
  relatedCardId: text,
  amount: z.number().nullable(),
  currency: z.string(),
  approvedAmount: z.number().optional(),
  merchantAmount: z.number().optional(),
  merchantCurrency: z.string().optional(),
  responseCode: text,
  reason: text,
  decidedBy: text,
  cause: z.string().optional(),
  ruleId: z.string().optional(),
  merchant: z.object({ mid: text, mcc: text, name: text, city: text, country: text }).nullable(),
  reference: text,
  occurredAt: text,
  bookedAt: z.string(),
})

const lifecycle = z.object({
  transactionId: z.string(),
  cardId: z.string(),
  currency: z.string(),
  authorized: z.number(),
  reversed: z.number(),
  settled: z.number(),
  refunded: z.number(),
  held: z.number(),
  chargesTaken: z.number(),
  chargesPending: z.number(),
  voided: z.boolean(),
  closed: z.boolean(),
  expired: z.boolean(),
  expiresAt: text,
  events: z.array(transactionRow),
})

/** What happened on cards: rows that follow the decision log. */
export function transactionRoutes(context: ApiContext): readonly Route[] {
  const { store, lists } = context
  return [
    defineRoute({
      operation: 'transactions.list',
      summary: 'Events of the relay and movements of money, the newest first',
      method: 'GET',
      path: '/transactions',
      scope: 'CardAPIs.Read',
      params: nothing,
      query: z.object({
        ...pageFields,
        ...timeFields,
        cardId: cardId.optional(),
        transactionType: z.enum(transactionTypes).optional(),
        currency: currency.optional(),
        customerId: customerId.optional(),
        transactionId: transactionId
          .optional()
          .describe('As rows have it: the first name of the lifecycle'),
        status: z.enum(rowStatuses).optional(),
      }),
      body: nothing,
      data: listOf(transactionRow),
      reads: true,
      refusals: pageRefusals,
      handle: ({ caller, query, nowMs }) =>
        lists.answer({ list: 'transactions', caller, query, nowMs }, (span) => {
          const { organizationId } = caller.organization
          return mapped(rowListing(store, organizationId, query, span), shownRow)
        }),
    }),
    defineRoute({
      operation: 'transactions.show',
      summary: 'One lifecycle: its sums now, and its newest rows',
      method: 'GET',
      path: '/cards/:cardId/transactions/:transactionId',
      scope: 'CardAPIs.Read',
      params: z.object({ cardId, transactionId }),
      query: nothing,
      body: nothing,
      data: lifecycle,
      reads: true,
      refusals: ['cardUnknown', 'recordUnknown'],
      async handle({ caller, params }) {
        const found = await readCard(context, caller.organization.organizationId, params.cardId)
        if (found === null) return refuse('cardUnknown')
        const { account, card } = found
        const transaction = await readTransaction(store, card, params.transactionId)
        if (transaction === null) return refuse('recordUnknown', 'the card has no such transaction')
        const rows = await rowsOfTransaction(store, account, transaction)
        return { data: { ...shownTransaction(transaction, account), events: rows.map(shownRow) } }
      },
    }),
  ]
}
