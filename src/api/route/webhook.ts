import { z } from 'zod'
import type { AggregateView } from '../../engine/aggregate-copy.ts'
import { webhooksAggregate } from '../../engine/format/layout.ts'
import { filledText, givenText } from '../../management/given-text.ts'
import { newId } from '../../management/id.ts'
import {
  changedEndpoint,
  type Endpoint,
  endpointsIn,
  maxEndpoints,
  newEndpoint,
  newSecret,
  readEndpoints,
  rotatedEndpoint,
  writeOfEndpoints,
} from '../../webhook/endpoint.ts'
import { eventChoices } from '../../webhook/event-type.ts'
import { type PendingDeliveries, readPending } from '../../webhook/pending.ts'
import { isRefused, type Refused, refuse } from '../condition.ts'
import type { ApiContext } from '../context.ts'
import { type ApiCall, defineRoute, type Route } from '../route.ts'

const nothing = z.object({})
const params = z.object({ webhookId: z.string().regex(/^[!-~]{1,64}$/, 'is no webhookId') })
const events = z
  .array(z.enum(eventChoices as readonly [string, ...string[]]))
  .min(1)
  .max(eventChoices.length)
const url = filledText(2_048)
const description = givenText(200)

const data = z.object({
  webhookId: z.string(),
  url: z.string(),
  events: z.array(z.string()),
  description: z.string(),
  enabled: z.boolean(),
  disabledBecause: z.enum(['gone', 'failing']).nullable(),
  createdAt: z.string(),
  lastSuccessAt: z.string().nullable().describe('Up to 30 seconds behind while all goes well'),
  lastFailure: z
    .object({ at: z.string(), httpStatus: z.int().nullable(), detail: z.string() })
    .nullable(),
  pending: z.int(),
})
const secret = z.string().describe('Shown once')

/** Where an organization is told of events. */
export function webhookRoutes(context: ApiContext): readonly Route[] {
  const desk = createWebhookDesk(context)
  return [...makingRoutes(context, desk), ...changingRoutes(context, desk), testRoute(context)]
}

type WebhookDesk = ReturnType<typeof createWebhookDesk>

function createWebhookDesk({ store, effects, outside }: ApiContext) {
  /** Changes one endpoint; null takes it away. */
  async function change(
    call: ApiCall,
    webhookId: string,
    next: (endpoint: Endpoint) => Endpoint | null,
  ) {
    const { organizationId } = call.caller.organization
    const aggregate = webhooksAggregate(organizationId)
    const pending = await readPending(store, `${organizationId}\n${webhookId}\n`)
    const done = await effects.onAggregate(call, aggregate, (view: AggregateView) => {
      const all = endpointsIn(view)
      const before = all.find((one) => one.webhookId === webhookId)
      if (before === undefined) return unknown()
      const after = next(before)
      const rest = all.flatMap((one) => (one === before ? (after ?? []) : one))
      return { data: shown(after ?? before, pending), write: writeOfEndpoints(rest) }
    })
    outside.office.changed(organizationId)
    return done
  }

  async function withPending(call: ApiCall, shownOne: z.output<typeof data>) {
    const { organizationId } = call.caller.organization
    const pending = await readPending(store, `${organizationId}\n${shownOne.webhookId}\n`)
    return { ...shownOne, pending: pending.pending }
  }

  function forbidden(given: string | undefined): Refused | null {
    const problem = given === undefined ? '' : outside.urlProblem(given)
    return problem === '' ? null : refuse('notPermitted', `url: ${problem}`)
  }

  return { change, withPending, forbidden }
}

function makingRoutes(
  { store, effects, box }: ApiContext,
  { forbidden, withPending }: WebhookDesk,
): readonly Route[] {
  return [
    defineRoute({
      operation: 'webhooks.add',
      summary: 'Tells of events from now on; the secret is shown once',
      method: 'POST',
      path: '/webhooks',
      scope: 'CardAPIs',
      params: nothing,
      query: nothing,
      body: z.object({ url, events, description: description.default('') }),
      data: data.extend({ secret }),
      reads: false,
      refusals: ['notPermitted'],
      async handle(call) {
        const refused = forbidden(call.body.url)
        const made = newSecret()
        const webhookId = newId('whk', call.nowMs)
        const endpoint = newEndpoint(webhookId, call.body, made, box, call.nowMs)
        const aggregate = webhooksAggregate(call.caller.organization.organizationId)
        const done = await effects.onAggregate(call, aggregate, (view) => {
          if (refused !== null) return refused
          const all = endpointsIn(view)
          if (all.length >= maxEndpoints) {
            return refuse('notPermitted', `there are ${maxEndpoints} webhooks, the most`)
          }
          const write = writeOfEndpoints([...all, endpoint])
          return { data: shown(endpoint, nonePending), write }
        })
        return isRefused(done) ? done : { data: { ...done.data, secret: made } }
      },
    }),
    defineRoute({
      operation: 'webhooks.list',
      summary: 'All webhooks of the organization',
      method: 'GET',
      path: '/webhooks',
      scope: 'CardAPIs',
      params: nothing,
      query: nothing,
      body: nothing,
      data: z.object({ items: z.array(data) }),
      reads: true,
      refusals: [],
      async handle(call) {
        const { organizationId } = call.caller.organization
        const all = await readEndpoints(store, organizationId)
        const items = all.map((one) => withPending(call, shown(one, nonePending)))
        return { data: { items: await Promise.all(items) } }
      },
    }),
  ]
}

function changingRoutes({ box }: ApiContext, { change, forbidden }: WebhookDesk): readonly Route[] {
  return [
    defineRoute({
      operation: 'webhooks.change',
      summary: 'Changes its address, what it is told, or whether it is told at all',
      method: 'PATCH',
      path: '/webhooks/:webhookId',
      scope: 'CardAPIs',
      params,
      query: nothing,
      body: z.object({
        url: url.optional(),
        events: events.optional(),
        description: description.optional(),
        enabled: z.boolean().optional(),
      }),
      data,
      reads: false,
      refusals: ['notPermitted', 'recordUnknown'],
      async handle(call) {
        const refused = forbidden(call.body.url)
        if (refused !== null) return refused
        const given = definedOf(call.body)
        return change(call, call.params.webhookId, (one) => changedEndpoint(one, given, call.nowMs))
      },
    }),
    defineRoute({
      operation: 'webhooks.remove',
      summary: 'Tells it nothing more, and forgets it',
      method: 'DELETE',
      path: '/webhooks/:webhookId',
      scope: 'CardAPIs',
      params,
      query: nothing,
      body: nothing,
      data,
      reads: false,
      refusals: ['recordUnknown'],
      handle: (call) => change(call, call.params.webhookId, () => null),
    }),
    defineRoute({
      operation: 'webhooks.rotateSecret',
      summary: 'Makes a new secret; the old one signs too for a day',
      method: 'POST',
      path: '/webhooks/:webhookId/rotate-secret',
      scope: 'CardAPIs',
      params,
      query: nothing,
      body: nothing,
      data: data.extend({ secret }),
      reads: false,
      refusals: ['recordUnknown'],
      async handle(call) {
        const made = newSecret()
        const done = await change(call, call.params.webhookId, (one) =>
          rotatedEndpoint(one, made, box, call.nowMs),
        )
        return isRefused(done) ? done : { data: { ...done.data, secret: made } }
      },
    }),
  ]
}

function testRoute({ store, outside }: ApiContext): Route {
  return defineRoute({
    operation: 'webhooks.test',
    summary: 'Sends ping now, and tells what was answered',
    method: 'POST',
    path: '/webhooks/:webhookId/test',
    scope: 'CardAPIs',
    params,
    query: nothing,
    body: nothing,
    data: z.object({
      delivered: z.boolean(),
      httpStatus: z.int().nullable(),
      milliseconds: z.int(),
      detail: z.string(),
    }),
    reads: true,
    refusals: ['recordUnknown'],
    async handle(call) {
      const { organizationId } = call.caller.organization
      const all = await readEndpoints(store, organizationId)
      const endpoint = all.find((one) => one.webhookId === call.params.webhookId)
      if (endpoint === undefined) return unknown()
      const { succeeded, status, ms, detail } = await outside.office.courier.ping(
        organizationId,
        endpoint,
      )
      const httpStatus = status === 0 ? null : status
      return { data: { delivered: succeeded, httpStatus, milliseconds: ms, detail } }
    },
  })
}

const nonePending: PendingDeliveries = { pending: 0, oldestMs: null }

function unknown(): Refused {
  return refuse('recordUnknown', 'there is no such webhook')
}

function definedOf<T extends object>(given: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(given).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> }
}

function shown(endpoint: Endpoint, { pending }: PendingDeliveries): z.output<typeof data> {
  const { lastSuccessAtMs, lastFailure, disabledBecause } = endpoint
  return {
    webhookId: endpoint.webhookId,
    url: endpoint.url,
    events: [...endpoint.events],
    description: endpoint.description,
    enabled: endpoint.enabled,
    disabledBecause: disabledBecause === '' ? null : disabledBecause,
    createdAt: timeOf(endpoint.createdAtMs),
    lastSuccessAt: lastSuccessAtMs === null ? null : timeOf(lastSuccessAtMs),
    lastFailure: lastFailure && {
      at: timeOf(lastFailure.atMs),
      httpStatus: lastFailure.status === 0 ? null : lastFailure.status,
      detail: lastFailure.detail,
    },
    pending,
  }
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString()
}
