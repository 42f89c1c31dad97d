import type { CardEvent } from '../record/event.ts'
import type { Answer } from '../record/event-record.ts'

/** One delivery of an event, in the slot of the gate that answers it. */
export interface Delivery {
  readonly event: CardEvent
  readonly slot: string
  readonly receivedAtMs: number
  /** What the relay was already told, mostly by default; null while the answer is ours to give. */
  readonly said: Answer | null
}

export interface SaidDelivery extends Delivery {
  readonly said: Answer
}
