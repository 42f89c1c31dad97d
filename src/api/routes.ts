import type { ApiContext } from './context.ts'
import { cardRoutes } from './route/card.ts'
import { cardListRoutes } from './route/card-list.ts'
import { chargeRoutes } from './route/charge.ts'
import { customerRoutes } from './route/customer.ts'
import { eventRoutes } from './route/event.ts'
import { kycRoutes } from './route/kyc.ts'
import { merchantRoutes } from './route/merchant.ts'
import { moneyRoutes } from './route/money.ts'
import { organizationRoutes } from './route/organization.ts'
import { requestRoutes } from './route/request.ts'
import { sandboxEventRoutes } from './route/sandbox-event.ts'
import { transactionRoutes } from './route/transaction.ts'
import { walletRoutes } from './route/wallet.ts'
import { webhookRoutes } from './route/webhook.ts'
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
    ...kycRoutes(context),
    ...webhookRoutes(context),
    ...eventRoutes(context),
    ...sandboxEventRoutes(context),
    ...moneyRoutes(context),
    ...chargeRoutes(context),
    ...walletRoutes(context),
  ]
}
