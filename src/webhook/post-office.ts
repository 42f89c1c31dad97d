import { setTimeout as sleep } from 'node:timers/promises'
import type { FollowedClock } from '../clock.ts'
import type { Aggregates } from '../engine/aggregates.ts'
import type { SecretBox } from '../management/secret-box.ts'
import type { Outgoing } from '../outgoing/call.ts'
import { failureText } from '../store/failure-text.ts'
import type { Store } from '../store/port.ts'
import { type Routine, startRoutine, waitAtMost } from '../timing.ts'
import { type Courier, createCourier } from './courier.ts'
import { createDispatcher, type Dispatcher } from './dispatcher.ts'
import type { Endpoint } from './endpoint.ts'
import { createEndpointDesk } from './endpoint-desk.ts'
import type { WebhookEvent } from './event.ts'
import { createEventRecorder, type EventRecorder } from './event-recorder.ts'
import { figuresOf, readPending, type WebhookFigures } from './pending.ts'
import { unlistOldEvents } from './retention.ts'
import { beatMs, type Share } from './share.ts'

/** Sends webhooks, as one of the instances that share a store. */
export interface PostOffice {
  readonly courier: Courier
  readonly recorder: EventRecorder
  readonly dispatcher: Dispatcher
  /** An event was committed: what of it is due is sent at once, if it is ours to send. */
  made(event: WebhookEvent): void
  /** The webhooks of an organization were changed: what is sent from now on goes by that. */
  changed(organizationId: string): void
  start(): void
  stop(): Promise<void>
}

export interface PostOfficeOptions {
  readonly store: Store
  readonly aggregates: Aggregates
  readonly box: SecretBox
  readonly clock: FollowedClock
  readonly outgoing: Outgoing
  readonly share: Share
  readonly retentionDays: number
  readonly onTrouble: (message: string) => void
  readonly onPending: (figures: WebhookFigures) => void
  readonly random?: () => number
  /** How long attempts are collected before all of them are written down. */
  readonly writingMs?: number
}

const lookMs = 500
const countMs = 15_000
const unlistMs = 600_000
/** What a kill loses of it is sent twice; the fewer commits, the less decisions wait for the disk. */
const defaultWritingMs = 100
/** Nobody waits longer for a store that is away when a server stops. */
const leaveMs = 500
const repeatedMs = 60_000

export function createPostOffice(options: PostOfficeOptions): PostOffice {
  const { store, aggregates, clock, share, outgoing, onTrouble } = options
  const writing = createGathering(options.writingMs ?? defaultWritingMs)
  const courier = createCourier({
    ...options,
    random: options.random ?? Math.random,
    untilWriting: writing.next,
  })
  let disabled = 0
  const desk = createEndpointDesk({
    store,
    aggregates,
    clock,
    onDisabled: (organizationId, { webhookId, disabledBecause }: Endpoint) => {
      disabled++
      const why = disabledBecause === 'gone' ? 'it answered 410' : 'it failed for 5 days'
      onTrouble(`webhook ${webhookId} of ${organizationId} is disabled: ${why}`)
    },
  })
  const dispatcher = createDispatcher({
    store,
    clock,
    courier,
    endpointOf: desk.find,
    endpointNow: desk.findNow,
    owns: share.owns,
    onResult: (organizationId, endpoint, result) => {
      desk.learn(organizationId, endpoint, result).catch(tell)
    },
    onTrouble: tell,
  })

  let toldLast = ''
  let toldMonoMs = 0
  /** A store that is away says the same for every look: once a minute is enough. */
  function tell(error: unknown): void {
    const message = `webhooks: ${failureText(error)}`
    if (message === toldLast && clock.monoMs() - toldMonoMs < repeatedMs) return
    toldLast = message
    toldMonoMs = clock.monoMs()
    onTrouble(message)
  }

  function made(event: WebhookEvent): void {
    const { organizationId, deliveries } = event
    courier.remember(event)
    for (const { webhookId, state } of deliveries) {
      if (state === 'pending') dispatcher.wake(organizationId, webhookId)
    }
  }

  const routines: Routine[] = []
  function begin(everyMs: number, work: () => Promise<unknown>): void {
    const routine = startRoutine(everyMs, () => work().catch(tell))
    routine.now()
    routines.push(routine)
  }

  return {
    courier,
    dispatcher,
    recorder: createEventRecorder({ ...options, onMade: made }),
    made,
    changed: desk.forget,
    start() {
      begin(beatMs, share.beat)
      begin(lookMs, dispatcher.look)
      begin(countMs, async () =>
        options.onPending(figuresOf(await readPending(store), disabled, clock.nowMs())),
      )
      begin(unlistMs, async () => {
        if (!share.owns('retention')) return
        await unlistOldEvents(store, aggregates, clock, options.retentionDays)
      })
    },
    async stop() {
      for (const { stop } of routines) stop()
      dispatcher.stop()
      outgoing.close()
      writing.end()
      await waitAtMost(leaveMs, Promise.all([share.leave().catch(() => {}), settled()]))
    },
  }

  async function settled(): Promise<void> {
    while (dispatcher.settling > 0) await sleep(5)
  }
}

/** Lets all that come within a time go on together. */
function createGathering(ms: number) {
  let next: Promise<void> | null = null
  let go: () => void = () => {}
  let isEnded = false
  return {
    next(): Promise<void> {
      if (isEnded || ms === 0) return Promise.resolve()
      next ??= new Promise<void>((resolve) => {
        const timer = setTimeout(() => go(), ms)
        go = () => {
          clearTimeout(timer)
          next = null
          resolve()
        }
      })
      return next
    },
    /** Nobody waits any more. */
    end(): void {
      isEnded = true
      go()
    },
  }
}
