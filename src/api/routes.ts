import type { ApiContext } from './context.ts'
import { cardDetailRoutes } from './route/card/card.ts'
import { issueRoutes } from './route/card/issue.ts'
import { merchantRoutes } from './route/card/merchant.ts'
import { reissueRoutes } from './route/card/reissue.ts'
import { cardListRoutes } from './route/card-list.ts'
import { chargeRoutes } from './route/charge.ts'
import { customerRoutes } from './route/customer.ts'
import { eventRoutes } from './route/event.ts'
import { kycRoutes } from './route/kyc.ts'
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
    ...issueRoutes(context),
    ...reissueRoutes(context),
    ...cardDetailRoutes(context),
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
