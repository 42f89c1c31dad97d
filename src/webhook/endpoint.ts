import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { dayMs } from '../clock.ts'
import type { AggregateView, AggregateWrite } from '../engine/aggregate-copy.ts'
import { webhooksAggregate } from '../engine/format/layout.ts'
import { RecordUnreadable, unlessUnreadable } from '../engine/format/row-codec.ts'
import { parseSummed, summedJson } from '../engine/format/summed-json.ts'
import type { SecretBox } from '../management/secret-box.ts'
import { readWebhookSecret, writeWebhookSecret } from '../outgoing/signature.ts'
import type { Key, Store } from '../store/port.ts'
import { type EventType, eventTypes, isChosen } from './event-type.ts'

/** Where an organization wants to be told of events. All of one organization lie in one root. */
const record = z.object({
  webhookId: z.string(),
  url: z.string(),
  events: z.array(z.string()),
  description: z.string(),
  enabled: z.boolean(),
  /** Why it is not; '' when it is, or when its client wanted it so. */
  disabledBecause: z.enum(['', 'gone', 'failing']),
  /** The newest first; an older one signs too until its time. */
  secrets: z.array(z.object({ sealed: z.string(), untilMs: z.int().nullable() })).min(1),
  createdAtMs: z.int(),
  /** What happened before is not sent: since it was made. */
  sinceMs: z.int(),
  lastSuccessAtMs: z.int().nullable(),
  lastFailure: z.object({ atMs: z.int(), status: z.int(), detail: z.string() }).nullable(),
  /** The first failure after the last success. */
  failingSinceMs: z.int().nullable(),
  /** Of types that it asks for only since later: the log may be read long after what it asked for before has happened. */
  typesSinceMs: z.record(z.string(), z.int()).default({}),
})

const root = z.object({ format: z.literal(1), endpoints: z.array(record) })

export type Endpoint = Readonly<z.output<typeof record>>

export const maxEndpoints = 10
const secretBytes = 32
/** How long the old secret signs beside a new one. */
const rotationMs = dayMs
/** Of one endpoint, that sign at once. */
const maxSecrets = 4
/** After so long without a success an endpoint is disabled. */
const maxFailingMs = 5 * dayMs

export function decodeEndpoints(value: string | null | undefined): readonly Endpoint[] {
  if (value === null || value === undefined || value === '') return []
  const found = root.safeParse(parseSummed(value))
  if (found.success) return found.data.endpoints
  throw new RecordUnreadable('webhooks were written by a newer release')
}

export function endpointsIn(view: AggregateView): readonly Endpoint[] {
  return decodeEndpoints(view.root)
}

export function writeOfEndpoints(endpoints: readonly Endpoint[]): AggregateWrite {
  return { root: summedJson({ format: 1, endpoints }) }
}

export function endpointsKey(organizationId: string): Key {
  return { aggregate: webhooksAggregate(organizationId), group: '', id: '' }
}

export async function readEndpoints(
  store: Store,
  organizationId: string,
): Promise<readonly Endpoint[]> {
  const [found] = await store.load([endpointsKey(organizationId)])
  return decodeEndpoints(found?.value)
}

/** By organization. */
export type EndpointsOf = ReadonlyMap<string, readonly Endpoint[]>

/**
 * For whoever tells them something: neither money nor the other organizations wait for a record that cannot be read. Its
 * organization has none meanwhile, and `onUnreadable` hears of it.
 */
export async function endpointsToTell(
  store: Store,
  organizationIds: readonly string[],
  onUnreadable: (organizationId: string) => void = () => {},
): Promise<EndpointsOf> {
  const found = await store.load(organizationIds.map(endpointsKey))
  return new Map(
    organizationIds.map((id, i) => {
      const endpoints = unlessUnreadable(() => decodeEndpoints(found[i]?.value))
      if (endpoints === null) onUnreadable(id)
      return [id, endpoints ?? []]
    }),
  )
}

export function wants(endpoint: Endpoint, type: EventType, loggedMs: number): boolean {
  const { events, sinceMs, typesSinceMs } = endpoint
  return isChosen(type, events) && loggedMs >= (typesSinceMs[type] ?? sinceMs)
}

/** What it asked for before, it goes on to get; the rest it gets from now on. */
function typesSince(
  { events: before, typesSinceMs }: Endpoint,
  events: readonly string[],
  nowMs: number,
): Endpoint['typesSinceMs'] {
  const since = (type: EventType) => (isChosen(type, before) ? typesSinceMs[type] : nowMs)
  const chosen = eventTypes.filter((type) => isChosen(type, events))
  return Object.fromEntries(
    chosen.flatMap((type) => {
      const ms = since(type)
      return ms === undefined ? [] : [[type, ms] as const]
    }),
  )
}

const placeOf = (webhookId: string) => ({ kind: 'webhook', id: webhookId, field: 'secret' })

export function newSecret(): string {
  return writeWebhookSecret(randomBytes(secretBytes))
}

/** What its client says of an endpoint. */
export interface EndpointSettings {
  readonly url: string
  readonly events: readonly string[]
  readonly description: string
}

export function newEndpoint(
  webhookId: string,
  given: EndpointSettings,
  secret: string,
  box: SecretBox,
  nowMs: number,
): Endpoint {
  return {
    webhookId,
    ...given,
    events: [...given.events],
    enabled: true,
    disabledBecause: '',
    secrets: [{ sealed: box.seal(placeOf(webhookId), secret), untilMs: null }],
    createdAtMs: nowMs,
    sinceMs: nowMs,
    lastSuccessAtMs: null,
    lastFailure: null,
    failingSinceMs: null,
    typesSinceMs: {},
  }
}

/** One that is enabled again gets nothing of what it missed by itself; as one that has moved, it has not failed yet. */
export function changedEndpoint(
  endpoint: Endpoint,
  given: Partial<EndpointSettings & { readonly enabled: boolean }>,
  nowMs: number,
): Endpoint {
  const events = given.events === undefined ? endpoint.events : [...given.events]
  const isBack = given.enabled === true && !endpoint.enabled
  const isElsewhere = given.url !== undefined && given.url !== endpoint.url
  return {
    ...endpoint,
    ...given,
    events,
    typesSinceMs: typesSince(endpoint, events, nowMs),
    ...(given.enabled !== undefined && { disabledBecause: '' as const }),
    ...((isBack || isElsewhere) && { failingSinceMs: null }),
  }
}

export function rotatedEndpoint(
  endpoint: Endpoint,
  secret: string,
  box: SecretBox,
  nowMs: number,
): Endpoint {
  const { webhookId, secrets } = endpoint
  const sealed = box.seal(placeOf(webhookId), secret)
  const [newest, ...others] = secrets
  const old = { ...newest!, untilMs: nowMs + rotationMs }
  // Whoever lost the answer asks for one more: its receivers still know the one from before.
  const older = others.filter(({ untilMs }) => untilMs !== null && untilMs > nowMs)
  const all = [{ sealed, untilMs: null }, old, ...older]
  return { ...endpoint, secrets: all.slice(0, maxSecrets) }
}

/** The same secrets, sealed with the key that seals now; null when no key opens one. */
export function rewrappedEndpoint(endpoint: Endpoint, box: SecretBox): Endpoint | null {
  const place = placeOf(endpoint.webhookId)
  const opened = endpoint.secrets.map(({ sealed }) => box.open(place, sealed))
  if (opened.includes(null)) return null
  const secrets = endpoint.secrets.map(({ untilMs }, i) => {
    return { sealed: box.seal(place, opened[i]!), untilMs }
  })
  return { ...endpoint, secrets }
}

/** With which messages are signed, until its time when it has one. */
export interface SigningSecret {
  readonly key: Buffer
  readonly untilMs: number | null
}

/** Without those that no key opens. */
export function openSecrets({ webhookId, secrets }: Endpoint, box: SecretBox): SigningSecret[] {
  return secrets.flatMap(({ sealed, untilMs }) => {
    const text = box.open(placeOf(webhookId), sealed)
    const key = text === null ? null : readWebhookSecret(text)
    return key === null ? [] : { key, untilMs }
  })
}

/** How an attempt went, as its endpoint remembers it. */
export interface AttemptResult {
  readonly atMs: number
  readonly status: number
  readonly detail: string
  readonly succeeded: boolean
}

/** 410 says that nobody is there any more. */
const goneStatus = 410

export function afterResult(endpoint: Endpoint, result: AttemptResult): Endpoint {
  const { atMs, status, detail, succeeded } = result
  if (succeeded) return { ...endpoint, lastSuccessAtMs: atMs, failingSinceMs: null }
  const failingSinceMs = endpoint.failingSinceMs ?? atMs
  const failed = { ...endpoint, lastFailure: { atMs, status, detail }, failingSinceMs }
  if (!endpoint.enabled) return failed
  if (status === goneStatus) return { ...failed, enabled: false, disabledBecause: 'gone' }
  if (atMs - failingSinceMs < maxFailingMs) return failed
  return { ...failed, enabled: false, disabledBecause: 'failing' }
}
