import { z } from 'zod'
import { readCustomer, shownCustomer, sumOfCards } from '../../management/customer.ts'
import { refuse } from '../condition.ts'
import type { ApiContext } from '../context.ts'
import { customerId } from '../field.ts'
import { defineRoute, type Route } from '../route.ts'
import { customerData } from './card/card-data.ts'

const nothing = z.object({})

export function customerRoutes({ store }: ApiContext): readonly Route[] {
  return [
    defineRoute({
      operation: 'customers.show',
      summary: 'A customer, with the number of its cards',
      method: 'GET',
      path: '/customers/:customerId',
      scope: 'CardAPIs.Read',
      params: z.object({ customerId }),
      query: nothing,
      body: nothing,
      data: customerData,
      reads: true,
      refusals: ['recordUnknown'],
      async handle({ caller, params }) {
        const found = await readCustomer(store, params.customerId)
        const isOwn = found?.organizationId === caller.organization.organizationId
        if (found === null || !isOwn) return refuse('recordUnknown')
        return { data: shownCustomer(found, await sumOfCards(store, found)) }
      },
    }),
  ]
}
