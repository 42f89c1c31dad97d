import type { Clock } from '../clock.ts'
import type { Step } from '../domain/decide/answer.ts'
import type { SaidDelivery } from '../domain/decide/delivery.ts'
import { isAsk } from '../domain/record/event.ts'
import { type DeliveryItem, type HandedDelivery, newDeliveryItem, type Timing } from './item.ts'
import { createTable, type Table } from './memory/table.ts'
import type { EngineOptions } from './options.ts'
import { type Repetition, textOf } from './repetition.ts'

/** Deliveries that are not answered, or whose answer is not booked. */
export interface OpenDeliveries {
  readonly bySlot: Table<DeliveryItem>
  /** Booked again after failovers. */
  readonly repeated: number
  deliver(delivery: HandedDelivery): void
  say(delivery: HandedDelivery & SaidDelivery): void
  /** It is committed: now, and only now, the gate hears of it. */
  tell(item: DeliveryItem, timing: Timing): void
  /** What the relay was told of an aggregate before the store lost it. */
  toldAt(aggregate: string): DeliveryItem[]
}

export interface OpenDeliveriesOptions
  extends Pick<EngineOptions, 'onAnswer' | 'onBooked' | 'onDecided'> {
  readonly clock: Clock
  /** null where the store cannot lose what it acknowledged. */
  readonly repetition: Repetition | null
  readonly place: (item: DeliveryItem) => void
  readonly schedule: () => void
  readonly onStep: (item: DeliveryItem, step: Step) => void
  readonly isStoreAvailable: () => boolean
}

/** With so many open, an engine has caught up, or soon will: it has time for what was declined meanwhile. */
const fewOpen = 64

export function createOpenDeliveries(options: OpenDeliveriesOptions): OpenDeliveries {
  const { clock, repetition, schedule } = options
  const bySlot = createTable<DeliveryItem>()
  let repeated = 0

  function tell(item: DeliveryItem, timing: Timing): void {
    const { step, slot, saidInFlight } = item
    if (step === null) throw new Error('a delivery was finished without its step')
    bySlot.delete(slot)
    options.onStep(item, step)
    const decided = item.said === null && step.changes.length > 0 && isAsk(item.event)
    if (decided) options.onDecided?.(step)
    const { event, receivedAtMs } = item
    const answer = item.said ?? step.answer
    const told = repetition === null ? null : textOf({ event, slot, receivedAtMs, said: answer })
    if (told !== null) repetition?.onTold(slot, told)
    if (saidInFlight !== null) {
      // The gate spoke while the command was in flight: the ledger now follows what it said.
      submit({ event, slot, receivedAtMs, said: saidInFlight, mayStillCommit: false })
    } else if (item.said === null) {
      const { queueMs, decideMs, commitMs } = timing
      const { changes, matchedRules, shadowRules } = step
      // An event that is new ends by its record being made.
      const duplicate = changes.at(-1)?.type !== 'recorded'
      const origin = { queueMs, decideMs, commitMs, duplicate, matchedRules, shadowRules }
      options.onAnswer(slot, answer, origin, told)
    } else {
      options.onBooked(slot, told)
    }
  }

  function toldAt(aggregate: string): DeliveryItem[] {
    const items: DeliveryItem[] = []
    for (const told of repetition?.take(aggregate) ?? []) {
      // Under way again, or said otherwise meanwhile: that is the last word.
      if (bySlot.has(told.slot)) continue
      repeated++
      const item = newDeliveryItem({ ...told, mayStillCommit: false }, clock.monoMs())
      bySlot.set(told.slot, item)
      items.push(item)
    }
    return items
  }

  function submit(delivery: HandedDelivery): void {
    const item = newDeliveryItem(delivery, clock.monoMs())
    bySlot.set(item.slot, item)
    options.place(item)
  }

  function say(delivery: HandedDelivery & SaidDelivery): void {
    const { slot, said, mayStillCommit } = delivery
    const item = bySlot.get(slot)
    repetition?.forget(slot)
    if (item === undefined) {
      submit(delivery)
      return
    }
    if (item.state === 'flying') {
      // The ledger follows it after the commit.
      item.saidInFlight = said
      return
    }
    // It was never booked, unlike what is repeated after a loss, and it is in no command that can still be
    // executed: a decline of it has nothing to undo.
    const leavesNothing = item.said === null && !item.mayStillCommit && !mayStillCommit
    const isBehind = bySlot.size > fewOpen || !options.isStoreAvailable()
    if (said.code !== '000' && leavesNothing && isBehind) {
      item.state = 'withdrawn'
      bySlot.delete(slot)
      options.onBooked(slot, null)
      schedule()
    } else {
      item.said = said
      item.mayStillCommit ||= mayStillCommit
    }
  }

  return {
    bySlot,
    get repeated() {
      return repeated
    },
    deliver(delivery) {
      if (!bySlot.has(delivery.slot)) submit(delivery)
    },
    say,
    tell,
    toldAt,
  }
}
