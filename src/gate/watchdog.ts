import type { Clock } from '../clock.ts'
import { type CardEvent, isAsk } from '../domain/record/event.ts'
import type { Answer, Cause } from '../domain/record/event-record.ts'
import { defaultCodes, type ResponseCode } from '../domain/record/response-code.ts'
import type { Declines } from './declines.ts'
import type { JournalLine } from './journal/record.ts'
import type { EngineLink, Slot, SlotJournal } from './slot.ts'

export interface WatchdogOptions {
  readonly clock: Clock
  readonly link: EngineLink
  readonly journal: SlotJournal
  readonly declines: Declines
  readonly budgetMs: number
  /** When an answer must go out, journaled or not. */
  readonly lastCallMs: number
  /** From then on the relay has done what the default decision says. */
  readonly contractMs: number
  /** Each organization may have one of its own. */
  readonly defaultDecisionOf: (event: CardEvent) => 'approve' | 'decline'
  /** Lines that may wait for damaged accounts; beyond it approvals are not given, and advices refused. */
  readonly maxDamaged?: number
  readonly rulesVersion: () => string
  /** Ends the slot with this answer; whether anybody may have heard it. */
  readonly close: (slot: Slot, answer: Answer | null) => boolean
}

/** Speaks for the engine, and sees to it that the ledger follows what was said. */
export interface Watchdog {
  /** Said and not yet booked. */
  readonly unbooked: number
  /** Of them, what was said because its account is damaged. */
  readonly damaged: number
  /** Answers of the engine that came too late, or that nobody was there to hear. */
  readonly unheard: number
  /** Answers by default: nobody else may answer this slot from here on. */
  speak(slot: Slot, cause: Cause): void
  /** The same when the engine's answer comes too late to be heard; false when it does not. */
  overrule(slot: Slot, cause: Cause): boolean
  /** Nobody heard this answer of the engine. Whether the ledger may stay as it is. */
  wasUnheard(slot: Slot, answer: Answer): boolean
  onBooked(slot: string): void
  /** Tells a new engine everything that is not yet booked, and calls back when that is done. */
  tellAll(onTold: () => void): void
  /** Lines of an earlier process that were never booked. */
  restore(lines: readonly JournalLine[]): void
}

/** About an eighth of what the journal keeps, so that the rest is there for an outage. */
const defaultMaxDamaged = 10_000
/** How often an approval that comes too late anyway is offered to the journal. */
const lateTries = 5
/** Of a full journal in one turn of the loop: all of it takes longer than an answer may. */
const toldAtOnce = 500

export function createWatchdog(options: WatchdogOptions): Watchdog {
  const { clock, link, journal, declines, close, maxDamaged = defaultMaxDamaged } = options
  const flushMs = options.lastCallMs - options.budgetMs
  const unbooked = new Map<string, JournalLine>()
  let damaged = 0
  let unheard = 0
  let tellings = 0

  /** Nothing that is said from here on is heard in time: the relay has done what the default says. */
  function isTooLate(slot: Slot): boolean {
    return clock.monoMs() >= slot.deadlineMonoMs - options.budgetMs + options.contractMs
  }

  function lineOf({ id, event, receivedAtMs, handed }: Slot, said: Answer): JournalLine {
    return { slot: id, said, event, receivedAtMs, handed }
  }

  /** What nobody heard is not what holds at the relay: there the default does, and the ledger follows it. */
  function followDefault(line: JournalLine): JournalLine {
    const { said, event } = line
    const byDefault = defaultCodes[options.defaultDecisionOf(event)]
    // Of an ask of which a part was approved the default approves all.
    const isPart = said.approvedAmountMinor !== null
    const isSame = (said.code === '000') === (byDefault === '000') && !isPart
    if (!isAsk(event) || isSame) return line
    unheard++
    const followed = { ...line, said: defaultAnswer(byDefault, said.cause || 'deadline') }
    // Not waited for: nobody is told. A crash before it is flushed leaves what a crash leaves.
    journal.append(followed).catch(() => {})
    return followed
  }

  /** The watchdog takes the slot: nobody else may answer it from here on. */
  function speak(slot: Slot, cause: Cause): void {
    slot.taken = true
    const { event, standIn } = slot
    const approves = standIn || !isAsk(event) || options.defaultDecisionOf(event) === 'approve'
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
    const full = said.cause === 'damaged' && damaged >= maxDamaged
    if (full && isAsk(slot.event) && !slot.handed) {
      declineUnseen(slot, declinedLine(line))
      return
    }
    const leftMs = slot.deadlineMonoMs - options.budgetMs + options.lastCallMs - clock.monoMs()
    const waitMs = leftMs > 0 ? leftMs : flushMs
    // What is spoken for before its deadline has more time than the journal gives by itself.
    const flushed = !full && (await within(journal.append(line, waitMs), waitMs))
    if (!flushed && !isAsk(slot.event)) {
      // Nobody is told anything, so a line that is flushed after all has nothing to follow.
      journal.drop(slot.id)
      close(slot, null)
    } else if (isTooLate(slot)) {
      await sayTooLate(slot, line, flushed)
    } else if (!flushed && !slot.handed) {
      const declined = declinedLine(line)
      // A line that comes late is followed by one that says what was said, and then neither is needed; nor is the
      // first where the second is not written.
      const forget = () => journal.drop(slot.id)
      if (declineUnseen(slot, declined)) journal.append(declined).then(forget, forget)
    } else {
      const spoken = flushed ? line : declineUnjournaled(line)
      keepAndTell(slot, close(slot, spoken.said) ? spoken : followDefault(spoken))
    }
  }

  /**
   * The relay has done what the default says, so nothing else may be said, and there is no hurry any more.
   * After a pause some relay may hear it in time after all: an approval that is not kept is not said.
   */
  async function sayTooLate(slot: Slot, line: JournalLine, flushed: boolean): Promise<void> {
    const followed = followDefault(line)
    const approves = followed.said.code === '000'
    let kept = flushed && followed === line
    for (let tries = 0; approves && !kept && tries < lateTries; tries++) {
      kept = await within(journal.append(followed), flushMs)
    }
    // The journal may have given up the first.
    if (!kept && followed === line) journal.append(line).catch(() => {})
    close(slot, kept || !approves ? followed.said : null)
    keepAndTell(slot, followed)
  }

  function declinedLine(line: JournalLine): JournalLine {
    return { ...line, said: defaultAnswer(defaultCodes.decline, line.said.cause as Cause) }
  }

  /**
   * An approval that a crash could forget is not given. The engine may hold what is now declined: a line
   * that comes late, and the journal may have given up the first, still has it undone.
   */
  function declineUnjournaled(line: JournalLine): JournalLine {
    const declined = declinedLine(line)
    journal.append(declined).catch(() => {})
    return declined
  }

  /** The same where no engine has anything to follow, so nothing is kept. Whether anybody may have heard it. */
  function declineUnseen(slot: Slot, declined: JournalLine): boolean {
    const heard = close(slot, declined.said)
    if (!heard) keepAndTell(slot, followDefault(declined))
    return heard
  }

  function keep(line: JournalLine): void {
    if (line.said.cause === 'damaged') damaged++
    unbooked.set(line.slot, line)
  }

  function keepAndTell(slot: Slot, line: JournalLine): void {
    keep(line)
    // An engine that had it only waiting may leave no record of it. Repeated, it could come too late to be
    // heard: that is no harm where the default is the same.
    const stays = line.said.code !== '000' && options.defaultDecisionOf(slot.event) === 'decline'
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
    get unbooked() {
      return unbooked.size
    },
    get damaged() {
      return damaged
    },
    get unheard() {
      return unheard
    },
    speak,
    overrule(slot, cause) {
      if (!isTooLate(slot)) return false
      unheard++
      speak(slot, cause)
      return true
    },
    wasUnheard(slot, answer) {
      const line = lineOf(slot, answer)
      const followed = followDefault(line)
      if (followed === line) return true
      keepAndTell(slot, followed)
      return false
    },
    onBooked(id) {
      const line = unbooked.get(id)
      if (line === undefined) return
      unbooked.delete(id)
      if (line.said.cause === 'damaged') damaged--
      journal.drop(id)
    },
    tellAll(onTold) {
      const telling = ++tellings
      const ids = [...unbooked.keys()]
      const tellFrom = (at: number) => {
        // Yet another engine has started: it is told all of it.
        if (telling !== tellings) return
        for (const id of ids.slice(at, at + toldAtOnce)) {
          const line = unbooked.get(id)
          if (line !== undefined) tell(line, line.handed)
        }
        if (at + toldAtOnce >= ids.length) onTold()
        else setImmediate(tellFrom, at + toldAtOnce)
      }
      tellFrom(0)
    },
    restore(lines) {
      for (const line of lines) {
        const orphaned = { ...line, handed: true }
        keep(orphaned)
        if (link.alive) tell(orphaned, true)
      }
    },
  }
}

/**
 * Whether a promise resolves in time; a rejection counts as not. After a loop that stood timers come first,
 * so that what was done meanwhile gets a turn to be noticed.
 */
function within(promise: Promise<void>, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => setImmediate(resolve, false), Math.max(0, ms))
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
