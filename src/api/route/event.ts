import { z } from 'zod'
import { webhooksAggregate } from '../../engine/format/layout.ts'
import { allTime } from '../../projection/listing.ts'
import { onceBegun } from '../../store/outcome.ts'
import type { EventDelivery } from '../../webhook/delivery.ts'
import { readEndpoints } from '../../webhook/endpoint.ts'
import type { WebhookEvent } from '../../webhook/event.ts'
import { eventListing, findEvent, type PlacedEvent } from '../../webhook/event-listing.ts'
import { type EventType, eventChoices, eventTypes, isChosen } from '../../webhook/event-type.ts'
import { type ReplayTime, replayEvent, replaySpan } from '../../webhook/replay.ts'
import { isRefused, refuse } from '../condition.ts'
import type { ApiContext } from '../context.ts'
import { defineRoute, type Route } from '../route.ts'
import { listOf, mapped, pageFields, pageRefusals, spanOf, timeFields } from './list.ts'

const nothing = z.object({})
const states = ['Pending', 'Delivered', 'Failed'] as const
type State = (typeof states)[number]
const webhookId = z.string().regex(/^[!-~]{1,64}$/, 'is no webhookId')
const eventId = z.string().regex(/^[!-~]{1,64}$/, 'is no eventId')

const data = z.object({
  eventId: z.string(),
  type: z.enum(eventTypes as readonly [EventType, ...EventType[]]),
  timestamp: z.string(),
  state: z.enum(states),
  body: z.string().describe('What is sent, byte for byte'),
  deliveries: z.array(
    z.object({
      webhookId: z.string(),
      state: z.enum(states),
      nextAttemptAt: z.string().nullable(),
      attempts: z.array(
        z.object({
          at: z.string(),
          httpStatus: z.int().nullable(),
          milliseconds: z.int(),
          detail: z.string(),
        }),
      ),
    }),
  ),
})

/** What was told, to whom, and with what success; and telling it again. */
export function eventRoutes(context: ApiContext): readonly Route[] {
  const { store, aggregates, lists, effects, outside } = context
  return [
    defineRoute({
      operation: 'events.list',
      summary: 'Events that webhooks ask for, the newest first, with their attempts',
      method: 'GET',
      path: '/events',
      scope: 'CardAPIs',
      params: nothing,
      query: z.object({
        ...pageFields,
        ...timeFields,
        type: z.enum(eventTypes as readonly [EventType, ...EventType[]]).optional(),
        state: z.enum(states).optional(),
        webhookId: webhookId.optional(),
      }),
      body: nothing,
      data: listOf(data),
      reads: true,
      refusals: [...pageRefusals],
      handle: ({ caller, query, nowMs }) =>
        lists.answer({ list: 'events', caller, query, nowMs }, (span) => {
          const { type, state, webhookId } = query
          const { organizationId } = caller.organization
          const isAsked = (event: WebhookEvent) =>
            (type === undefined || event.type === type) &&
            (webhookId === undefined || isFor(event, webhookId)) &&
            (state === undefined || stateOf(event, webhookId) === state)
          return mapped(eventListing(store, organizationId, span, isAsked), shown)
        }),
    }),
    defineRoute({
      operation: 'events.show',
      summary: 'One event, with its body and its attempts',
      method: 'GET',
      path: '/events/:eventId',
      scope: 'CardAPIs',
      params: z.object({ eventId }),
      query: nothing,
      body: nothing,
      data,
      reads: true,
      refusals: ['recordUnknown'],
      async handle({ caller, params }) {
        const { organizationId } = caller.organization
        const found = await findEvent(store, organizationId, params.eventId)
        return found === null
          ? refuse('recordUnknown', 'there is no such event')
          : { data: shown(found) }
      },
    }),
    defineRoute({
      operation: 'webhooks.replay',
      summary: 'Sends one event again, or those of a stretch of time, at most 10,000',
      method: 'POST',
      path: '/webhooks/:webhookId/replay',
      scope: 'CardAPIs',
      params: z.object({ webhookId }),
      query: nothing,
      body: z.object({
        eventId: eventId.optional().describe('This, or startDate and endDate'),
        ...timeFields,
        events: z.array(z.enum(eventChoices as readonly [string, ...string[]])).optional(),
      }),
      data: z.object({ queued: z.int() }),
      reads: false,
      refusals: ['notPermitted', 'recordUnknown', 'dateMalformed'],
      async handle(call) {
        const { body, nowMs } = call
        const { organizationId } = call.caller.organization
        const isOne = body.eventId !== undefined
        if (isOne === (body.startDate !== undefined || body.endDate !== undefined)) {
          const condition = isOne ? 'fieldNotAllowed' : 'fieldMissing'
          const message = 'give eventId, or startDate and endDate'
          return refuse(condition, message, { errors: [{ field: 'eventId', message }] })
        }
        const span = isOne ? allTime : spanOf(body, context.engine.pack().zone)
        if (isRefused(span)) return span
        const { events = ['*'] } = body
        const { webhookId } = call.params
        const isAsked = ({ type }: WebhookEvent) => isChosen(type, events)
        const to = { organizationId, webhookId }
        const one = async (time: ReplayTime) => {
          const found = await findEvent(store, organizationId, body.eventId!)
          if (found === null) return 0
          return Number(await replayEvent(aggregates, found.place, webhookId, time))
        }
        const all = (time: ReplayTime) =>
          onceBegun(() => replaySpan(store, aggregates, to, span, isAsked, time))
        const home = webhooksAggregate(organizationId)
        // Before its Reference is done: whoever repeats it after a crash sends only what was not sent yet.
        const done = await effects.onPrepared<{ queued: number }>(call, home, async (sinceMs) => {
          const endpoints = await readEndpoints(store, organizationId)
          const endpoint = endpoints.find((each) => each.webhookId === webhookId)
          const time = { nowMs, sinceMs }
          const queued = !endpoint?.enabled ? 0 : await (isOne ? one(time) : all(time))
          return () => {
            if (endpoint === undefined) return refuse('recordUnknown', 'there is no such webhook')
            if (!endpoint.enabled) return refuse('notPermitted', 'the webhook is disabled')
            if (isOne && queued === 0) return refuse('recordUnknown', 'there is no such event')
            return { data: { queued }, write: {} }
          }
        })
        outside.office.dispatcher.wake(organizationId, webhookId)
        return done
      },
    }),
  ]
}

const stateNames: Record<EventDelivery['state'], State> = {
  pending: 'Pending',
  delivered: 'Delivered',
  failed: 'Failed',
}

function isFor({ deliveries }: WebhookEvent, webhookId: string): boolean {
  return deliveries.some((one) => one.webhookId === webhookId)
}

/** Pending while one is, else Failed when one is. */
function stateOf({ deliveries }: WebhookEvent, webhookId?: string): State {
  const own = deliveries.filter((one) => webhookId === undefined || one.webhookId === webhookId)
  const has = (state: EventDelivery['state']) => own.some((one) => one.state === state)
  if (has('pending')) return 'Pending'
  return has('failed') ? 'Failed' : 'Delivered'
}

function shown({ event }: PlacedEvent): z.output<typeof data> {
  return {
    eventId: event.eventId,
    type: event.type,
    timestamp: timeOf(event.atMs),
    state: stateOf(event),
    body: event.body,
    deliveries: event.deliveries.map(({ webhookId, state, dueMs, attempts }) => ({
      webhookId,
      state: stateNames[state],
      nextAttemptAt: state === 'pending' ? timeOf(dueMs) : null,
      attempts: attempts.map(({ atMs, status, ms, detail }) => ({
        at: timeOf(atMs),
        httpStatus: status === 0 ? null : status,
        milliseconds: ms,
        detail,
      })),
    })),
  }
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString()
}
