import type { Aggregates } from '../engine/aggregates.ts'
import {
  addClient,
  type Credentials,
  readClients,
  scopes,
  secretsOf,
  uniqueKeyOf,
} from '../management/client.ts'
import { addOrganization } from '../management/organization.ts'
import type { SecretBox } from '../management/secret-box.ts'
import type { Store } from '../store/port.ts'

export interface DemoOptions {
  readonly store: Store
  readonly aggregates: Aggregates
  readonly box: SecretBox
  readonly nowMs: number
}

/** The demo cards belong to it. */
const organizationId = 'organization-1'
const clientName = 'demo'

/** Makes the demo's organization and its client, or finds those of an earlier start; safe to repeat. */
export async function openDemo(options: DemoOptions): Promise<Credentials> {
  const { store, aggregates, box, nowMs } = options
  // Refused where it is there already.
  await addOrganization(
    aggregates,
    organizationId,
    {
      name: 'Demo',
      country: 'US',
      currencies: ['USD'],
      defaultDecision: 'decline',
      maxTopUpMinor: {},
      minimumBalanceMinor: { USD: 100 },
      cardValidityMonths: 36,
    },
    nowMs,
  )
  const known = await findDemoClient(store, box, nowMs)
  if (known !== null) return known
  const given = { organizationId, name: clientName, scopes: [...scopes] }
  return addClient(aggregates, box, given, nowMs)
}

async function findDemoClient(
  store: Store,
  box: SecretBox,
  nowMs: number,
): Promise<Credentials | null> {
  for (const client of await readClients(store, organizationId)) {
    if (client.name !== clientName || !client.enabled) continue
    const [clientSecret] = secretsOf(client, box, nowMs)
    const uniqueKey = uniqueKeyOf(client, box)
    if (clientSecret === undefined || uniqueKey === null) continue
    return { clientId: client.clientId, clientSecret, uniqueKey }
  }
  return null
}
