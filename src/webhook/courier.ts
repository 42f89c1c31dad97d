import { keepNewest } from '../bounded-map.ts'
import type { Clock } from '../clock.ts'
import type { AggregateWrite } from '../engine/aggregate-copy.ts'
import type { Aggregates } from '../engine/aggregates.ts'
import { indexes } from '../engine/format/layout.ts'
import { RecordUnreadable, unlessUnreadable } from '../engine/format/row-codec.ts'
import { newId } from '../management/id.ts'
import type { SecretBox } from '../management/secret-box.ts'
import type { Outgoing, OutgoingAnswer } from '../outgoing/call.ts'
import { signedHeaders } from '../outgoing/signature.ts'
import type { IndexEntry, Key, Store } from '../store/port.ts'
import {
  afterAttempt,
  type DeliveryAttempt,
  type EventDelivery,
  isSuccess,
  missedDelivery,
  readRetryAfter,
} from './delivery.ts'
import { type AttemptResult, type Endpoint, openSecrets, type SigningSecret } from './endpoint.ts'
import {
  type DueDelivery,
  decodeEvent,
  dueEntries,
  readDueSortKey,
  readPlace,
  type WebhookEvent,
  writeOfEvent,
} from './event.ts'

/** One delivery that is due, and where its event lies. */
export interface DueEntry extends DueDelivery {
  readonly place: Key
  /** As it stands in the index, which may be damaged. */
  readonly sortKey: string
}

export function dueEntryOf({ sortKey, value }: IndexEntry): DueEntry {
  const due = readDueSortKey(sortKey)
  return { ...due, place: readPlace(value, due.eventId), sortKey }
}

/** Sends events, and writes down what became of them. */
export interface Courier {
  /** One attempt; null when there was nothing to send any more, or the server stops. */
  deliver(entry: DueEntry, endpoint: Endpoint): Promise<Attempted | null>
  /** An event was made just now, and need not be read to be sent. */
  remember(event: WebhookEvent): void
  /** Ends a delivery whose endpoint is gone or disabled. */
  giveUp(entry: DueEntry): Promise<void>
  /** Sends a message that tells nothing, at once and once. */
  ping(organizationId: string, endpoint: Endpoint): Promise<AttemptResult & { ms: number }>
}

/** How an attempt went, while what became of it is still to be written. */
export interface Attempted {
  readonly result: AttemptResult
  /** What the receiver asks for; 0 for nothing. */
  readonly retryAfterMs: number
  readonly written: Promise<void>
}

export interface CourierOptions {
  readonly store: Store
  readonly aggregates: Aggregates
  readonly box: SecretBox
  readonly clock: Clock
  readonly outgoing: Outgoing
  /** From 0 to 1. */
  readonly random: () => number
  /** Resolves when it is time to write down how attempts went, for many of them at once. */
  readonly untilWriting: () => Promise<void>
}

const attemptMs = 15_000
/** Somebody waits for it. */
const pingMs = 8_000
/** Under way at once, of all endpoints: they go beside what is delivered, and must not take its places. */
const maxPings = 32
const maxRemembered = 1_000

export function createCourier(options: CourierOptions): Courier {
  const { store, aggregates, box, clock, outgoing } = options
  const remembered = new Map<string, WebhookEvent>()
  const opened = new WeakMap<Endpoint, readonly SigningSecret[]>()
  let pings = 0

  function secretsOf(endpoint: Endpoint, atMs: number): Buffer[] {
    let secrets = opened.get(endpoint)
    if (secrets === undefined) {
      secrets = openSecrets(endpoint, box)
      opened.set(endpoint, secrets)
    }
    return secrets.flatMap(({ key, untilMs }) => (untilMs === null || untilMs > atMs ? key : []))
  }

  async function send(
    eventId: string,
    body: string,
    endpoint: Endpoint,
    timeoutMs: number,
  ): Promise<OutgoingAnswer> {
    const atMs = clock.nowMs()
    const secrets = secretsOf(endpoint, atMs)
    if (secrets.length === 0) {
      return { fault: 'refused', detail: 'no key opens its secret', ms: 0 }
    }
    return outgoing.call({
      method: 'POST',
      url: endpoint.url,
      headers: {
        'content-type': 'application/json',
        ...signedHeaders({ id: eventId, body, atMs }, secrets),
      },
      body,
      timeoutMs,
    })
  }

  async function pingWith(sent: () => Promise<OutgoingAnswer>): Promise<OutgoingAnswer> {
    if (pings >= maxPings) return { fault: 'busy', detail: 'too many tests at once', ms: 0 }
    pings++
    try {
      return await sent()
    } finally {
      pings--
    }
  }

  /**
   * Changes one delivery of an event, unless it is no longer what the index says. An event that cannot be read is not
   * due any more: it would be met again and again, and nothing behind it be sent.
   */
  async function change(
    entry: DueEntry,
    next: (delivery: EventDelivery) => EventDelivery,
  ): Promise<void> {
    const { place, webhookId, dueMs, eventId, sortKey } = entry
    const isDamaged = await aggregates.change({
      aggregate: place.aggregate,
      reads: [place],
      decide(view) {
        const text = view.child(place)
        const before = text === null ? null : unlessUnreadable(() => decodeEvent(text))
        const found = deliveryOf(before, webhookId)
        const isOver = before === null || found?.state !== 'pending' || found.dueMs !== dueMs
        const write: AggregateWrite = isOver
          ? {
              unindex: [{ index: indexes.deliveries, sortKey }],
              index: before === null ? [] : dueEntries(place, before),
            }
          : writeOfEvent(place, withDelivery(before, next(found)), before)
        return { result: text !== null && before === null, write }
      },
    })
    if (isDamaged) throw new RecordUnreadable(`event ${eventId} cannot be read, and is not sent`)
  }

  const isDue = (event: WebhookEvent | null, { webhookId, dueMs }: DueEntry) => {
    const found = deliveryOf(event, webhookId)
    return found?.state === 'pending' && found.dueMs === dueMs
  }

  async function read(entry: DueEntry): Promise<WebhookEvent | null> {
    const known = remembered.get(entry.eventId) ?? null
    if (isDue(known, entry)) return known
    const [loaded] = await store.load([entry.place])
    return loaded === undefined ? null : unlessUnreadable(() => decodeEvent(loaded.value))
  }

  /** Who finds it due in an older state of the index must not send it once more. */
  function note({ eventId, webhookId }: DueEntry, next: Parameters<typeof change>[1]): void {
    const known = remembered.get(eventId) ?? null
    const found = deliveryOf(known, webhookId)
    if (known === null || found === undefined) return
    remembered.set(eventId, withDelivery(known, next(found)))
  }

  async function write(entry: DueEntry, next: Parameters<typeof change>[1]): Promise<void> {
    await options.untilWriting()
    await change(entry, next)
  }

  return {
    remember: (event) => keepNewest(remembered, event.eventId, event, maxRemembered),
    async deliver(entry, endpoint) {
      const event = await read(entry)
      if (event === null || !isDue(event, entry)) {
        await change(entry, (delivery) => delivery)
        return null
      }
      const atMs = clock.nowMs()
      const answer = await send(event.eventId, event.body, endpoint, attemptMs)
      if ('fault' in answer && answer.fault === 'stopped') return null
      const attempt = attemptOf(answer, atMs)
      const retryAfterMs = 'status' in answer ? readRetryAfter(answer.retryAfter, clock.nowMs()) : 0
      const random = options.random()
      const next = (delivery: EventDelivery) =>
        afterAttempt(delivery, attempt, retryAfterMs, random)
      note(entry, next)
      const written = write(entry, next)
      return { result: resultOf(attempt), retryAfterMs, written }
    },
    giveUp: (entry) =>
      change(entry, (delivery) => ({ ...delivery, ...ended, attempts: delivery.attempts })),
    async ping(organizationId, endpoint) {
      const atMs = clock.nowMs()
      const eventId = newId('evt', atMs)
      const timestamp = new Date(atMs).toISOString()
      const told = { eventId, type: 'ping', timestamp, organizationId, sequence: 0, data: {} }
      const answer = await pingWith(() => send(eventId, JSON.stringify(told), endpoint, pingMs))
      const attempt = attemptOf(answer, atMs)
      return { ...resultOf(attempt), ms: attempt.ms }
    },
  }
}

const { state, dueMs } = missedDelivery('')
const ended = { state, dueMs }

function deliveryOf(event: WebhookEvent | null, webhookId: string): EventDelivery | undefined {
  return event?.deliveries.find((one) => one.webhookId === webhookId)
}

function withDelivery(event: WebhookEvent, next: EventDelivery): WebhookEvent {
  const deliveries = event.deliveries.map((one) => (one.webhookId === next.webhookId ? next : one))
  return { ...event, deliveries }
}

function attemptOf(answer: OutgoingAnswer, atMs: number): DeliveryAttempt {
  const { ms } = answer
  if ('status' in answer) return { atMs, status: answer.status, ms, detail: '' }
  return { atMs, status: 0, ms, detail: answer.detail.slice(0, 200) }
}

function resultOf({ atMs, status, detail }: DeliveryAttempt): AttemptResult {
  return { atMs, status, detail, succeeded: isSuccess(status) }
}
