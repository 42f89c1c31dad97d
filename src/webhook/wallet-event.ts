import type { AggregateWrite } from '../engine/aggregate-copy.ts'
import { walletAggregate } from '../engine/format/layout.ts'
import type { Store } from '../store/port.ts'
import { endpointsToTell } from './endpoint.ts'
import { eventBeside, type WebhookEvent } from './event.ts'

/** What a wallet tells of money that came in. */
interface ToldTransfer {
  readonly transferId: string
  /** How many entries the wallet has by then. */
  readonly sequence: number
  readonly atMs: number
  readonly data: object
}

/** Makes the event of a transfer for the commit that brings the money into the wallet; null when nobody wants it. */
type WalletEvents = (
  told: ToldTransfer,
) => { readonly event: WebhookEvent; readonly write: AggregateWrite } | null

export async function openWalletEvents(
  store: Store,
  { organizationId, currency }: { readonly organizationId: string; readonly currency: string },
  retentionDays: number,
): Promise<WalletEvents> {
  const endpoints = (await endpointsToTell(store, [organizationId])).get(organizationId)!
  const aggregate = walletAggregate(organizationId, currency)
  return ({ transferId, ...told }) => {
    const happening = {
      organizationId,
      type: 'transfer.completed',
      key: transferId,
      ...told,
    } as const
    return eventBeside(aggregate, happening, endpoints, retentionDays)
  }
}
