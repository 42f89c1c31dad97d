import { countDeliveries } from '../engine/notice/delivery-count.ts'
import { timeOfId } from '../management/id.ts'
import type { Store } from '../store/port.ts'

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

/** Of one endpoint, or of all with an empty prefix. */
export async function readPending(store: Store, prefix = ''): Promise<PendingDeliveries> {
  const { count, oldestEventId } = await countDeliveries(store, maxCountedDeliveries, prefix)
  return { pending: count, oldestMs: oldestEventId === '' ? null : timeOfId(oldestEventId) }
}
