import type { Clock } from '../clock.ts'
import type { SaidDelivery } from '../domain/decide/delivery.ts'
import { type CardEvent, contentHash, isAsk } from '../domain/record/event.ts'
import type { Answer, Cause } from '../domain/record/event-record.ts'
import { defaultCodes, type ResponseCode } from '../domain/record/response-code.ts'
import type { HandedDelivery } from '../engine/item.ts'
import { createTable } from '../engine/memory/table.ts'
import { createDeclines } from './declines.ts'
import type { JournalLine } from './journal/record.ts'

/** What the engine is asked, or told, about one slot. */
export interface EngineLink {
  /** False while no engine is there to take anything. */
  readonly alive: boolean
  deliver(delivery: HandedDelivery): void
  say(delivery: HandedDelivery & SaidDelivery): void
}

export interface SlotJournal {
  /** Resolves when the line is flushed; a later line of the same slot replaces it. */
  append(line: JournalLine): Promise<void>
  /** The engine has booked it. */
  drop(slot: string): void
}

/**
 * null is no decision: an advice that could not be journaled in time, or an ask that the relay has approved
 * by itself since and that could not be journaled either. False when the relay is surely not there any more
 * to hear it.
 */
export type Reply = (answer: Answer | null, slot: string) => boolean

/** What has been read and not been looked at. */
export interface Backlog {
  readonly waiting: number
  /** When the oldest of them was read; with none, never. */
  readonly sinceMonoMs: number
}

export const noBacklog: Backlog = { waiting: 0, sinceMonoMs: Number.POSITIVE_INFINITY }

export interface SlotsOptions {
  readonly clock: Clock
  readonly link: EngineLink
  readonly journal: SlotJournal
  /** Unlike that of any gate before, so that a slot is never taken for another. */
  readonly incarnation: string
  readonly budgetMs: number
  /** When an answer must go out, journaled or not. */
  readonly lastCallMs: number
  /** From then on the relay has done what the default decision says. */
  readonly contractMs: number
  readonly defaultDecision: 'approve' | 'decline'
  /** Beyond this many open slots an event is answered by default at once. */
  readonly maxOpen: number
  /** Lines that may wait for damaged accounts; beyond it approvals are not given, and advices refused. */
  readonly maxDamaged?: number
  /** Why the engine cannot answer now; '' when it should be able to. */
  readonly trouble: () => Exclude<Cause, 'deadline' | 'overload' | 'damaged'> | ''
  readonly rulesVersion: () => string
}

export interface Slots {
  readonly open: number
  /** Said and not yet booked. */
  readonly unbooked: number
  /** Answers of the engine that came too late, or that nobody was there to hear. */
  readonly unheard: number
  /** Of what is not yet booked, what was said because its account is damaged. */
  readonly damaged: number
  take(
    event: CardEvent,
    receivedAtMs: number,
    receivedMonoMs: number,
    reply: Reply,
    backlog?: Backlog,
  ): void
  /** Whether that is what the relay was told, and the last word of the slot. */
  onAnswer(slot: string, answer: Answer): boolean
  onBooked(slot: string): void
  /** The engine's memory would approve it, within the pack's stand-in policy. */
  onStandIn(slot: string): void
  /** The engine cannot decide it, and has let go of it, unless a command may still be on its way. */
  onSetAside(slot: string, mayStillCommit: boolean): void
  /** Answers by default what has passed its budget. */
  sweep(): void
  /** Another engine has started: it is told everything that is open or not yet booked. */
  onEngineStart(): void
  /** Lines of an earlier process that were never booked. */
  restore(lines: readonly JournalLine[]): void
  /** Resolves when every open slot has been answered. */
  drained(): Promise<void>
}

const sweepEveryMs = 5

/** About an eighth of what the journal keeps, so that the rest is there for an outage. */
const defaultMaxDamaged = 10_000

/** With fewer waiting than this, waiting for the engine is always worth it. */
const crowd = 256
/** The parts of the budget that the oldest has left when the first are turned away, and when all are. */
const firstTurnedAway = 0.8
const allTurnedAway = 0.5
/** With less of its own budget left, an event does not go to the engine any more. */
const tooLate = 0.2

/** Further deliveries of the same event get a slot of their own. */
const maxJoined = 64

interface Slot {
  readonly id: string
  readonly key: string
  readonly event: CardEvent
  readonly receivedAtMs: number
  readonly deadlineMonoMs: number
  readonly replies: Reply[]
  handed: boolean
  /** The engine that it was handed to is gone, and a command of it may still be on its way. */
  orphaned: boolean
  /** The first answer takes the slot. */
  taken: boolean
  /** Should the watchdog speak, it approves. */
  standIn: boolean
}

/**
 * Who may speak for a delivery: the engine after its commit, or the watchdog after its journal,
 * whichever is first. What the watchdog said is told to every engine until one has booked it.
 */
export function createSlots(options: SlotsOptions): Slots {
  const { clock, link, journal } = options
  const byId = createTable<Slot>()
  const byKey = createTable<Slot>()
  // All budgets are equal, so the order of arrival is the order of deadlines.
  // What was answered is let go at once: it would keep its whole request alive.
  let fifo: (Slot | null)[] = []
  let head = 0
  const unbooked = new Map<string, JournalLine>()
  const declines = createDeclines()
  const { maxDamaged = defaultMaxDamaged } = options
  let damaged = 0
  let counter = 0
  let unheard = 0
  // Grows by the part of the events to turn away; each whole is one of them.
  let turnedAway = 0
  let sweptMonoMs = 0
  let drainWaiters: (() => void)[] = []

  function take(
    event: CardEvent,
    receivedAtMs: number,
    receivedMonoMs: number,
    reply: Reply,
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
      reply(declined, id)
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
    byKey.set(key, slot)
    if (isOverloaded(slot, nowMonoMs, backlog)) {
      speak(slot, options.trouble() || 'overload')
      return
    }
    fifo.push(slot)
    if (link.alive) hand(slot, false)
  }

  /**
   * Answered, not queued: what comes too late for the engine is answered by default at once. In a crowd
   * some are turned away before, the more the longer the oldest waits: else all would get to the engine
   * just before it is too late, and few be answered by it. An advice is booked in any case.
   */
  function isOverloaded(slot: Slot, nowMonoMs: number, backlog: Backlog): boolean {
    if (byId.size > options.maxOpen) return true
    const leftMs = slot.deadlineMonoMs - nowMonoMs
    if (leftMs < options.budgetMs * tooLate) return true
    if (byId.size + backlog.waiting < crowd || !isAsk(slot.event)) return false
    const oldestLeftMs = (oldestOpen() ?? slot).deadlineMonoMs - nowMonoMs
    const backlogLeftMs = backlog.sinceMonoMs + options.budgetMs - nowMonoMs
    const left = Math.min(leftMs, oldestLeftMs, backlogLeftMs) / options.budgetMs
    const part = (firstTurnedAway - left) / (firstTurnedAway - allTurnedAway)
    turnedAway += Math.min(1, Math.max(0, part))
    if (turnedAway < 1) return false
    turnedAway--
    return true
  }

  function sweep(): void {
    const nowMonoMs = clock.monoMs()
    sweptMonoMs = nowMonoMs
    for (let slot = oldestOpen(); slot !== null; slot = oldestOpen()) {
      if (slot.deadlineMonoMs > nowMonoMs) break
      speak(slot, options.trouble() || 'deadline')
    }
    if (head > 1024 && head * 2 > fifo.length) {
      fifo = fifo.slice(head)
      head = 0
    }
  }

  function oldestOpen(): Slot | null {
    for (; head < fifo.length; head++) {
      const slot = fifo[head]!
      if (!slot.taken) return slot
      fifo[head] = null
    }
    return null
  }

  function hand(slot: Slot, mayStillCommit: boolean): void {
    slot.handed = true
    const { id, event, receivedAtMs } = slot
    link.deliver({ slot: id, event, receivedAtMs, said: null, mayStillCommit })
  }

  /** Whether anybody may have heard it. */
  function close(slot: Slot, answer: Answer | null): boolean {
    byId.delete(slot.id)
    if (byKey.get(slot.key) === slot) byKey.delete(slot.key)
    let heard = false
    for (const reply of slot.replies) heard = reply(answer, slot.id) || heard
    if (byId.size > 0) return heard
    const waiters = drainWaiters
    drainWaiters = []
    for (const waiter of waiters) waiter()
    return heard
  }

  function onAnswer(id: string, answer: Answer): boolean {
    const slot = byId.get(id)
    if (slot === undefined || slot.taken) return false
    if (isTooLate(slot)) {
      unheard++
      speak(slot, options.trouble() || 'deadline')
      return false
    }
    slot.taken = true
    if (close(slot, answer)) return true
    const line = lineOf(slot, answer)
    const followed = followDefault(line)
    if (followed === line) return true
    keepAndTell(slot, followed)
    return false
  }

  /** Nothing that is said from here on is heard in time: the relay has done what the default says. */
  function isTooLate(slot: Slot): boolean {
    return clock.monoMs() >= slot.deadlineMonoMs - options.budgetMs + options.contractMs
  }

  function lineOf({ id, event, receivedAtMs, handed }: Slot, said: Answer): JournalLine {
    return { slot: id, said, event, receivedAtMs, handed }
  }

  /** What nobody heard is not what holds at the relay: there the default does, and the ledger follows it. */
  function followDefault(line: JournalLine): JournalLine {
    const byDefault = defaultCodes[options.defaultDecision]
    const { said, event } = line
    if (!isAsk(event) || (said.code === '000') === (byDefault === '000')) return line
    unheard++
    const followed = { ...line, said: defaultAnswer(byDefault, said.cause || 'deadline') }
    // Not waited for: nobody is told. A crash before it is flushed leaves what a crash leaves.
    journal.append(followed).catch(() => {})
    return followed
  }

  /** The watchdog takes the slot: nobody else may answer it from here on. */
  function speak(slot: Slot, cause: Cause): void {
    slot.taken = true
    const approves = slot.standIn || !isAsk(slot.event) || options.defaultDecision === 'approve'
    const said = defaultAnswer(defaultCodes[approves ? 'approve' : 'decline'], cause)
    // A decline of what no engine ever saw leaves nothing to follow.
    if (!approves && !slot.handed) {
      declines.remember(slot.key, said)
      close(slot, said)
      return
    }
    void journalThenClose(slot, said)
  }

  async function journalThenClose(slot: Slot, said: Answer): Promise<void> {
    const line = lineOf(slot, said)
    const lastCallMonoMs = slot.deadlineMonoMs - options.budgetMs + options.lastCallMs
    const full = said.cause === 'damaged' && damaged >= maxDamaged
    if (full && isAsk(slot.event) && !slot.handed) {
      // An approval that nobody keeps is not given, and no engine has anything to follow.
      const declined = lineOf(slot, defaultAnswer(defaultCodes.decline, 'damaged'))
      if (!close(slot, declined.said)) keepAndTell(slot, followDefault(declined))
      return
    }
    const leftMs = lastCallMonoMs - clock.monoMs()
    // After a pause there is no hurry any more, and its line deserves the time of any other.
    const patienceMs = leftMs > 0 ? leftMs : options.lastCallMs - options.budgetMs
    const flushed = !full && (await within(journal.append(line), patienceMs))
    if (!flushed && !isAsk(slot.event)) {
      // Nobody is told anything, so a line that is flushed after all has nothing to follow.
      journal.drop(slot.id)
      close(slot, null)
      return
    }
    if (isTooLate(slot)) {
      const followed = followDefault(line)
      // The journal may have given up the first.
      if (!flushed && followed === line) journal.append(line).catch(() => {})
      // After a pause some relay may hear it in time after all: an approval that is not kept is not said.
      close(slot, flushed || followed.said.code !== '000' ? followed.said : null)
      keepAndTell(slot, followed)
      return
    }
    const spoken = flushed ? line : declineUnjournaled(line)
    keepAndTell(slot, close(slot, spoken.said) ? spoken : followDefault(spoken))
  }

  /**
   * An approval that a crash could forget is not given. The engine may hold what is now declined: a line
   * that comes late, and the journal may have given up the first, still has it undone.
   */
  function declineUnjournaled(line: JournalLine): JournalLine {
    const declined = {
      ...line,
      said: defaultAnswer(defaultCodes.decline, line.said.cause as Cause),
    }
    journal.append(declined).catch(() => {})
    return declined
  }

  function keep(line: JournalLine): void {
    const before = unbooked.get(line.slot)?.said.cause
    if (before === 'damaged') damaged--
    if (line.said.cause === 'damaged') damaged++
    unbooked.set(line.slot, line)
  }

  function keepAndTell(slot: Slot, line: JournalLine): void {
    keep(line)
    // An engine that had it only waiting leaves no record of it. Repeated, it could come too late to be
    // heard: that is no harm where the default is the same.
    const stays = line.said.code !== '000' && options.defaultDecision === 'decline'
    if (stays) declines.remember(slot.key, line.said)
    if (link.alive) tell(line, slot.orphaned)
  }

  function tell(line: JournalLine, mayStillCommit: boolean): void {
    link.say({ ...line, mayStillCommit })
  }

  function defaultAnswer(code: ResponseCode, cause: Cause): Answer {
    return {
      code,
      decidedBy: 'default',
      cause,
      ruleId: '',
      approvedAmountMinor: null,
      rulesVersion: options.rulesVersion(),
    }
  }

  return {
    get open() {
      return byId.size
    },
    get unbooked() {
      return unbooked.size
    },
    get unheard() {
      return unheard
    },
    get damaged() {
      return damaged
    },
    take,
    onAnswer,
    onBooked(id) {
      const line = unbooked.get(id)
      if (line === undefined) return
      unbooked.delete(id)
      if (line.said.cause === 'damaged') damaged--
      journal.drop(id)
    },
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
      speak(slot, 'damaged')
    },
    sweep,
    onEngineStart() {
      for (const line of unbooked.values()) tell(line, line.handed)
      for (let i = head; i < fifo.length; i++) {
        const slot = fifo[i]!
        if (!slot.taken) hand(slot, slot.handed)
      }
      // What is about to be said is told once it is journaled.
      for (const slot of byId.values()) if (slot.taken && slot.handed) slot.orphaned = true
    },
    restore(lines) {
      for (const line of lines) {
        const orphaned = { ...line, handed: true }
        keep(orphaned)
        if (link.alive) tell(orphaned, true)
      }
    },
    drained() {
      if (byId.size === 0) return Promise.resolve()
      return new Promise((resolve) => drainWaiters.push(resolve))
    },
  }
}

/** Whether a promise resolves in time; a rejection counts as not. */
function within(promise: Promise<void>, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), Math.max(0, ms))
    promise.then(
      () => {
        clearTimeout(timer)
        resolve(true)
      },
      () => {
        clearTimeout(timer)
        resolve(false)
      },
    )
  })
}
