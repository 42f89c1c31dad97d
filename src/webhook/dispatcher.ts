import type { Clock } from '../clock.ts'
import { indexes } from '../engine/format/layout.ts'
import type { Store } from '../store/port.ts'
import { createAttemptPlaces } from './attempt-places.ts'
import { type Attempted, type Courier, type DueEntry, dueEntryOf } from './courier.ts'
import type { AttemptResult, Endpoint } from './endpoint.ts'
import { readDueSortKey } from './event.ts'

/** Sends what is due, each endpoint in a lane of its own. */
export interface Dispatcher {
  /** Attempts under way. */
  readonly flying: number
  /** Answered, and not yet written down. */
  readonly settling: number
  /** Looks for endpoints that have something due. */
  look(): Promise<void>
  /** Something was made for this endpoint just now. */
  wake(organizationId: string, webhookId: string): void
  stop(): void
}

export interface DispatcherOptions {
  readonly store: Store
  readonly clock: Clock
  readonly courier: Courier
  /** null when it is gone; as of a second ago at most. */
  readonly endpointOf: (organizationId: string, webhookId: string) => Promise<Endpoint | null>
  /** The same, as it is now. */
  readonly endpointNow: DispatcherOptions['endpointOf']
  /** Whether this instance sends for the endpoint; another does it otherwise. */
  readonly owns: (webhookId: string) => boolean
  readonly onResult: (organizationId: string, endpoint: Endpoint, result: AttemptResult) => void
  readonly onTrouble: (error: unknown) => void
  readonly maxLanes?: number
}

/** One endpoint that has something to be sent. */
interface Lane {
  readonly organizationId: string
  readonly webhookId: string
  readonly flying: Set<string>
  /** Answered, while what became of them is not yet written. */
  readonly settling: Set<string>
  /** Sort keys of what is not to be sent any more, and may stand there for good: damaged ones that nobody can take out. */
  readonly over: Set<string>
  /** Due, and read already. */
  queue: DueEntry[]
  /** In a row; null until the first attempt tells. */
  failures: number | null
  restUntilMonoMs: number
  isFilling: boolean
  isAsked: boolean
  /** All that was due is in the queue: until the next look, or until something is made, nobody reads again. */
  isDrained: boolean
}

const maxFlyingInLane = 8
const maxSettlingInLane = 64
/** Read at once of what is due for an endpoint that is well. */
const pageLength = 64
/** One at a time, and after a failure a pause: who is down is not flooded by all that waits for it. */
const firstRestMs = 250
const maxRestMs = 4_000
/** As long as a receiver asks for it, up to this: one wrong answer must not keep all its events back for long. */
const maxAskedRestMs = 60_000
/** Endpoints looked at in one look; the next goes on with those behind them. */
const lanesPerLook = 100
/** Lanes of endpoints that had nothing to do for a while are forgotten, and so is how they fared. */
const defaultMaxLanes = 10_000

export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { store, clock, courier, maxLanes = defaultMaxLanes } = options
  const lanes = new Map<string, Lane>()
  const places = createAttemptPlaces<Lane>()
  let settling = 0
  let position = ''
  let stopped = false

  function laneOf(organizationId: string, webhookId: string): Lane {
    let lane = lanes.get(webhookId)
    if (lane === undefined) {
      const idle = { restUntilMonoMs: 0, isFilling: false, isAsked: false, isDrained: false }
      const sent = { flying: new Set<string>(), settling: new Set<string>() }
      const over = new Set<string>()
      lane = { organizationId, webhookId, ...sent, over, queue: [], failures: null, ...idle }
      forgetIdle()
      lanes.set(webhookId, lane)
    }
    return lane
  }

  function forgetIdle(): void {
    for (const [webhookId, lane] of lanes) {
      if (lanes.size < maxLanes) return
      // Beside one that waits for a place another would send the same.
      const isIdle = isAtRest(lane) && !lane.isFilling && !places.isWaiting(lane)
      if (isIdle) lanes.delete(webhookId)
    }
  }

  const isAtRest = ({ flying, settling }: Lane) => flying.size + settling.size === 0

  const isFailing = ({ failures }: Lane) => (failures ?? 0) > 0

  function roomIn(lane: Lane): number {
    const { flying, settling } = lane
    const room = places.roomFor(lane, isFailing(lane))
    if (lane.failures !== 0) return Math.min(1 - flying.size - settling.size, room)
    return Math.min(maxFlyingInLane - flying.size, maxSettlingInLane - settling.size, room)
  }

  async function fill(lane: Lane): Promise<void> {
    if (lane.isFilling || stopped) {
      lane.isAsked = true
      return
    }
    lane.isFilling = true
    try {
      do {
        lane.isAsked = false
        if (await fillOnce(lane)) places.wait(lane, isFailing(lane))
        else places.waitNoMore(lane)
      } while (lane.isAsked && !stopped)
    } catch (error) {
      places.waitNoMore(lane)
      options.onTrouble(error)
    } finally {
      lane.isFilling = false
    }
  }

  /** Whether it has no place, and must wait for one. */
  async function fillOnce(lane: Lane): Promise<boolean> {
    if (!options.owns(lane.webhookId) || clock.monoMs() < lane.restUntilMonoMs) {
      // Another may send it by then, or its time may be another.
      drop(lane)
      return false
    }
    const { organizationId, webhookId } = lane
    const endpoint = await options.endpointOf(organizationId, webhookId)
    // What it did before this process tells what to expect.
    if (lane.failures === null && endpoint?.failingSinceMs) lane.failures = 1
    const room = roomIn(lane)
    if (room <= 0) {
      if (lane.failures !== 0) drop(lane)
      return isAtRest(lane)
    }
    if (endpoint === null || !endpoint.enabled) {
      drop(lane)
      await giveUpWaiting(lane)
      return false
    }
    if (lane.queue.length === 0) {
      if (lane.isDrained) return false
      // Said before the read: what is made meanwhile takes it back.
      lane.isDrained = true
      const nowMs = clock.nowMs()
      const count = lane.failures === 0 ? pageLength : room
      const waiting = await readWaiting(lane, count)
      lane.queue = waiting.filter(({ dueMs }) => dueMs <= nowMs)
      if (lane.queue.length >= count) lane.isDrained = false
    }
    const ready = lane.queue.splice(0, Math.max(0, Math.min(room, roomIn(lane))))
    for (const entry of ready) void attempt(lane, entry, endpoint)
    return lane.queue.length > 0 && isAtRest(lane)
  }

  /** Its endpoint is asked for after that was read: it may have been made, or enabled, just now. */
  async function giveUpWaiting(lane: Lane): Promise<void> {
    const waiting = await readWaiting(lane, pageLength)
    if (waiting.length === 0) return
    lane.isAsked = true
    const endpoint = await options.endpointNow(lane.organizationId, lane.webhookId)
    if (endpoint?.enabled) return
    await Promise.all(waiting.map(courier.giveUp))
    for (const { sortKey } of waiting) lane.over.add(sortKey)
  }

  /** What was read is read again before it is sent. */
  function drop(lane: Lane): void {
    lane.queue = []
    lane.isDrained = false
  }

  /** What waits for the endpoint, the soonest first, but for what is under way. */
  async function readWaiting(lane: Lane, count: number): Promise<DueEntry[]> {
    const prefix = `${lane.organizationId}\n${lane.webhookId}\n`
    const passed = lane.flying.size + lane.settling.size + lane.over.size
    const found = await store.range(indexes.deliveries, prefix, passed + count)
    const there = new Set(found.map(({ sortKey }) => sortKey))
    for (const sortKey of lane.over) if (!there.has(sortKey)) lane.over.delete(sortKey)
    return found
      .filter(({ sortKey }) => sortKey.startsWith(prefix) && !lane.over.has(sortKey))
      .map(dueEntryOf)
      .filter(({ eventId }) => !lane.flying.has(eventId) && !lane.settling.has(eventId))
  }

  async function attempt(lane: Lane, entry: DueEntry, endpoint: Endpoint): Promise<void> {
    const leave = places.take(isFailing(lane))
    lane.flying.add(entry.eventId)
    try {
      const attempted = await courier.deliver(entry, endpoint)
      if (attempted === null) lane.over.add(entry.sortKey)
      else {
        learn(lane, endpoint, attempted)
        void settle(lane, entry, attempted)
      }
    } catch (error) {
      rest(lane)
      options.onTrouble(error)
    } finally {
      lane.flying.delete(entry.eventId)
      leave()
      for (const next of [...places.next(), lane]) void fill(next)
    }
  }

  async function settle(lane: Lane, { eventId }: DueEntry, { written }: Attempted): Promise<void> {
    lane.settling.add(eventId)
    settling++
    try {
      await written
    } catch (error) {
      rest(lane)
      options.onTrouble(error)
    } finally {
      lane.settling.delete(eventId)
      settling--
      void fill(lane)
    }
  }

  function learn(lane: Lane, endpoint: Endpoint, { result, retryAfterMs }: Attempted): void {
    options.onResult(lane.organizationId, endpoint, result)
    if (result.succeeded) lane.failures = 0
    else rest(lane, retryAfterMs)
  }

  function rest(lane: Lane, askedMs = 0): void {
    lane.failures = (lane.failures ?? 0) + 1
    const ownMs = Math.min(maxRestMs, firstRestMs * 2 ** Math.min(lane.failures - 1, 10))
    const restMs = Math.max(ownMs, Math.min(askedMs, maxAskedRestMs))
    lane.restUntilMonoMs = Math.max(lane.restUntilMonoMs, clock.monoMs() + restMs)
  }

  function fillAnew(organizationId: string, webhookId: string): void {
    const lane = laneOf(organizationId, webhookId)
    lane.isDrained = false
    void fill(lane)
  }

  /** Nothing is sent to it any more, so what waits for it ends now, and not when it would be due. */
  async function isOver(organizationId: string, webhookId: string): Promise<boolean> {
    const endpoint = await options.endpointOf(organizationId, webhookId).catch(() => undefined)
    return endpoint !== undefined && !endpoint?.enabled
  }

  return {
    get flying() {
      return places.taken
    },
    get settling() {
      return settling
    },
    /** From endpoint to endpoint: one that has much to be sent is one step, like the others. */
    async look() {
      const nowMs = clock.nowMs()
      for (let i = 0; i < lanesPerLook && !stopped; i++) {
        const [first] = await store.range(indexes.deliveries, position, 1)
        if (first === undefined) {
          position = ''
          return
        }
        const { organizationId, webhookId, dueMs } = readDueSortKey(first.sortKey)
        // The sign after the line break: behind all entries of this endpoint, before those of the next.
        const behind = `${organizationId}\n${webhookId}\u000b`
        // One whose bytes no text stands for comes again after any text: there is nothing behind it.
        if (behind === position) {
          position = ''
          return
        }
        position = behind
        if (!options.owns(webhookId)) continue
        if (dueMs <= nowMs || (await isOver(organizationId, webhookId))) {
          fillAnew(organizationId, webhookId)
        }
      }
    },
    wake(organizationId, webhookId) {
      if (options.owns(webhookId)) fillAnew(organizationId, webhookId)
    },
    stop() {
      stopped = true
    },
  }
}
