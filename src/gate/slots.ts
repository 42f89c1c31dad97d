import { type CardEvent, contentHash, isAsk } from '../domain/record/event.ts'
import type { Answer, Cause } from '../domain/record/event-record.ts'
import type { Origin } from '../engine/item.ts'
import { createTable } from '../engine/memory/table.ts'
import { createDeclines } from './declines.ts'
import { type Backlog, createOverload, noBacklog } from './overload.ts'
import type { SendReply, Slot } from './slot.ts'
import { createWatchdog, type Watchdog, type WatchdogOptions } from './watchdog.ts'

export interface SlotsOptions extends Omit<WatchdogOptions, 'declines' | 'close'> {
  /** Unlike that of any gate before, so that a slot is never taken for another. */
  readonly incarnation: string
  /** Beyond this many open slots an event is answered by default at once. */
  readonly maxOpen: number
  /** With so much said and not booked yet no engine is given anything more. */
  readonly maxUnbooked?: number
  /** Why the engine cannot answer now; '' when it should be able to. */
  readonly trouble: () => Exclude<Cause, 'deadline' | 'overload' | 'damaged'> | ''
}

export interface Slots
  extends Pick<Watchdog, 'unbooked' | 'unheard' | 'damaged' | 'onBooked' | 'restore'> {
  /** How many are open. */
  readonly size: number
  /** The same in one cell, for threads that let decisions go first. */
  readonly shown: Int32Array<SharedArrayBuffer>
  /** Opens a slot for a delivery, unless another of the same event is open. */
  open(
    event: CardEvent,
    receivedAtMs: number,
    receivedMonoMs: number,
    reply: SendReply,
    backlog?: Backlog,
  ): void
  /** Whether that is what the relay was told, and the last word of the slot. */
  onAnswer(slot: string, answer: Answer, origin?: Origin | null): boolean
  /** The engine's memory would approve it, within the pack's stand-in policy. */
  onStandIn(slot: string): void
  /** The engine cannot decide it, and has let go of it, unless a command may still be on its way. */
  onSetAside(slot: string, mayStillCommit: boolean): void
  /** Answers by default what has passed its budget. */
  sweep(): void
  /** Another engine has started: it is told everything that is open or not yet booked. */
  onEngineStart(): void
  /** Resolves when every open slot has been answered. */
  drained(): Promise<void>
}

/** Somewhat more than the journal takes: beyond it are declines that an engine may have approved. */
const defaultMaxUnbooked = 100_000
const sweepEveryMs = 5

/** Further deliveries of the same event get a slot of their own. */
const maxJoined = 64

/**
 * Who may speak for a delivery: the engine after its commit, or the watchdog after its journal,
 * whichever is first. What the watchdog said is told to every engine until one has booked it.
 */
export function createSlots(options: SlotsOptions): Slots {
  const { clock, link, maxUnbooked = defaultMaxUnbooked } = options
  const byId = createTable<Slot>()
  const shown = new Int32Array(new SharedArrayBuffer(4))
  const byKey = createTable<Slot>()
  // By deadline. What was answered is let go at once: it would keep its whole request alive.
  let queue: (Slot | null)[] = []
  let head = 0
  const declines = createDeclines()
  const watchdog = createWatchdog({ ...options, declines, close })
  const isOverloaded = createOverload(options.budgetMs, options.maxOpen)
  let counter = 0
  let sweptMonoMs = 0
  let drainWaiters: (() => void)[] = []
  /** A new engine is told what was said, and until it has heard all of it nothing else is handed to it. */
  let isTelling = false

  function open(
    event: CardEvent,
    receivedAtMs: number,
    receivedMonoMs: number,
    reply: SendReply,
    backlog = noBacklog,
  ): void {
    const nowMonoMs = clock.monoMs()
    // A loop that is full of new requests still looks after the old ones.
    if (nowMonoMs - sweptMonoMs > sweepEveryMs) sweep()
    const key = `${event.cardId}\n${event.eventId}\n${contentHash(event)}`
    const live = byKey.get(key)
    if (live !== undefined && !live.taken && live.replies.length < maxJoined) {
      live.replies.push(reply)
      return
    }
    const id = `${options.incarnation}.${(counter++).toString(36)}`
    const declined = declines.find(key)
    if (declined !== undefined) {
      reply(declined, id, null)
      return
    }
    const slot: Slot = {
      id,
      key,
      event,
      receivedAtMs,
      deadlineMonoMs: receivedMonoMs + options.budgetMs,
      replies: [reply],
      handed: false,
      orphaned: false,
      taken: false,
      standIn: false,
    }
    byId.set(slot.id, slot)
    Atomics.store(shown, 0, byId.size)
    byKey.set(key, slot)
    const oldestDeadlineMonoMs = (oldestOpen() ?? slot).deadlineMonoMs
    const load = { open: byId.size, nowMonoMs, oldestDeadlineMonoMs, backlog }
    // Of a decline that no engine has seen nothing is kept, and what else is said is kept by the journal, or not said.
    const isBehind = watchdog.unbooked >= maxUnbooked
    if (isBehind || isOverloaded(slot.deadlineMonoMs, isAsk(event), load)) {
      watchdog.speak(slot, options.trouble() || 'overload')
      return
    }
    enqueue(slot)
    if (link.alive && !isTelling) hand(slot, false)
  }

  /** What has waited behind others, or for its body, is opened after younger ones, and due before them. */
  function enqueue(slot: Slot): void {
    let at = queue.length
    while (at > head && queue[at - 1]!.deadlineMonoMs > slot.deadlineMonoMs) at--
    queue.splice(at, 0, slot)
  }

  function sweep(): void {
    const nowMonoMs = clock.monoMs()
    sweptMonoMs = nowMonoMs
    for (let slot = oldestOpen(); slot !== null; slot = oldestOpen()) {
      if (slot.deadlineMonoMs > nowMonoMs) break
      watchdog.speak(slot, options.trouble() || 'deadline')
    }
    if (head > 1024 && head * 2 > queue.length) {
      queue = queue.slice(head)
      head = 0
    }
  }

  function oldestOpen(): Slot | null {
    for (; head < queue.length; head++) {
      const slot = queue[head]!
      if (!slot.taken) return slot
      queue[head] = null
    }
    return null
  }

  function hand(slot: Slot, mayStillCommit: boolean): void {
    slot.handed = true
    const { id, event, receivedAtMs } = slot
    link.deliver({ slot: id, event, receivedAtMs, said: null, mayStillCommit })
  }

  function handAll(): void {
    isTelling = false
    // An engine that died meanwhile has nothing of them; the next one is told of all.
    if (!link.alive) return
    for (let i = head; i < queue.length; i++) {
      const slot = queue[i]!
      if (!slot.taken) hand(slot, slot.handed)
    }
  }

  /** Whether anybody may have heard it. */
  function close(slot: Slot, answer: Answer | null, origin: Origin | null = null): boolean {
    byId.delete(slot.id)
    Atomics.store(shown, 0, byId.size)
    if (byKey.get(slot.key) === slot) byKey.delete(slot.key)
    let heard = false
    let from = origin
    for (const reply of slot.replies) {
      heard = reply(answer, slot.id, from) || heard
      // Further deliveries that joined this one are told its answer again.
      if (from !== null) from = { ...from, duplicate: true }
    }
    if (byId.size > 0) return heard
    const waiters = drainWaiters
    drainWaiters = []
    for (const waiter of waiters) waiter()
    return heard
  }

  function onAnswer(id: string, answer: Answer, origin: Origin | null = null): boolean {
    const slot = byId.get(id)
    if (slot === undefined || slot.taken) return false
    if (watchdog.overrule(slot, options.trouble() || 'deadline')) return false
    slot.taken = true
    return close(slot, answer, origin) || watchdog.wasUnheard(slot, answer)
  }

  return {
    shown,
    get size() {
      return byId.size
    },
    get unbooked() {
      return watchdog.unbooked
    },
    get unheard() {
      return watchdog.unheard
    },
    get damaged() {
      return watchdog.damaged
    },
    open,
    onAnswer,
    onBooked: watchdog.onBooked,
    restore: watchdog.restore,
    onStandIn(id) {
      const slot = byId.get(id)
      if (slot !== undefined) slot.standIn = true
    },
    onSetAside(id, mayStillCommit) {
      const slot = byId.get(id)
      if (slot === undefined || slot.taken) return
      // As if no engine had ever had it: then a decline leaves nothing to follow.
      slot.handed = mayStillCommit
      slot.orphaned ||= mayStillCommit
      slot.standIn = false
      watchdog.speak(slot, 'damaged')
    },
    sweep,
    onEngineStart() {
      // Those that are being spoken for are told when they are journaled.
      for (const slot of byId.values()) if (slot.handed) slot.orphaned = true
      isTelling = true
      watchdog.tellAll(handAll)
    },
    drained() {
      if (byId.size === 0) return Promise.resolve()
      return new Promise((resolve) => drainWaiters.push(resolve))
    },
  }
}
