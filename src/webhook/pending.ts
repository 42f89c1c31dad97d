import { indexes } from '../engine/format/layout.ts'
import { timeOfId } from '../management/id.ts'
import type { Store } from '../store/port.ts'
import { readDueSortKey } from './event.ts'

/** As metrics tell it. */
export interface WebhookFigures {
  readonly pending: number
  readonly oldestSeconds: number
  /** Webhooks that this process has disabled because of how they answer. */
  readonly disabled: number
}

export function figuresOf(
  { pending, oldestMs }: PendingDeliveries,
  disabled: number,
  nowMs: number,
): WebhookFigures {
  const ageMs = oldestMs === null ? 0 : Math.max(0, nowMs - oldestMs)
  return { pending, oldestSeconds: Math.round(ageMs / 1000), disabled }
}

/** What waits to be sent, of all instances. */
export interface PendingDeliveries {
  /** Not more than `maxCountedDeliveries`: that many is that many or more. */
  readonly pending: number
  /** When the oldest of them happened; null when nothing waits. */
  readonly oldestMs: number | null
}

export const maxCountedDeliveries = 10_000
/** So much is read of each endpoint before more is of any: one that is far behind hides no other. */
const firstPageLength = 100
const pageLength = 1_000

/** Of one endpoint, or of all with an empty prefix. */
export async function readPending(store: Store, prefix = ''): Promise<PendingDeliveries> {
  let pending = 0
  let oldestMs: number | null = null

  /** The sort keys after this one that begin so, as many as are asked for when there are more. */
  async function read(start: string, after: string, count: number): Promise<string[]> {
    const page = await store.range(indexes.deliveries, after, count)
    const own = page.map(({ sortKey }) => sortKey).filter((key) => key.startsWith(start))
    for (const sortKey of own) {
      const atMs = timeOfId(readDueSortKey(sortKey).eventId)
      if (oldestMs === null || atMs < oldestMs) oldestMs = atMs
    }
    pending += own.length
    return own
  }

  const unread: { readonly endpoint: string; readonly after: string }[] = []
  for (let after = prefix; pending < maxCountedDeliveries; ) {
    const keys = await read(prefix, after, firstPageLength)
    if (keys.length < firstPageLength) break
    const last = keys.at(-1)!
    const endpoint = endpointOf(last)
    const fillsPage = keys[0]!.startsWith(endpoint)
    if (fillsPage) unread.push({ endpoint, after: last })
    after = fillsPage ? behind(endpoint) : last
  }
  for (const { endpoint, after: first } of unread) {
    for (let after = first; pending < maxCountedDeliveries; ) {
      const keys = await read(endpoint, after, pageLength)
      if (keys.length < pageLength) break
      after = keys.at(-1)!
    }
  }
  return { pending: Math.min(pending, maxCountedDeliveries), oldestMs }
}

/** What all sort keys of the endpoint of this one begin with. */
function endpointOf(sortKey: string): string {
  const { organizationId, webhookId } = readDueSortKey(sortKey)
  return `${organizationId}\n${webhookId}\n`
}

/** After all that begins so, and before what follows: the sign after the line break in its place. */
function behind(endpoint: string): string {
  return `${endpoint.slice(0, -1)}\u000b`
}
