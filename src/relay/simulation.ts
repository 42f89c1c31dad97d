import type { Clock } from '../clock.ts'
import { type CardEvent, isAsk } from '../domain/event.ts'
import { parseMinor } from '../domain/money.ts'
import type { BelievedTransaction, Told } from './belief.ts'
import type { Answered, RelayClient } from './client.ts'
import { createTally, type Tally } from './tally.ts'
import {
  createRandom,
  eventOf,
  type Lifecycle,
  merchantOf,
  type Planned,
  planLifecycle,
  type Random,
} from './traffic.ts'

/** How badly deliveries are treated on their way; each is a share of all, from 0 to 1. */
export interface Disorder {
  /** Delivered a second time, at the same moment and perhaps to another instance. */
  readonly duplicates: number
  /** Held back for up to `delayMs`, so that later events overtake it. */
  readonly delays: number
  readonly delayMs: number
  /** The relay's clock is off by up to this much. */
  readonly clockSkewMs: number
}

export const noDisorder: Disorder = { duplicates: 0, delays: 0, delayMs: 0, clockSkewMs: 0 }

export interface SimulationOptions {
  readonly client: RelayClient
  readonly clock: Clock
  readonly cardIds: readonly string[]
  readonly seed: number
  /** New lifecycles a second, at random moments, whether or not answers come. */
  readonly ratePerSecond: number
  readonly durationMs: number
  /** Mean time between the events of a lifecycle. */
  readonly meanWaitMs: number
  readonly defaultDecision: 'approve' | 'decline'
  readonly disorder: Disorder
  /** Unlike that of any run before on the same store. */
  readonly runId: string
}

export interface SimulationResult {
  readonly transactions: readonly BelievedTransaction[]
  readonly tally: Tally
}

/** An advice that is not acknowledged is sent again, as networks do, but not for ever. */
const maxAdviceTries = 200
const adviceRetryMs = 100

export interface Simulation {
  readonly tally: Tally
  run(): Promise<SimulationResult>
  /** No new lifecycles; those that run are finished. */
  stop(): void
}

export function createSimulation(options: SimulationOptions): Simulation {
  const { client, clock, disorder } = options
  const random = createRandom(options.seed)
  const transactions = new Map<string, BelievedTransaction>()
  const tally = createTally()
  const reversals: Promise<void>[] = []
  let stopped = false
  let counter = 0

  async function run(): Promise<SimulationResult> {
    const startedMonoMs = clock.monoMs()
    const running: Promise<void>[] = []
    let dueMs = 0
    while (!stopped && dueMs < options.durationMs) {
      // Open loop: the next arrival does not wait for an answer.
      dueMs += (-Math.log(1 - random.next()) / options.ratePerSecond) * 1000
      await sleep(startedMonoMs + dueMs - clock.monoMs())
      running.push(live(planLifecycle(random, options.meanWaitMs)))
    }
    await Promise.all(running)
    await Promise.all(reversals)
    return { transactions: [...transactions.values()], tally }
  }

  async function live({ events }: Lifecycle): Promise<void> {
    const number = counter++
    const cardId = random.pick(options.cardIds)
    const merchant = merchantOf(random)
    const transactionId = `${options.runId}-t${number}`
    let approved = true
    for (const [i, planned] of events.entries()) {
      await sleep(planned.afterMs)
      if (planned.ifApproved && !approved) return
      const ids = {
        eventId: `${options.runId}-e${number}-${i}`,
        cardId,
        transactionId: planned.refunds ? `${transactionId}r` : transactionId,
        originalTransactionId: planned.refunds ? transactionId : '',
      }
      const event = eventOf(planned, ids, merchant, clock.nowMs() + skew(random))
      const told = await send(event)
      believe(event, told)
      if (isAsk(event)) approved = told.accepted
    }
  }

  function skew(from: Random): number {
    return Math.round((from.next() - 0.5) * 2 * disorder.clockSkewMs)
  }

  function believe(event: CardEvent, told: Told): void {
    const { cardId, transactionId, originalTransactionId } = event
    const key = `${cardId}\n${transactionId}`
    const known = transactions.get(key)
    if (known !== undefined) known.told.push(told)
    else {
      transactions.set(key, { cardId, transactionId, originalTransactionId, told: [told] })
    }
  }

  async function send(event: CardEvent): Promise<Told> {
    if (random.next() < disorder.delays) await sleep(random.next() * disorder.delayMs)
    const twice = random.next() < disorder.duplicates
    const [told, other] = await Promise.all([deliver(event), twice ? deliver(event) : null])
    // Two deliveries, two answers: the network has what any of them approved.
    return other?.accepted && !told.accepted ? other : told
  }

  function deliver(event: CardEvent): Promise<Told> {
    return isAsk(event) ? deliverAsk(event) : deliverAdvice(event)
  }

  async function deliverAsk(event: CardEvent): Promise<Told> {
    const { answer, late } = await client.deliver(event)
    tally.delivered(event, answer)
    const read = readAnswer(event, answer)
    if (read !== null) return told(event, read.approved, read.approvedMinor, false, read.code)
    const approves = options.defaultDecision === 'approve'
    if (!approves) reversals.push(reverseLateApproval(event, late))
    return told(event, approves, event.amountMinor ?? 0, true, '')
  }

  /** We gave up and said no; an approval that comes now must not stay held. */
  async function reverseLateApproval(
    event: CardEvent,
    late: Promise<Answered | null>,
  ): Promise<void> {
    const read = readAnswer(event, await late)
    if (read === null || !read.approved) return
    tally.lateApproval()
    const planned: Planned = {
      afterMs: 0,
      requestType: 'PartialReversal',
      amountMinor: event.amountMinor,
      final: null,
      ifApproved: false,
      refunds: false,
    }
    const reversal = { ...event, ...planned, eventId: `${event.eventId}-late` }
    const { requestType, amountMinor } = planned
    const sent = { ...reversal, requestType, amountMinor } as CardEvent
    believeReversal(await deliverAdvice(sent), event)
  }

  /** The pair cancels out: the late approval is believed with its reversal. */
  function believeReversal(reversal: Told, event: CardEvent): void {
    const key = `${event.cardId}\n${event.transactionId}`
    const known = transactions.get(key)
    const at = known?.told.findIndex(({ eventId }) => eventId === event.eventId) ?? -1
    if (known === undefined || at < 0) return
    known.told[at] = { ...known.told[at]!, accepted: true }
    known.told.push(reversal)
  }

  async function deliverAdvice(event: CardEvent): Promise<Told> {
    for (let tries = 0; tries < maxAdviceTries; tries++) {
      const { answer } = await client.deliver(event)
      tally.delivered(event, answer)
      const read = readAnswer(event, answer)
      if (read?.approved) return told(event, true, event.amountMinor ?? 0, tries > 0, read.code)
      await sleep(adviceRetryMs)
    }
    return told(event, false, 0, true, '')
  }

  return {
    tally,
    run,
    stop() {
      stopped = true
    },
  }
}

function told(
  event: CardEvent,
  accepted: boolean,
  approvedMinor: number,
  unanswered: boolean,
  code: string,
): Told {
  const { eventId, requestType, final } = event
  const amountMinor = event.amountMinor ?? 0
  return { eventId, requestType, amountMinor, final, accepted, approvedMinor, unanswered, code }
}

interface ReadAnswer {
  readonly approved: boolean
  readonly approvedMinor: number
  readonly code: string
}

/** null for what is no decision: nothing came, or a 5xx. */
export function readAnswer(event: CardEvent, answered: Answered | null): ReadAnswer | null {
  if (answered === null || answered.status >= 500) return null
  try {
    const { decision, responseCode, approvedAmount } = JSON.parse(answered.text)
    const asked = event.amountMinor ?? 0
    const partial =
      approvedAmount === undefined ? asked : parseMinor(String(approvedAmount), event.currency)
    const approvedMinor = typeof partial === 'number' ? partial : asked
    return { approved: decision === 'approve', approvedMinor, code: String(responseCode) }
  } catch {
    return null
  }
}

function sleep(ms: number): Promise<void> {
  return ms <= 0 ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve, ms))
}
