import type { ApiContext } from './context.ts'
import { cardRoutes } from './route/card.ts'
import { cardListRoutes } from './route/card-list.ts'
import { customerRoutes } from './route/customer.ts'
import { merchantRoutes } from './route/merchant.ts'
import { organizationRoutes } from './route/organization.ts'
import { requestRoutes } from './route/request.ts'
import { transactionRoutes } from './route/transaction.ts'
import type { Route } from './route.ts'

/** Every operation of the management plane, in the order of its documents. */
export function routesOf(context: ApiContext): readonly Route[] {
  return [
    ...customerRoutes(context),
    ...cardListRoutes(context),
    ...cardRoutes(context),
    ...merchantRoutes(context),
    ...organizationRoutes,
    ...requestRoutes(context),
    ...transactionRoutes(context),
  ]
}
