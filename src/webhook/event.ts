import { z } from 'zod'
import { dayMs } from '../clock.ts'
import type { AggregateWrite } from '../engine/aggregate-copy.ts'
import { indexes } from '../engine/format/layout.ts'
import { newestFirst } from '../engine/format/newest-first.ts'
import { parseStored, RecordUnreadable } from '../engine/format/row-codec.ts'
import { idMadeFrom } from '../management/id.ts'
import type { ChildKey, IndexEntryPut, IndexKey, Key } from '../store/port.ts'
import { type EventDelivery, missedDelivery, newDelivery } from './delivery.ts'
import { type Endpoint, wants } from './endpoint.ts'
import { type EventType, eventTypes } from './event-type.ts'

/** Something that happened, as receivers are told: always with the same bytes. */
export interface WebhookEvent {
  readonly eventId: string
  readonly organizationId: string
  readonly type: EventType
  readonly atMs: number
  /** What is sent. */
  readonly body: string
  readonly deliveries: readonly EventDelivery[]
}

/** What an event is made from; `key` tells it from every other, and is the same when it is made again. */
export interface Happening {
  readonly organizationId: string
  readonly type: EventType
  readonly atMs: number
  /** When the log got it, whose order goes on when a clock goes back; absent: it is told by the commit that does it. */
  readonly loggedMs?: number
  readonly key: string
  /** Grows within one account, or one KYC. */
  readonly sequence: number
  readonly data: unknown
}

const states = ['pending', 'delivered', 'failed'] as const

const row = z.tuple([
  z.literal(1),
  z.string(), // eventId
  z.string(), // organizationId
  z.enum(eventTypes as readonly [EventType, ...EventType[]]),
  z.int(), // atMs
  z.string(), // body
  z.array(
    z.tuple([
      z.string(), // webhookId
      z.int(), // state
      z.int(), // dueMs
      z.int(), // tries
      z.array(z.tuple([z.int(), z.int(), z.int(), z.string()])),
    ]),
  ),
])

function encode(e: WebhookEvent): string {
  const deliveries = e.deliveries.map((d) => {
    const attempts = d.attempts.map((a) => [a.atMs, a.status, a.ms, a.detail])
    return [d.webhookId, states.indexOf(d.state), d.dueMs, d.tries, attempts]
  })
  return JSON.stringify([1, e.eventId, e.organizationId, e.type, e.atMs, e.body, deliveries])
}

export function decodeEvent(value: string): WebhookEvent {
  const found = row.safeParse(parseStored(value))
  if (!found.success) throw new RecordUnreadable('an event was written by a newer release')
  const [, eventId, organizationId, type, atMs, body, rows] = found.data
  const deliveries = rows.map(([webhookId, state, dueMs, tries, attempts]) => ({
    webhookId,
    state: states[state] ?? 'failed',
    dueMs,
    tries,
    attempts: attempts.map(([atMs, status, ms, detail]) => ({ atMs, status, ms, detail })),
  }))
  return { eventId, organizationId, type, atMs, body, deliveries }
}

/** What the groups of events begin with; the last day that they are kept on follows. */
export const eventGroup = 'v@'

/** Where events lie: under what caused them, in a group that is dropped when they are over. */
export function eventChild(eventId: string, atMs: number, retentionDays: number): ChildKey {
  return { group: `${eventGroup}${Math.floor(atMs / dayMs) + retentionDays + 1}`, id: eventId }
}

/** The event of a happening for the endpoints that want it; null when none does. */
export function makeEvent(
  happening: Happening,
  eventId: string,
  endpoints: readonly Endpoint[],
  nowMs: number,
): WebhookEvent | null {
  const { organizationId, type, atMs, loggedMs = Infinity, sequence, data } = happening
  const wanting = endpoints.filter((endpoint) => wants(endpoint, type, loggedMs))
  if (wanting.length === 0) return null
  const timestamp = new Date(atMs).toISOString()
  const body = JSON.stringify({ eventId, type, timestamp, organizationId, sequence, data })
  const deliveries = wanting.map(({ webhookId, enabled }) =>
    enabled ? newDelivery(webhookId, nowMs) : missedDelivery(webhookId),
  )
  return { eventId, organizationId, type, atMs, body, deliveries }
}

/** An event that is committed with what caused it, in the same aggregate; null when nobody wants it. */
export function eventBeside(
  aggregate: string,
  happening: Happening,
  endpoints: readonly Endpoint[],
  retentionDays: number,
): { readonly event: WebhookEvent; readonly write: AggregateWrite } | null {
  const { atMs, key } = happening
  const event = makeEvent(happening, idMadeFrom('evt', atMs, [key]), endpoints, atMs)
  if (event === null) return null
  const child = eventChild(event.eventId, atMs, retentionDays)
  return { event, write: writeOfEvent({ aggregate, ...child }, event, null) }
}

/** What one commit writes when an event is made, or changes from what it was. */
export function writeOfEvent(
  place: Key,
  event: WebhookEvent,
  before: WebhookEvent | null,
): AggregateWrite {
  const { group, id } = place
  const old = before === null ? [] : dueEntries(place, before)
  const now = dueEntries(place, event)
  return {
    put: [{ group, id, value: encode(event) }],
    index: [...(before === null ? [listed(place, event)] : []), ...without(now, old)],
    unindex: without(old, now),
  }
}

/** An event may wait for many endpoints: what one attempt does to one of them leaves the others' entries. */
function without(entries: readonly IndexEntryPut[], others: readonly IndexEntryPut[]) {
  const keys = new Set(others.map(({ sortKey }) => sortKey))
  return entries.filter(({ sortKey }) => !keys.has(sortKey))
}

/** All entries of an event, in the list of its organization and among what is to be sent. */
export function entriesOfEvent(place: Key, event: WebhookEvent): IndexEntryPut[] {
  return [listed(place, event), ...dueEntries(place, event)]
}

function listed(place: Key, { organizationId, atMs, eventId }: WebhookEvent): IndexEntryPut {
  const sortKey = `${organizationId}\n${newestFirst(atMs)}\n${eventId}`
  return { index: indexes.events, sortKey, value: placeText(place) }
}

export function dueEntries(place: Key, { organizationId, deliveries, eventId }: WebhookEvent) {
  return deliveries.flatMap(({ state, webhookId, dueMs }): IndexEntryPut[] => {
    if (state !== 'pending') return []
    const sortKey = dueSortKey({ organizationId, webhookId, dueMs, eventId })
    return [{ index: indexes.deliveries, sortKey, value: placeText(place) }]
  })
}

/** By endpoint, then by time, so that one that is behind stands in nobody's way. */
export interface DueDelivery {
  readonly organizationId: string
  readonly webhookId: string
  readonly dueMs: number
  readonly eventId: string
}

function dueSortKey({ organizationId, webhookId, dueMs, eventId }: DueDelivery): string {
  return [organizationId, webhookId, String(dueMs).padStart(15, '0'), eventId].join('\n')
}

export function readDueSortKey(sortKey: string): DueDelivery {
  const [organizationId = '', webhookId = '', due = '0', eventId = ''] = sortKey.split('\n')
  // One that is damaged is due now: whoever reads its event sees when that is due, if ever.
  return { organizationId, webhookId, dueMs: Number(due) || 0, eventId }
}

export function dueKey(due: DueDelivery): IndexKey {
  return { index: indexes.deliveries, sortKey: dueSortKey(due) }
}

/** The event's home, as index entries name it: the aggregate first. */
function placeText({ aggregate, group }: Key): string {
  return `${aggregate} ${group}`
}

export function readPlace(value: string, eventId: string): Key {
  // No name has a zero byte, and a store that is asked for one that has throws: nothing behind it would be met.
  const [text = ''] = value.split('\0')
  // An organization's id, and so an aggregate's name, may have a space in it; a group never has.
  const at = text.lastIndexOf(' ')
  return { aggregate: text.slice(0, at), group: text.slice(at + 1), id: eventId }
}
