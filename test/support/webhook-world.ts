import { randomBytes } from 'node:crypto'
import type { FollowedClock } from '../../src/clock.ts'
import { type Aggregates, createAggregates } from '../../src/engine/aggregates.ts'
import { webhooksAggregate } from '../../src/engine/format/layout.ts'
import { createSecretBox } from '../../src/management/secret-box.ts'
import type { Outgoing, OutgoingAnswer, OutgoingCall } from '../../src/outgoing/call.ts'
import { type Store, StoreError } from '../../src/store/port.ts'
import {
  changedEndpoint,
  type Endpoint,
  endpointsIn,
  newEndpoint,
  newSecret,
  readEndpoints,
  rotatedEndpoint,
  writeOfEndpoints,
} from '../../src/webhook/endpoint.ts'
import { createPostOffice, type PostOffice } from '../../src/webhook/post-office.ts'
import { createShare, type Share, wholeShare } from '../../src/webhook/share.ts'
import { createMemoryState, createMemoryStore } from './memory-store.ts'

export const startMs = Date.UTC(2026, 10, 15, 10)

/** What a receiver answers; it may take its time. */
export type Receiver = (call: OutgoingCall) => Promise<OutgoingAnswer> | OutgoingAnswer

export const answered = (status: number, retryAfter = ''): OutgoingAnswer => ({
  status,
  retryAfter,
  etag: '',
  body: '',
  isCut: false,
  ms: 1,
})
const refusedConnection: OutgoingAnswer = {
  fault: 'unreachable',
  detail: 'ECONNREFUSED',
  ms: 1,
}

/** One process that sends, which can be killed: nothing it does afterwards is seen by anybody. */
export interface Instance {
  readonly name: string
  readonly office: PostOffice
  readonly share: Share
  readonly aggregates: Aggregates
  readonly store: Store
  kill(): void
}

/** Instances that send webhooks from one store in memory, at a time that the test sets. */
export function openWebhooks(given?: Store) {
  const time = { ms: startMs }
  const clock: FollowedClock = {
    nowMs: () => time.ms,
    monoMs: () => time.ms,
    isDoubted: () => false,
  }
  const state = createMemoryState()
  const box = createSecretBox([randomBytes(32)])
  const receivers = new Map<string, Receiver>()
  const calls: { readonly atMs: number; readonly by: string; readonly call: OutgoingCall }[] = []
  const troubles: string[] = []
  const instances: Instance[] = []
  let versions = 0

  function startInstance(name: string, isAlone = false): Instance {
    let isAlive = true
    const memory = given ?? createMemoryStore(state, { nowMs: clock.nowMs })
    const refuse = () => Promise.reject(new StoreError('killed', 'unknown'))
    const store: Store = {
      ...memory,
      commit: (commands) => (isAlive ? memory.commit(commands) : refuse()),
      load: (keys) => (isAlive ? memory.load(keys) : refuse()),
      range: (index, after, limit) => (isAlive ? memory.range(index, after, limit) : refuse()),
    }
    const aggregates = createAggregates({ store, newVersion: () => `${name}.${versions++}` })
    let open = 0
    const outgoing: Outgoing = {
      get open() {
        return open
      },
      async call(call) {
        if (!isAlive) return new Promise(() => {})
        open++
        calls.push({ atMs: time.ms, by: name, call })
        const receiver = receivers.get(call.url)
        const answer = await (receiver?.(call) ?? refusedConnection)
        open--
        return isAlive ? answer : new Promise(() => {})
      },
      close() {},
    }
    const share = isAlone ? wholeShare : createShare(aggregates, clock, name)
    const office = createPostOffice({
      store,
      aggregates,
      box,
      clock,
      outgoing,
      share,
      retentionDays: 30,
      onTrouble: (message) => isAlive && troubles.push(message),
      onPending: () => {},
      random: () => 0.5,
      writingMs: 0,
    })
    const instance: Instance = {
      name,
      office,
      share,
      aggregates,
      store,
      kill() {
        isAlive = false
        aggregates.stop()
        office.dispatcher.stop()
      },
    }
    instances.push(instance)
    return instance
  }

  const first = startInstance('a', true)

  async function addEndpoint(url: string, events = ['*'], organizationId = 'org-1') {
    const webhookId = `whk_${url.replace(/[^a-z0-9]/g, '')}`
    const secret = newSecret()
    const endpoint = newEndpoint(webhookId, { url, events, description: '' }, secret, box, time.ms)
    await change(organizationId, (all) => [...all, endpoint])
    return { webhookId, secret }
  }

  function change(
    organizationId: string,
    next: (endpoints: readonly Endpoint[]) => readonly Endpoint[],
  ): Promise<void> {
    return first.aggregates.change({
      aggregate: webhooksAggregate(organizationId),
      decide: (view) => ({ result: undefined, write: writeOfEndpoints(next(endpointsIn(view))) }),
    })
  }

  const setEndpoint = (webhookId: string, given: Parameters<typeof changedEndpoint>[1]) =>
    change('org-1', (all) =>
      all.map((one) => (one.webhookId === webhookId ? changedEndpoint(one, given, time.ms) : one)),
    )

  const removeEndpoint = (webhookId: string) =>
    change('org-1', (all) => all.filter((one) => one.webhookId !== webhookId))

  const rotate = (webhookId: string, secret: string) =>
    change('org-1', (all) =>
      all.map((one) =>
        one.webhookId === webhookId ? rotatedEndpoint(one, secret, box, time.ms) : one,
      ),
    )

  async function endpoint(webhookId: string, organizationId = 'org-1'): Promise<Endpoint> {
    const all = await readEndpoints(first.store, organizationId)
    return all.find((one) => one.webhookId === webhookId)!
  }

  /** Lets an instance send until nothing of it is due; what hangs is left hanging. */
  async function settle(office: PostOffice = first.office, hanging = 0): Promise<void> {
    for (let quiet = 0; quiet < 3; ) {
      const before = calls.length
      await office.dispatcher.look().catch(() => {})
      for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve))
      const isQuiet = calls.length === before && office.dispatcher.flying <= hanging
      quiet = isQuiet ? quiet + 1 : 0
    }
  }

  return {
    ...first,
    time,
    clock,
    state,
    box,
    receivers,
    calls,
    troubles,
    instances,
    startInstance,
    addEndpoint,
    setEndpoint,
    removeEndpoint,
    rotate,
    endpoint,
    settle,
  }
}
