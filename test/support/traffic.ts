import { setTimeout as sleep } from 'node:timers/promises'
import { requestTypes } from '../../src/domain/record/event.ts'
import type { Delivery, Relay, RelayEvent } from './relay.ts'

export interface LoadOptions {
  readonly relay: Relay
  readonly seed: number
  readonly cards: readonly string[]
  readonly ratePerSecond: number
}

export interface Load {
  /** Sends nothing more and waits for what is in flight. */
  stop(): Promise<void>
}

const tickMs = 10
const maxRemembered = 200

let loads = 0

/**
 * Card traffic at a steady rate, whatever comes back: asks, what follows on approved ones, advices
 * without an ask, and repetitions, some of them while the first delivery is still on its way.
 */
export function startLoad({ relay, seed, cards, ratePerSecond }: LoadOptions): Load {
  const random = createRandom(seed)
  const prefix = `s${seed}-${loads++}`
  const approved: RelayEvent[] = []
  const sent: RelayEvent[] = []
  let counter = 0
  let owed = 0
  let lastMonoMs = performance.now()

  function fresh(requestType: RelayEvent['requestType'], final: boolean | null = null): RelayEvent {
    const number = counter++
    return {
      eventId: `${prefix}-e${number}`,
      requestType,
      transactionId: `${prefix}-t${number}`,
      cardId: pick(cards),
      amountMinor: 1 + Math.floor(random() * 5_000),
      final,
    }
  }

  function following(requestType: RelayEvent['requestType'], part: number): RelayEvent {
    const final = requestType === 'Settlement' && random() < 0.5 ? random() < 0.5 : null
    const event = fresh(requestType, final)
    if (approved.length === 0) return event
    const { cardId, transactionId, amountMinor } = pick(approved)
    return { ...event, cardId, transactionId, amountMinor: Math.ceil(amountMinor * part) }
  }

  function pick<T>(list: readonly T[]): T {
    return list[Math.floor(random() * list.length)]!
  }

  function next(): RelayEvent {
    const dice = random()
    if (dice < 0.4) return fresh('Authorization')
    if (dice < 0.47) return fresh('PreAuthorization')
    if (dice < 0.52) return fresh('CashWithdrawal')
    if (dice < 0.56) return following('Authorization', 0.1)
    if (dice < 0.74) return following('Settlement', random() + 0.2)
    if (dice < 0.79) return following('Reversal', 1)
    if (dice < 0.84) return following('PartialReversal', random())
    if (dice < 0.89) return fresh('Settlement')
    if (dice < 0.95 || sent.length === 0) return fresh('Refund')
    return pick(sent)
  }

  function deliver(event: RelayEvent): void {
    remember(sent, event)
    void relay.deliver(event).then(({ decision }) => {
      const isAsk = requestTypes[event.requestType] === 'ask'
      if (isAsk && decision === 'approve') remember(approved, event)
    })
  }

  function remember(list: RelayEvent[], event: RelayEvent): void {
    if (list.length < maxRemembered) list.push(event)
    else list[Math.floor(random() * maxRemembered)] = event
  }

  const timer = setInterval(() => {
    const nowMonoMs = performance.now()
    // A late tick does not become a burst: it would measure this process, not the server.
    owed = Math.min(owed + ((nowMonoMs - lastMonoMs) / 1000) * ratePerSecond, 10)
    lastMonoMs = nowMonoMs
    for (; owed >= 1; owed--) {
      const event = next()
      deliver(event)
      if (random() < 0.03) deliver(event)
    }
  }, tickMs)

  return {
    async stop() {
      clearInterval(timer)
      while (relay.inFlight > 0) await sleep(5)
    },
  }
}

/** Small and repeatable (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export function slowestMs(deliveries: readonly Delivery[]): number {
  return deliveries.reduce((slowest, { ms }) => Math.max(slowest, ms), 0)
}

/** How many answers there were of each kind, for a line of output. */
export function countAnswers(deliveries: readonly Delivery[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { status, decision, decidedBy, cause } of deliveries) {
    const name = status === 200 ? [decidedBy, decision, cause].join(' ').trim() : `http ${status}`
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}
