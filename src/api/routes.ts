import type { ApiContext } from './context.ts'
import { organizationRoutes } from './route/organization.ts'
import { requestRoutes } from './route/request.ts'
import { transactionRoutes } from './route/transaction.ts'
import type { Route } from './route.ts'

/** Every operation of the management plane, in the order of its documents. */
export function routesOf(context: ApiContext): readonly Route[] {
  return [
    ...organizationRoutes,
    ...requestRoutes(context),
    ...transactionRoutes(context),
    //
  ]
}
