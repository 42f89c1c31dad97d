import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../clock.ts'
import { acceptedSocketOf, type Standing } from '../http/connections.ts'
import type { LoopWatch } from './loop-watch.ts'
import { type Backlog, noBacklog } from './overload.ts'

/** A request, and the earliest moment at which it can have arrived. */
export interface PacedRequest extends IncomingMessage {
  arrivedMonoMs: number
}

type Handle = (request: IncomingMessage, response: ServerResponse) => void

export interface Pace extends Backlog {
  readonly receive: Handle
  /** A connection was accepted. */
  accept(socket: Socket): void
}

/** Who sent a request; without one, all are the relay. */
interface Crowd {
  standingOf(request: IncomingMessage): Standing
  /** Nobody will handle this stranger's request any more. */
  turnAway(request: IncomingMessage): void
}

interface Waiting {
  readonly request: PacedRequest
  readonly response: ServerResponse
}

/** New requests may keep a turn of the loop busy for this long. */
const sliceMs = 3
const maxStepsPerTurn = 64
/** What has waited this long will not be answered before the relay gives it up. */
const staleMs = 300
/** New connections whose first request waits, and refused ones: the longest wait ends for another. */
const maxStrangers = 1_024
/** What those that were refused before may have of a turn. */
const maxRefusedPerTurn = 8
/** While the relay's requests wait, one in so many is a stranger's: a new connection of the relay is one. */
const strangersShare = 8
/** A first request that is read this soon after its connection was accepted may have come with it. */
const firstRequestMs = 1_000

const noStrangers: Crowd = { standingOf: () => 'proven', turnAway: () => {} }

/** Since when a connection may have waited to be accepted, and when it was. */
interface Late {
  readonly sinceMonoMs: number
  readonly acceptedMonoMs: number
}

/**
 * Handles requests as they come, but only for a few milliseconds in a turn of the loop; the rest waits for
 * the turns that follow. A thousand requests that are ready at once would otherwise be one turn, in which
 * no answer of the engine is passed on, no deadline is seen, no flush of the journal is noticed, and a
 * single new connection is accepted: libuv takes one a turn. The time of all of them runs from the start of
 * the turn in which they were read, or from the start of the gap before it in which the process stood.
 *
 * New connections come after the relay, the newest first: when they are more than can be answered, one
 * that has just come is still answered in time. Whoever was refused before comes last, a few in a turn.
 */
export function createPace(
  clock: Clock,
  watch: LoopWatch,
  handle: Handle,
  crowd = noStrangers,
): Pace {
  let turnMonoMs = 0
  /** What is read in this turn has waited since then at most. */
  let sinceMonoMs = 0
  const late = new WeakMap<Socket, Late>()
  let planned = false
  let sliceMonoMs = 0
  // What has left is let go at once, also while there is always somebody waiting.
  let waiting: (Waiting | null)[] = []
  let head = 0
  const stale: Waiting[] = []
  const strangers = { new: [] as Waiting[], refused: [] as Waiting[] }
  let steps = 0
  let refusedInTurn = 0

  function receive(incoming: IncomingMessage, response: ServerResponse): void {
    const request = incoming as PacedRequest
    startTurn()
    request.arrivedMonoMs = Math.min(sinceMonoMs, connectedMonoMs(request.socket))
    const standing = crowd.standingOf(request)
    const first = head === waiting.length && (standing === 'proven' || strangersWaiting() === 0)
    if (first && clock.monoMs() - turnMonoMs < sliceMs) handle(request, response)
    else if (standing === 'proven') waiting.push({ request, response })
    else if (strangers[standing].push({ request, response }) > maxStrangers) {
      crowd.turnAway(strangers[standing].shift()!.request)
    }
  }

  function strangersWaiting(): number {
    return strangers.new.length + strangers.refused.length
  }

  function nextStranger(): Waiting | undefined {
    const fresh = strangers.new.pop()
    if (fresh !== undefined || refusedInTurn === maxRefusedPerTurn) return fresh
    refusedInTurn++
    return strangers.refused.pop()
  }

  function startTurn(): void {
    if (turnMonoMs !== 0) return
    turnMonoMs = clock.monoMs()
    sinceMonoMs = watch.readSinceMonoMs()
    setImmediate(endTurn)
  }

  function accept(socket: Socket): void {
    const sinceMonoMs = watch.acceptedSinceMonoMs()
    if (sinceMonoMs !== null) late.set(socket, { sinceMonoMs, acceptedMonoMs: clock.monoMs() })
  }

  /** Of the first request of a connection that waited to be accepted; of all others, never. */
  function connectedMonoMs(socket: Socket): number {
    const accepted = acceptedSocketOf(socket)
    const waited = late.get(accepted)
    if (waited === undefined) return Number.POSITIVE_INFINITY
    late.delete(accepted)
    const together = turnMonoMs - waited.acceptedMonoMs < firstRequestMs
    return together ? waited.sinceMonoMs : Number.POSITIVE_INFINITY
  }

  function endTurn(): void {
    turnMonoMs = 0
    if (!planned) planSlice()
  }

  /** One step a request, and not one loop over all: what a request leaves for later runs between them. */
  function planSlice(): void {
    const ready = waiting.length - head + stale.length + strangersWaiting()
    planned = ready > 0
    sliceMonoMs = 0
    refusedInTurn = 0
    if (!planned) return
    for (let i = Math.min(ready, maxStepsPerTurn); i > 0; i--) setImmediate(step)
    setImmediate(planSlice)
  }

  function step(): void {
    const nowMonoMs = clock.monoMs()
    if (sliceMonoMs === 0) sliceMonoMs = nowMonoMs
    if (nowMonoMs - sliceMonoMs >= sliceMs) return
    const strangersTurn = steps++ % strangersShare === 0
    const chosen = (strangersTurn && nextStranger()) || next(nowMonoMs)
    if (chosen !== undefined) handle(chosen.request, chosen.response)
  }

  /**
   * In order; but what is too late anyway comes last. When more arrive than can be answered, all would
   * otherwise be late, and not only those that are too many.
   */
  function next(nowMonoMs: number): Waiting | undefined {
    for (;;) {
      const first = leave()
      if (first === null) return stale.pop() ?? nextStranger()
      if (nowMonoMs - first.request.arrivedMonoMs <= staleMs) return first
      stale.push(first)
    }
  }

  /** The first of those that wait, or null. */
  function leave(): Waiting | null {
    const first = waiting[head] ?? null
    if (first === null) return null
    waiting[head++] = null
    if (head > 1024 || head === waiting.length) {
      waiting = waiting.slice(head)
      head = 0
    }
    return first
  }

  return {
    receive,
    accept,
    get waiting() {
      return waiting.length - head
    },
    get sinceMonoMs() {
      return waiting[head]?.request.arrivedMonoMs ?? noBacklog.sinceMonoMs
    },
  }
}
