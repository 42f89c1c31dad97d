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
const pageLength = 1_000

/** Of one endpoint, or of all with an empty prefix. */
export async function readPending(store: Store, prefix = ''): Promise<PendingDeliveries> {
  let pending = 0
  let oldestMs: number | null = null
  for (let after = prefix; pending < maxCountedDeliveries; ) {
    const page = await store.range(indexes.deliveries, after, pageLength)
    const own = page.filter(({ sortKey }) => sortKey.startsWith(prefix))
    for (const { sortKey } of own) {
      const atMs = timeOfId(readDueSortKey(sortKey).eventId)
      if (oldestMs === null || atMs < oldestMs) oldestMs = atMs
    }
    pending += own.length
    if (own.length < pageLength) break
    after = own.at(-1)!.sortKey
  }
  return { pending, oldestMs }
}
