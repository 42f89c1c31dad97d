import type { Aggregates } from '../engine/aggregates.ts'
import { readPage, type Span } from '../projection/listing.ts'
import type { Key, Store } from '../store/port.ts'
import { newDelivery, sentAgain } from './delivery.ts'
import { decodeEvent, type WebhookEvent, writeOfEvent } from './event.ts'
import { eventListing } from './event-listing.ts'

/** In one call; the next goes on with what is older. */
const maxReplayed = 10_000
const pageLength = 250

/** Sends one event again to an endpoint: the same bytes, a new time and signature. */
export function replayEvent(
  aggregates: Aggregates,
  place: Key,
  webhookId: string,
  nowMs: number,
): Promise<boolean> {
  return aggregates.change({
    aggregate: place.aggregate,
    reads: [place],
    decide(view) {
      const text = view.child(place)
      if (text === null) return { result: false, write: {} }
      const before = decodeEvent(text)
      const found = before.deliveries.find((one) => one.webhookId === webhookId)
      // What seems to wait may have been sent and not been written down yet: another time tells them apart.
      const dueMs = found?.dueMs === nowMs ? nowMs + 1 : nowMs
      const next = found === undefined ? newDelivery(webhookId, nowMs) : sentAgain(found, dueMs)
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
  nowMs: number,
  max = maxReplayed,
): Promise<number> {
  const listing = eventListing(store, organizationId, span, isAsked)
  let count = 0
  for (let place = ''; count < max; ) {
    const { items, next } = await readPage(store, listing, place, Math.min(pageLength, max - count))
    const done = await Promise.all(
      items.map((one) => replayEvent(aggregates, one.place, webhookId, nowMs)),
    )
    count += done.filter(Boolean).length
    if (next === null) break
    place = next
  }
  return count
}
