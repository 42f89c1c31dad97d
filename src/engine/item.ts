import type { Step } from '../domain/decide/answer.ts'
import type { Delivery } from '../domain/decide/delivery.ts'
import type { Operation } from '../domain/operation/operation.ts'
import type { OperationOutcome } from '../domain/operation/outcome.ts'
import type { Answer } from '../domain/record/event-record.ts'
import type { ChangeItem } from './change/account-change.ts'

/** Where the milliseconds of one answer went. */
export interface Timing {
  readonly queueMs: number
  readonly decideMs: number
  readonly commitMs: number
}

/** How an answer came about. */
export interface Origin extends Timing {
  /** The event was answered before, and this answer is that one. */
  readonly duplicate: boolean
  /** Ids of the rules that matched: enforced, and those that only record. */
  readonly matchedRules: readonly string[]
  readonly shadowRules: readonly string[]
}

/** A delivery as the gate hands it to an engine. */
export interface HandedDelivery extends Delivery {
  /** A command with it may still be executed: one without an outcome, or of an engine that died. */
  readonly mayStillCommit: boolean
}

/** A delivery on its way through the engine. */
export interface DeliveryItem extends HandedDelivery {
  readonly kind: 'delivery'
  said: Answer | null
  mayStillCommit: boolean
  /** Its event or transaction may be in the store: they are read, not guessed to be new. */
  mayExist: boolean
  readonly enqueuedMonoMs: number
  step: Step | null
  state: 'waiting' | 'flying' | 'withdrawn'
  /** What the gate said while the command was in flight. */
  saidInFlight: Answer | null
}

export function newDeliveryItem(
  { event, slot, receivedAtMs, said, mayStillCommit }: HandedDelivery,
  enqueuedMonoMs: number,
): DeliveryItem {
  return {
    kind: 'delivery',
    event,
    slot,
    receivedAtMs,
    said,
    mayStillCommit,
    mayExist: false,
    enqueuedMonoMs,
    step: null,
    state: 'waiting',
    saidInFlight: null,
  }
}

/** The sweeper's look at one transaction. */
export interface SweepItem {
  readonly kind: 'sweep'
  readonly cardId: string
  readonly transactionId: string
  /** The index entry that named it. */
  readonly sortKey: string
  readonly done: () => void
}

export interface OperationItem {
  readonly kind: 'operation'
  readonly operation: Operation
  readonly reason: string
  /** Who did it; '' for the command line. */
  readonly origin: string
  outcome: OperationOutcome
  readonly done: (outcome: OperationOutcome) => void
}

export type Item = DeliveryItem | SweepItem | OperationItem | ChangeItem

export function isWithdrawn(item: Item): boolean {
  return item.kind === 'delivery' && item.state === 'withdrawn'
}
