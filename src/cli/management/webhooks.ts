import type { Command } from 'commander'
import { dayMs, systemClock } from '../../clock.ts'
import { webhooksAggregate } from '../../engine/format/layout.ts'
import { unlessUnreadable } from '../../engine/format/row-codec.ts'
import { newId } from '../../management/id.ts'
import { readOrganization, readOrganizationIds } from '../../management/organization.ts'
import { createAddressPolicy } from '../../outgoing/address.ts'
import { createOutgoing, urlProblem } from '../../outgoing/call.ts'
import { createResolver } from '../../outgoing/name.ts'
import { createCourier } from '../../webhook/courier.ts'
import {
  decodeEndpoints,
  type Endpoint,
  endpointsIn,
  endpointsKey,
  maxEndpoints,
  newEndpoint,
  newSecret,
  writeOfEndpoints,
} from '../../webhook/endpoint.ts'
import { findEvent } from '../../webhook/event-listing.ts'
import { eventChoices } from '../../webhook/event-type.ts'
import { readPending } from '../../webhook/pending.ts'
import { replayEvent, replaySpan } from '../../webhook/replay.ts'
import { readId, readSince } from '../argument.ts'
import { inSession, type Session } from '../session.ts'
import {
  type ExitCode,
  print,
  printJson,
  printText,
  sayRefused,
  sayUnreadable,
} from '../terminal.ts'

const help = `
Examples:
  $ arbiter webhooks add --organization org-1 --url https://backoffice.example.com/hooks --event 'kyc.*'
  $ arbiter webhooks list
  $ arbiter webhooks test whk_01JCQ7Z8M4T0V5XK3N9R2B6DYE
  $ arbiter webhooks replay whk_01JCQ7Z8M4T0V5XK3N9R2B6DYE --since 2h`

interface Added {
  readonly organization: string
  readonly url: string
  readonly event: readonly string[]
  readonly description: string
}

interface Replayed {
  readonly eventId?: string
  readonly since?: number
  readonly until?: number
}

export function addWebhooks(program: Command): void {
  const webhooks = program
    .command('webhooks')
    .description('Make and try the webhooks of organizations.')
    .addHelpText('after', help)
  webhooks
    .command('list')
    .description('Show all, one JSON a line, without their secrets.')
    .addHelpText('after', help)
    .action(() => inSession(list))
  webhooks
    .command('add')
    .description('Make one, and show its secret once.')
    .requiredOption('--organization <id>', 'whose it is', readId)
    .requiredOption('--url <address>', 'where events are sent')
    .requiredOption('--event <type>', 'a type, a family as kyc.*, or *', several)
    .option('--description <text>', 'for people', '')
    .addHelpText('after', help)
    .action((given: Added) => inSession((session) => add(given, session)))
  webhooks
    .command('test')
    .description('Send ping now, and show what was answered.')
    .argument('<webhook>', 'its id')
    .addHelpText('after', help)
    .action((id: string) => inSession((session) => sendPing(id, session)))
  const time = (text: string) => readSince(text, systemClock.nowMs())
  webhooks
    .command('replay')
    .description('Send events again: one, or those of a stretch of time.')
    .argument('<webhook>', 'its id')
    .option('--event-id <id>', 'one event')
    .option('--since <time>', 'from then on: a time, or a duration as 2h', time)
    .option('--until <time>', 'up to then; now when it is left out', time)
    .addHelpText('after', help)
    .action((id: string, given: Replayed) => inSession((session) => replay(id, given, session)))
}

function several(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text]
}

interface OwnedEndpoint {
  readonly organizationId: string
  readonly endpoint: Endpoint
}

interface FoundEndpoints {
  readonly owned: readonly OwnedEndpoint[]
  /** Ids of organizations whose webhooks cannot be read. */
  readonly unreadable: readonly string[]
}

async function allEndpoints({ store }: Session): Promise<FoundEndpoints> {
  const ids = await readOrganizationIds(store)
  const roots = await store.load(ids.map(endpointsKey))
  const owned: OwnedEndpoint[] = []
  const unreadable: string[] = []
  for (const [i, organizationId] of ids.entries()) {
    const endpoints = unlessUnreadable(() => decodeEndpoints(roots[i]?.value))
    if (endpoints === null) unreadable.push(organizationId)
    else owned.push(...endpoints.map((endpoint) => ({ organizationId, endpoint })))
  }
  return { owned, unreadable }
}

async function list(session: Session): Promise<ExitCode> {
  const { owned, unreadable } = await allEndpoints(session)
  for (const { organizationId, endpoint } of owned) {
    const { webhookId, secrets, ...rest } = endpoint
    const { pending } = await readPending(session.store, `${organizationId}\n${webhookId}\n`)
    await printJson({ webhookId, organizationId, ...rest, secrets: secrets.length, pending })
  }
  return sayUnreadable('the record of the webhooks of organization', unreadable)
}

async function add(given: Added, session: Session): Promise<ExitCode> {
  const { store, aggregates, clock, config } = session
  const organization = await readOrganization(store, given.organization)
  if (organization === null) return sayRefused(`there is no organization ${given.organization}`)
  const unknown = given.event.find((choice) => !eventChoices.includes(choice))
  if (unknown !== undefined) return sayRefused(`there is no event ${unknown}`)
  const networks = config.api?.webhookNetworks ?? []
  const problem = urlProblem(
    given.url,
    config.sandbox,
    createAddressPolicy(networks, config.sandbox),
  )
  if (problem !== '') return sayRefused(`${given.url}: ${problem}`)
  const nowMs = clock.nowMs()
  const secret = newSecret()
  const { url, event: events, description } = given
  const webhookId = newId('whk', nowMs)
  const settings = { url, events, description }
  const endpoint = newEndpoint(webhookId, settings, secret, session.secretBox(), nowMs)
  const isFull = await aggregates.change({
    aggregate: webhooksAggregate(given.organization),
    decide(view) {
      const all = endpointsIn(view)
      // By a commit that was not answered.
      if (all.some((one) => one.webhookId === webhookId)) return { result: false, write: {} }
      if (all.length >= maxEndpoints) return { result: true, write: {} }
      return { result: false, write: writeOfEndpoints([...all, endpoint]) }
    },
  })
  if (isFull) return sayRefused(`there are ${maxEndpoints} webhooks, the most`)
  // Printed as it is: what masks card numbers would change a secret that has many digits.
  await print(JSON.stringify({ webhookId, secret, note: 'the secret is not shown again' }))
  return 0
}

async function find(id: string, session: Session): Promise<OwnedEndpoint | null> {
  const { owned, unreadable } = await allEndpoints(session)
  const found = owned.find(({ endpoint }) => endpoint.webhookId === id)
  if (found !== undefined) return found
  sayUnreadable('the record of the webhooks of organization', unreadable)
  return null
}

async function sendPing(id: string, session: Session): Promise<ExitCode> {
  const { store, aggregates, clock, config } = session
  const found = await find(id, session)
  if (found === null) return sayRefused(`there is no webhook ${id}`)
  const networks = config.api?.webhookNetworks ?? []
  const outgoing = createOutgoing({
    clock,
    allows: createAddressPolicy(networks, config.sandbox),
    allowsPlain: config.sandbox,
    resolve: createResolver(clock),
    proxy: config.outgoingProxy,
    maxCalls: 1,
  })
  const box = session.secretBox()
  const untilWriting = () => Promise.resolve()
  const sending = { outgoing, random: Math.random, untilWriting }
  const courier = createCourier({ store, aggregates, box, clock, ...sending })
  const { succeeded, status, ms, detail } = await courier.ping(found.organizationId, found.endpoint)
  outgoing.close()
  const httpStatus = status === 0 ? null : status
  await printJson({ delivered: succeeded, httpStatus, milliseconds: ms, detail })
  return succeeded ? 0 : 1
}

async function replay(id: string, given: Replayed, session: Session): Promise<ExitCode> {
  const { store, aggregates, clock } = session
  const nowMs = clock.nowMs()
  const time = { nowMs, sinceMs: nowMs }
  const found = await find(id, session)
  if (found === null) return sayRefused(`there is no webhook ${id}`)
  const { organizationId, endpoint } = found
  if (!endpoint.enabled) {
    const way = `PATCH /webhooks/${id} with {"enabled":true} of the management API`
    return sayRefused(`webhook ${id} is disabled, and is sent nothing: ${way} enables it`)
  }
  if ((given.eventId === undefined) === (given.since === undefined)) {
    return sayRefused('give --event-id, or --since')
  }
  if (given.eventId !== undefined) {
    const event = await findEvent(store, organizationId, given.eventId)
    if (event === null) return sayRefused(`there is no event ${given.eventId}`)
    await replayEvent(aggregates, event.place, id, time)
    await printText('1 event is sent again')
    return 0
  }
  const { since: fromMs = 0, until: beforeMs = nowMs + dayMs } = given
  const to = { organizationId, webhookId: id }
  const span = { fromMs, beforeMs }
  const count = await replaySpan(store, aggregates, to, span, () => true, time, Infinity)
  await printText(`${count} events are sent again`)
  return 0
}
