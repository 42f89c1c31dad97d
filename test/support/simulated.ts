import { join } from 'node:path'
import { finderIn } from '../../src/cli/relay/audit.ts'
import { systemClock } from '../../src/clock.ts'
import { isAsk } from '../../src/domain/record/event.ts'
import { type ReadAnswer, readAnswer } from '../../src/relay/answer.ts'
import { type Audit, audit } from '../../src/relay/audit.ts'
import {
  type AmountMeaning,
  type BelievedTransaction,
  usualMeaning,
} from '../../src/relay/belief.ts'
import { createRelayClient } from '../../src/relay/client.ts'
import {
  createSimulation,
  noDisorder,
  type SimulationOptions,
  type Traffic,
} from '../../src/relay/simulation.ts'
import { openLmdbStore } from '../../src/store/lmdb/lmdb.ts'

interface TimedDelivery {
  readonly eventId: string
  readonly sentMonoMs: number
  readonly ms: number
}

interface LateAsk {
  readonly transactionId: string
  readonly sentMonoMs: number
  /** What came all the same; null: nothing. */
  readonly answer: Promise<ReadAnswer | null>
}

export interface Simulated extends Traffic {
  readonly timed: readonly TimedDelivery[]
  /** The asks that the relay has given up. */
  readonly late: readonly LateAsk[]
  close(): void
}

/** The product's own simulator, in the test's process: short lifecycles, one instance. */
export function simulate(
  given: Pick<SimulationOptions, 'cardIds' | 'seed' | 'runId'> & Partial<SimulationOptions>,
  url: string,
): Simulated {
  const timed: TimedDelivery[] = []
  const late: LateAsk[] = []
  const client = createRelayClient({
    urls: [url],
    clock: systemClock,
    sign: () => ({}),
    connections: 2048,
  })
  const simulation = createSimulation({
    client: {
      ...client,
      async deliver(event) {
        const sentMonoMs = performance.now()
        const delivered = await client.deliver(event)
        timed.push({ eventId: event.eventId, sentMonoMs, ms: performance.now() - sentMonoMs })
        if (isAsk(event) && delivered.answer === null) {
          late.push({
            transactionId: event.transactionId,
            sentMonoMs,
            answer: delivered.late.then((answer) => readAnswer(event, answer)),
          })
        }
        return delivered
      },
    },
    clock: systemClock,
    ratePerSecond: 200,
    durationMs: 500,
    meanWaitMs: 40,
    defaultDecision: 'decline',
    meaning: usualMeaning,
    disorder: noDisorder,
    ...given,
  })
  return { ...simulation, timed, late, close: client.close }
}

/** What the store of a server, running or not, has of what the network believes. */
export async function auditStore(
  dataDir: string,
  transactions: readonly BelievedTransaction[],
  meaning: AmountMeaning = usualMeaning,
): Promise<Audit> {
  const store = await openLmdbStore({ folder: join(dataDir, 'store'), nowMs: Date.now })
  try {
    return await audit(transactions, meaning, finderIn(store))
  } finally {
    await store.close()
  }
}
