import { indexes } from '../engine/format/layout.ts'
import { newestFirst } from '../engine/format/newest-first.ts'
import { unlessUnreadable } from '../engine/format/row-codec.ts'
import { timeOfId } from '../management/id.ts'
import type { Listing, Span } from '../projection/listing.ts'
import type { IndexEntry, Key, Store } from '../store/port.ts'
import { decodeEvent, readPlace, type WebhookEvent } from './event.ts'

/** An event with where it lies. */
export interface PlacedEvent {
  readonly place: Key
  readonly event: WebhookEvent
}

/** Events of an organization, the newest first. */
export function eventListing(
  store: Pick<Store, 'load'>,
  organizationId: string,
  span: Span,
  isAsked: (event: WebhookEvent) => boolean,
): Listing<PlacedEvent> {
  return {
    index: indexes.events,
    prefix: `${organizationId}\n`,
    ...span,
    async read(entries) {
      const events = await readEvents(store, entries)
      return events.map((read) => {
        const one = unlessUnreadable(read)
        return one !== null && isAsked(one.event) ? one : null
      })
    },
  }
}

/** null where its record is gone; each is read by itself, for one that is damaged must not stop a list. */
async function readEvents(
  store: Pick<Store, 'load'>,
  entries: readonly IndexEntry[],
): Promise<(() => PlacedEvent | null)[]> {
  const places = entries.map(({ sortKey, value }) => {
    return readPlace(value, sortKey.slice(sortKey.lastIndexOf('\n') + 1))
  })
  const found = await store.load(places)
  return places.map((place, i) => () => {
    const text = found[i]?.value
    return text === undefined ? null : { place, event: decodeEvent(text) }
  })
}

/** An id says when it was made, and so where the event stands in the list. */
export async function findEvent(
  store: Store,
  organizationId: string,
  eventId: string,
): Promise<PlacedEvent | null> {
  const atMs = timeOfId(eventId)
  if (Number.isNaN(atMs)) return null
  const sortKey = `${organizationId}\n${newestFirst(atMs)}\n${eventId}`
  // The sign before the last: the range begins after it, and the key itself is the next.
  const before = `${organizationId}\n${newestFirst(atMs)}\n${eventId.slice(0, -1)}`
  const entries = await store.range(indexes.events, before, 2)
  const entry = entries.find((one) => one.sortKey === sortKey)
  if (entry === undefined) return null
  const [read] = await readEvents(store, [entry])
  return read?.() ?? null
}
