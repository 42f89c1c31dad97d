import type { SaidDelivery } from '../domain/decide/delivery.ts'
import type { CardEvent } from '../domain/record/event.ts'
import type { Answer } from '../domain/record/event-record.ts'
import type { HandedDelivery, Origin } from '../engine/item.ts'
import type { JournalLine } from './journal/record.ts'

/** What the engine is asked, or told, about one slot. */
export interface EngineLink {
  /** False while no engine is there to take anything. */
  readonly alive: boolean
  deliver(delivery: HandedDelivery): void
  say(delivery: HandedDelivery & SaidDelivery): void
}

export interface SlotJournal {
  /** Resolves when the line is flushed, in so much time where it is said; a later line of the same slot replaces it. */
  append(line: JournalLine, withinMs?: number): Promise<void>
  /** The engine has booked it. */
  drop(slot: string): void
}

/**
 * Answers one request. A null answer is no decision: an advice that could not be journaled in time, or an ask
 * that the relay has approved by itself since and that could not be journaled either. The origin is null
 * unless the engine answered. False when the relay is surely not there any more to hear it.
 */
export type SendReply = (answer: Answer | null, slot: string, origin: Origin | null) => boolean

/** One delivery, and further ones of the same event that joined it, until its answer. */
export interface Slot {
  readonly id: string
  readonly key: string
  readonly event: CardEvent
  readonly receivedAtMs: number
  readonly deadlineMonoMs: number
  readonly replies: SendReply[]
  handed: boolean
  /** The engine that it was handed to is gone, and a command of it may still be on its way. */
  orphaned: boolean
  /** The first answer takes the slot. */
  taken: boolean
  /** Should the watchdog speak, it approves. */
  standIn: boolean
}
