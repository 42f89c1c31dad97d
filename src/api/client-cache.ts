import { keepNewest } from '../bounded-map.ts'
import { type Client, readClient, secretsOf, sha256, uniqueKeyOf } from '../management/client.ts'
import { type Organization, readOrganization } from '../management/organization.ts'
import type { SecretBox } from '../management/secret-box.ts'
import type { Store } from '../store/port.ts'

/** A client as its calls are checked: with its secrets opened, and the organization it belongs to. */
export interface KnownClient {
  readonly client: Client
  readonly organization: Organization | null
  readonly secrets: readonly string[]
  readonly uniqueKeyHash: Buffer
}

export interface ClientCache {
  /** null for a client that nobody knows. Rejects with a StoreError when the store cannot be read. */
  find(clientId: string, nowMs: number): Promise<KnownClient | null>
}

/** What was disabled must not be let in much longer. */
const keptMs = 1_000
/** Ids that nobody knows are kept too, so a flood of them must not push out all clients at once. */
const maxKept = 10_000

export function createClientCache(
  store: Store,
  box: SecretBox,
  onTrouble: (message: string) => void,
): ClientCache {
  const kept = new Map<string, { readonly found: Promise<KnownClient | null>; atMs: number }>()

  async function load(clientId: string, nowMs: number): Promise<KnownClient | null> {
    const client = await readClient(store, clientId)
    if (client === null) return null
    const organization = await readOrganization(store, client.organizationId)
    const secrets = secretsOf(client, box, nowMs)
    const uniqueKey = uniqueKeyOf(client, box)
    // Its calls are refused as those of a wrong secret, so that only here somebody can learn why.
    if (uniqueKey === null) {
      onTrouble(
        `no key opens the secrets of client ${clientId}: give the one that sealed them as SECRETS_KEY_OLD, then run arbiter secrets rewrap`,
      )
    }
    return { client, organization, secrets, uniqueKeyHash: sha256(uniqueKey ?? '') }
  }

  return {
    find(clientId, nowMs) {
      const known = kept.get(clientId)
      const ageMs = nowMs - (known?.atMs ?? 0)
      // After a clock that went back nobody knows how old it is.
      if (known !== undefined && ageMs >= 0 && ageMs < keptMs) return known.found
      const found = load(clientId, nowMs)
      keepNewest(kept, clientId, { found, atMs: nowMs }, maxKept)
      found.catch(() => kept.delete(clientId))
      return found
    },
  }
}
