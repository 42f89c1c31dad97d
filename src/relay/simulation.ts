import type { Clock } from '../clock.ts'
import { type CardEvent, isAsk } from '../domain/record/event.ts'
import type { AmountMeaning, BelievedTransaction } from './belief.ts'
import type { RelayClient } from './client.ts'
import { createDeliveryTally, type DeliveryTally } from './delivery-tally.ts'
import { createPauses } from './pause.ts'
import { createSender } from './sender.ts'
import { createRandom, eventOf, merchantOf, planLifecycle, type Random } from './traffic.ts'

/** How badly deliveries are treated on their way; each is a share of all, from 0 to 1. */
export interface Disorder {
  /** Delivered a second time: at the same moment and perhaps to another instance, or some time later. */
  readonly duplicates: number
  /** Held back for up to `delayMs`; an advice is then overtaken by the next one. */
  readonly delays: number
  readonly delayMs: number
  /** The relay's clock is off by up to this much. */
  readonly clockSkewMs: number
}

export const noDisorder: Disorder = { duplicates: 0, delays: 0, delayMs: 0, clockSkewMs: 0 }

/** The disorder of `relay disorder` and of the demo. */
export const usualDisorder: Disorder = {
  duplicates: 0.2,
  delays: 0.2,
  delayMs: 1500,
  clockSkewMs: 5000,
}

export interface SimulationOptions {
  readonly client: RelayClient
  readonly clock: Clock
  readonly cardIds: readonly string[]
  /** The currency of a card's account; USD for all when it is left out. */
  readonly currencyOf?: (cardId: string) => string
  readonly seed: number
  /** New lifecycles a second, at random moments, whether or not answers come. */
  readonly ratePerSecond: number
  readonly durationMs: number
  /** Mean time between the events of a lifecycle. */
  readonly meanWaitMs: number
  readonly defaultDecision: 'approve' | 'decline'
  readonly meaning: AmountMeaning
  readonly disorder: Disorder
  /** Goes into all ids, so it must differ from that of every earlier run on the same store. */
  readonly runId: string
}

/** Traffic on its way, of whatever origin. */
export interface Traffic {
  readonly tally: DeliveryTally
  /** Resolves to what the network then believes. */
  run(): Promise<readonly BelievedTransaction[]>
  /** Starts no more lifecycles, and finishes the open ones without further waits. */
  stop(): void
}

/** At most so many lifecycles are open at once, which bounds the memory; the next waits for one to end. */
const maxOpen = 20_000

export function createSimulation(options: SimulationOptions): Traffic {
  const { client, clock, disorder, meaning, defaultDecision } = options
  const random = createRandom(options.seed)
  const tally = createDeliveryTally(clock)
  const sender = createSender({ client, tally, defaultDecision, meaning })
  const pauses = createPauses()
  const open = new Set<Promise<void>>()
  let stopped = false
  let failure: Error | null = null
  let counter = 0

  async function run(): Promise<readonly BelievedTransaction[]> {
    const startedMonoMs = clock.monoMs()
    let dueMs = 0
    for (;;) {
      // Open loop: the next arrival does not wait for an answer.
      dueMs += (-Math.log(1 - random.next()) / options.ratePerSecond) * 1000
      if (dueMs >= options.durationMs) break
      await pauses.sleep(startedMonoMs + dueMs - clock.monoMs())
      if (open.size >= maxOpen) await Promise.race(open)
      if (stopped) break
      start(live(counter++, createRandom(random.below(2 ** 32))))
    }
    while (open.size > 0) await Promise.all(open)
    if (failure !== null) throw failure
    return sender.transactions()
  }

  function start(work: Promise<void>): void {
    const tracked: Promise<void> = work.catch(fail).finally(() => open.delete(tracked))
    open.add(tracked)
  }

  /** A failed delivery stops all traffic, because the next would fail in the same way. */
  function fail(error: Error): void {
    failure ??= error
    stop()
  }

  function stop(): void {
    stopped = true
    pauses.end()
  }

  /** A lifecycle has a random source of its own, so that it is the same however others are timed. */
  async function live(number: number, random: Random): Promise<void> {
    const { events } = planLifecycle(random, options.meanWaitMs, meaning)
    const cardId = random.pick(options.cardIds)
    const merchant = merchantOf(random)
    const transactionId = `${options.runId}-t${number}`
    let approved = true
    for (const [i, planned] of events.entries()) {
      await pauses.sleep(planned.afterMs)
      if (planned.ifApproved && !approved) return
      const ids = {
        eventId: `${options.runId}-e${number}-${i}`,
        cardId,
        transactionId: planned.refunds ? `${transactionId}r` : transactionId,
        originalTransactionId: planned.refunds ? transactionId : '',
      }
      const currency = options.currencyOf?.(cardId) ?? 'USD'
      const occurredAtMs = clock.nowMs() + skewMs(random)
      const event = { ...eventOf(planned, ids, merchant, occurredAtMs), currency }
      if (isAsk(event)) approved = await sendAsk(event, random)
      else await sendAdvice(event, random)
    }
  }

  function skewMs(random: Random): number {
    return Math.round((random.next() - 0.5) * 2 * disorder.clockSkewMs)
  }

  /** Resolves to whether it was approved. */
  async function sendAsk(event: CardEvent, random: Random): Promise<boolean> {
    if (random.next() < disorder.delays) await pauses.sleep(random.next() * disorder.delayMs)
    const twice = random.next() < disorder.duplicates
    const atOnce = random.next() < 0.5
    const { accepted } = await sender.send(event, twice && atOnce ? 2 : 1)
    if (twice && !atOnce) start(repeatLater(event, random.next()))
    return accepted
  }

  async function sendAdvice(event: CardEvent, random: Random): Promise<void> {
    const again = random.next() < disorder.duplicates
    const delayed = random.next() < disorder.delays
    const delayMs = delayed ? random.next() * disorder.delayMs : 0
    const [atOnce, share] = [random.next() < 0.5, random.next()]
    const work = async () => {
      await pauses.sleep(delayMs)
      await Promise.all([sender.send(event, 1), again && atOnce ? sender.repeat(event) : null])
      if (again && !atOnce) start(repeatLater(event, share))
    }
    // A delayed advice is not awaited, so that the next one overtakes it.
    if (delayed) start(work())
    else await work()
  }

  async function repeatLater(event: CardEvent, share: number): Promise<void> {
    await pauses.sleep(share * disorder.delayMs)
    await sender.repeat(event)
  }

  return {
    tally,
    run,
    stop,
  }
}
