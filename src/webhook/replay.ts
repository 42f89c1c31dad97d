import type { Aggregates } from '../engine/aggregates.ts'
import { readPage, type Span } from '../projection/listing.ts'
import type { Key, Store } from '../store/port.ts'
import { isSentSince, newDelivery, sentAgain } from './delivery.ts'
import { decodeEvent, type WebhookEvent, writeOfEvent } from './event.ts'
import { eventListing } from './event-listing.ts'

/** The newest of them, in one call of the management API, which must end; the command line has no such bound. */
const maxReplayed = 10_000
const pageLength = 250

/** When somebody asks for events to be sent again, and since when the same may have been asked for: that counts. */
export interface ReplayTime {
  readonly nowMs: number
  readonly sinceMs: number
}

/** Sends one event again to an endpoint: the same bytes, a new time and signature. */
export function replayEvent(
  aggregates: Aggregates,
  place: Key,
  webhookId: string,
  { nowMs, sinceMs }: ReplayTime,
): Promise<boolean> {
  return aggregates.change({
    aggregate: place.aggregate,
    reads: [place],
    decide(view) {
      const text = view.child(place)
      if (text === null) return { result: false, write: {} }
      const before = decodeEvent(text)
      const found = before.deliveries.find((one) => one.webhookId === webhookId)
      if (found !== undefined && isSentSince(found, sinceMs)) return { result: true, write: {} }
      // What waits may have been sent and not been written down yet: this due time is later, and tells them apart.
      const next = found === undefined ? newDelivery(webhookId, nowMs) : sentAgain(found, nowMs)
      const others = before.deliveries.filter((one) => one.webhookId !== webhookId)
      const event = { ...before, deliveries: [...others, next] }
      return { result: true, write: writeOfEvent(place, event, before) }
    },
  })
}

/** Sends all events of a stretch of time again; resolves to how many. */
export async function replaySpan(
  store: Store,
  aggregates: Aggregates,
  { organizationId, webhookId }: { readonly organizationId: string; readonly webhookId: string },
  span: Span,
  isAsked: (event: WebhookEvent) => boolean,
  time: ReplayTime,
  max = maxReplayed,
): Promise<number> {
  const listing = eventListing(store, organizationId, span, isAsked)
  let count = 0
  for (let place = ''; count < max; ) {
    const { items, next } = await readPage(store, listing, place, Math.min(pageLength, max - count))
    const done = await Promise.all(
      items.map((one) => replayEvent(aggregates, one.place, webhookId, time)),
    )
    count += done.filter(Boolean).length
    if (next === null) break
    place = next
  }
  return count
}
