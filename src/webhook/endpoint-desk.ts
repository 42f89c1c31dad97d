import { keepNewest } from '../bounded-map.ts'
import type { Clock } from '../clock.ts'
import type { Aggregates } from '../engine/aggregates.ts'
import { webhooksAggregate } from '../engine/format/layout.ts'
import type { Store } from '../store/port.ts'
import {
  type AttemptResult,
  afterResult,
  type Endpoint,
  endpointsIn,
  readEndpoints,
  writeOfEndpoints,
} from './endpoint.ts'

/** Knows the endpoints that are sent to, and writes down how they fare. */
export interface EndpointDesk {
  /** null when there is none; as of a second ago at most. */
  find(organizationId: string, webhookId: string): Promise<Endpoint | null>
  /** The same, as it is now. */
  findNow(organizationId: string, webhookId: string): Promise<Endpoint | null>
  /** Those of an organization were changed just now. */
  forget(organizationId: string): void
  learn(organizationId: string, endpoint: Endpoint, result: AttemptResult): Promise<void>
}

export interface EndpointDeskOptions {
  readonly store: Store
  readonly aggregates: Aggregates
  readonly clock: Clock
  /** It was disabled because of how it answers. */
  readonly onDisabled: (organizationId: string, endpoint: Endpoint) => void
}

const keptMs = 1_000
const maxKept = 1_000
/** How often the same news is written down. */
const newsMs = 30_000

export function createEndpointDesk(options: EndpointDeskOptions): EndpointDesk {
  const { store, aggregates, clock } = options
  const kept = new Map<string, { found: Promise<readonly Endpoint[]>; untilMonoMs: number }>()

  function endpointsOf(organizationId: string): Promise<readonly Endpoint[]> {
    const known = kept.get(organizationId)
    if (known !== undefined && clock.monoMs() < known.untilMonoMs) return known.found
    const found = readEndpoints(store, organizationId)
    keepNewest(kept, organizationId, { found, untilMonoMs: clock.monoMs() + keptMs }, maxKept)
    found.catch(() => kept.delete(organizationId))
    return found
  }

  async function find(organizationId: string, webhookId: string): Promise<Endpoint | null> {
    const endpoints = await endpointsOf(organizationId)
    return endpoints.find((one) => one.webhookId === webhookId) ?? null
  }

  return {
    find,
    findNow(organizationId, webhookId) {
      kept.delete(organizationId)
      return find(organizationId, webhookId)
    },
    forget(organizationId) {
      kept.delete(organizationId)
    },
    async learn(organizationId, endpoint, result) {
      if (!isNews(endpoint, result)) return
      // Others that succeed or fail meanwhile have no news after this.
      kept.delete(organizationId)
      const { webhookId } = endpoint
      let hasEnded = false
      const disabled = await aggregates.change({
        aggregate: webhooksAggregate(organizationId),
        decide(view): { result: Endpoint | null; write: ReturnType<typeof writeOfEndpoints> } {
          const endpoints = endpointsIn(view)
          const before = endpoints.find((one) => one.webhookId === webhookId)
          // What an address answers says nothing of the one that it has moved to meanwhile.
          if (before?.url !== endpoint.url) return { result: null, write: {} }
          const after = afterResult(before, result)
          const all = endpoints.map((one) => (one.webhookId === webhookId ? after : one))
          // Decided once more when the reply was lost, it finds what it has done itself.
          hasEnded ||= before.enabled && !after.enabled
          const isTold = hasEnded && after.disabledBecause !== ''
          return { result: isTold ? after : null, write: writeOfEndpoints(all) }
        },
      })
      kept.delete(organizationId)
      if (disabled !== null) options.onDisabled(organizationId, disabled)
    },
  }
}

/** Deliveries are many; what is known of their endpoint already is not written again. */
function isNews(endpoint: Endpoint, result: AttemptResult): boolean {
  const { lastSuccessAtMs, lastFailure, failingSinceMs } = endpoint
  if (result.succeeded) {
    return failingSinceMs !== null || result.atMs - (lastSuccessAtMs ?? 0) > newsMs
  }
  if (failingSinceMs === null || result.atMs - (lastFailure?.atMs ?? 0) > newsMs) return true
  return afterResult(endpoint, result).enabled !== endpoint.enabled
}
