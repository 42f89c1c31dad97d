import { systemClock } from '../../src/clock.ts'
import type { Pack } from '../../src/domain/decide/pack.ts'
import type { CardEvent } from '../../src/domain/record/event.ts'
import type { Answer } from '../../src/domain/record/event-record.ts'
import { createEngine, type Engine } from '../../src/engine/engine.ts'
import { importRows } from '../../src/engine/import.ts'
import type { HandedDelivery } from '../../src/engine/item.ts'
import type { EngineOptions } from '../../src/engine/options.ts'
import type { Store } from '../../src/store/port.ts'
import { eventOf } from './event-generator.ts'
import { defaultSwitches, packOf } from './world.ts'

let nonces = 0

export interface TestEngine extends Engine {
  readonly answers: Map<string, Answer>
  readonly booked: Set<string>
  /** Delivers in a slot of its own and resolves to the answer. */
  ask(event: Partial<CardEvent> & { eventId: string }): Promise<Answer>
}

export function startEngine(store: Store, options: Partial<EngineOptions> = {}): TestEngine {
  const answers = new Map<string, Answer>()
  const booked = new Set<string>()
  const waiting = new Map<string, (answer: Answer) => void>()
  let slots = 0
  const nonce = `n${nonces++}`
  const engine = createEngine({
    store,
    clock: systemClock,
    pack: testPack,
    nonce,
    cacheCards: 10_000,
    onAnswer(slot, answer) {
      answers.set(slot, answer)
      waiting.get(slot)?.(answer)
    },
    onBooked: (slot) => booked.add(slot),
    ...options,
  })
  return {
    ...engine,
    answers,
    booked,
    ask(event) {
      const slot = `${nonce}/${slots++}`
      return new Promise((resolve) => {
        waiting.set(slot, resolve)
        engine.deliver(handed(testEvent(event), slot))
      })
    },
  }
}

/** A delivery whose answer is the engine's to give. */
export function handed(event: CardEvent, slot: string, receivedAtMs = Date.now()) {
  return { event, slot, receivedAtMs, said: null, mayStillCommit: false } satisfies HandedDelivery
}

export const testPack: Pack = packOf(defaultSwitches)

export function testEvent(given: Partial<CardEvent> & { eventId: string }): CardEvent {
  return {
    ...eventOf({ requestType: 'Authorization', cardId: 'card-0', ...given }),
    transactionId: given.transactionId ?? given.eventId,
    occurredAtMs: 0,
  }
}

/** Opens cards card-0, card-1, … each with an account of its own. */
export async function openCards(engine: Engine, count: number, balance = '1000.00'): Promise<void> {
  const rows = Array.from({ length: count }, (_, i) => ({
    cardId: `card-${i}`,
    customerId: 'customer',
    accountId: `account-${i}`,
    type: 'retail',
    currency: 'USD',
    country: 'US',
    balance,
  }))
  const result = await importRows(rows, engine)
  if (result.problems.length > 0) throw new Error(JSON.stringify(result.problems))
}
