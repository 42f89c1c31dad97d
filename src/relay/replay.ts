import type { Clock } from '../clock.ts'
import { type CardEvent, isAbsentId } from '../domain/record/event.ts'
import type { AmountMeaning } from './belief.ts'
import type { RelayClient } from './client.ts'
import { createDeliveryTally } from './delivery-tally.ts'
import { createPauses } from './pause.ts'
import type { Recorded } from './recording.ts'
import { createSender } from './sender.ts'
import type { Traffic } from './simulation.ts'

export interface ReplayOptions {
  readonly client: RelayClient
  readonly clock: Clock
  readonly recorded: AsyncIterable<Recorded>
  /** How much faster than it was recorded; Infinity for no pauses at all. */
  readonly speed: number
  readonly maxInFlight: number
  readonly defaultDecision: 'approve' | 'decline'
  readonly meaning: AmountMeaning
}

/** Sends recorded events in their order, at their pace; those of one transaction one after the other. */
export function createReplay(options: ReplayOptions): Traffic {
  const { client, clock, defaultDecision, meaning } = options
  const tally = createDeliveryTally(clock)
  const sender = createSender({ client, tally, defaultDecision, meaning })
  const pauses = createPauses()
  const inFlight = new Set<Promise<void>>()
  const lastOf = new Map<string, Promise<void>>()
  const seen = new Set<string>()
  let stopped = false
  let failure: Error | null = null

  function stop(): void {
    stopped = true
    pauses.end()
  }

  /** A failed delivery stops the replay, because the next would fail in the same way. */
  function fail(error: Error): void {
    failure ??= error
    stop()
  }

  /** An event that the recording has twice is sent as the retransmission that it was. */
  async function deliver(event: CardEvent, before: Promise<void> | undefined): Promise<void> {
    await before
    const key = `${event.cardId}\n${event.eventId}`
    if (seen.has(key)) return sender.repeat(event)
    seen.add(key)
    await sender.send(event, 1)
  }

  function start(event: CardEvent): void {
    const { cardId, transactionId, originalTransactionId } = event
    // An event that names an original waits for the original's events.
    const key = `${cardId}\n${isAbsentId(originalTransactionId) ? transactionId : originalTransactionId}`
    const work: Promise<void> = deliver(event, lastOf.get(key))
      .catch(fail)
      .finally(() => {
        inFlight.delete(work)
        if (lastOf.get(key) === work) lastOf.delete(key)
      })
    inFlight.add(work)
    lastOf.set(key, work)
  }

  return {
    tally,
    async run() {
      const startedMonoMs = clock.monoMs()
      let firstMs: number | null = null
      for await (const { atMs, event } of options.recorded) {
        firstMs ??= atMs
        const dueMs = (atMs - firstMs) / options.speed
        await pauses.sleep(startedMonoMs + dueMs - clock.monoMs())
        if (inFlight.size >= options.maxInFlight) await Promise.race(inFlight)
        if (stopped) break
        start(event)
      }
      await Promise.all(inFlight)
      if (failure !== null) throw failure
      return sender.transactions()
    },
    stop,
  }
}
