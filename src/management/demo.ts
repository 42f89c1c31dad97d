import type { Aggregates } from '../engine/aggregates.ts'
import { walletAggregate } from '../engine/format/layout.ts'
import type { Store } from '../store/port.ts'
import {
  addClient,
  type Credentials,
  readClients,
  scopes,
  secretsOf,
  uniqueKeyOf,
} from './client.ts'
import { fundWallet } from './funding.ts'
import { newId } from './id.ts'
import { addOrganization } from './organization.ts'
import type { SecretBox } from './secret-box.ts'

export interface DemoOptions {
  readonly store: Store
  readonly aggregates: Aggregates
  readonly box: SecretBox
  readonly nowMs: number
}

/** The demo cards belong to it. */
const organizationId = 'organization-1'
const clientName = 'demo'
const currency = 'USD'
const walletMinor = 10_000_000

/** Makes the demo's organization, fills its wallet and makes a client, or finds those of an earlier start; safe to repeat. */
export async function openDemo(options: DemoOptions): Promise<Credentials> {
  const { store, aggregates, box, nowMs } = options
  // Refused where it is there already.
  await addOrganization(
    aggregates,
    organizationId,
    {
      name: 'Demo',
      country: 'US',
      currencies: [currency],
      defaultDecision: 'decline',
      maxTopUpMinor: {},
      minimumBalanceMinor: { [currency]: 100 },
      cardValidityMonths: 36,
    },
    nowMs,
  )
  await fillWallet(aggregates, nowMs)
  const known = await findDemoClient(store, box, nowMs)
  if (known !== null) return known
  const given = { organizationId, name: clientName, scopes: [...scopes] }
  return addClient(aggregates, box, given, nowMs)
}

/** Once: an empty wallet that was used stays so. */
function fillWallet(aggregates: Aggregates, nowMs: number): Promise<void> {
  return aggregates.change({
    aggregate: walletAggregate(organizationId, currency),
    decide(view) {
      if (view.root !== null) return { result: undefined, write: null }
      const funded = fundWallet(view, {
        organizationId,
        currency,
        amountMinor: walletMinor,
        transferId: newId('trf', nowMs),
        reference: 'demo',
        narration: 'for the demo',
        atMs: nowMs,
      })
      return { result: undefined, write: funded?.write ?? null }
    },
  })
}

async function findDemoClient(
  store: Store,
  box: SecretBox,
  nowMs: number,
): Promise<Credentials | null> {
  for (const client of (await readClients(store, organizationId)).clients) {
    if (client.name !== clientName || !client.enabled) continue
    const [clientSecret] = secretsOf(client, box, nowMs)
    const uniqueKey = uniqueKeyOf(client, box)
    if (clientSecret === undefined || uniqueKey === null) continue
    return { clientId: client.clientId, clientSecret, uniqueKey }
  }
  return null
}
