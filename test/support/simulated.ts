import { join } from 'node:path'
import { finderIn } from '../../src/cli/relay-audit.ts'
import { systemClock } from '../../src/clock.ts'
import { type Audit, audit } from '../../src/relay/audit.ts'
import { type BelievedTransaction, type Meaning, usualMeaning } from '../../src/relay/belief.ts'
import { createRelayClient } from '../../src/relay/client.ts'
import {
  createSimulation,
  noDisorder,
  type SimulationOptions,
  type Traffic,
} from '../../src/relay/simulation.ts'
import { openLmdbStore } from '../../src/store/lmdb.ts'

export interface TimedDelivery {
  readonly eventId: string
  readonly sentMonoMs: number
  readonly ms: number
}

export interface Simulated extends Traffic {
  readonly timed: readonly TimedDelivery[]
  close(): void
}

/** The product's own simulator, in the test's process: short lifecycles, one instance. */
export function simulate(
  given: Pick<SimulationOptions, 'cardIds' | 'seed' | 'runId'> & Partial<SimulationOptions>,
  url: string,
): Simulated {
  const timed: TimedDelivery[] = []
  const client = createRelayClient({
    urls: [url],
    clock: systemClock,
    secret: '',
    connections: 2048,
  })
  const simulation = createSimulation({
    client: {
      ...client,
      async deliver(event) {
        const sentMonoMs = performance.now()
        const delivered = await client.deliver(event)
        timed.push({ eventId: event.eventId, sentMonoMs, ms: performance.now() - sentMonoMs })
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
  return { ...simulation, timed, close: client.close }
}

/** What the store of a server, running or not, has of what the network believes. */
export async function auditStore(
  dataDir: string,
  transactions: readonly BelievedTransaction[],
  meaning: Meaning = usualMeaning,
): Promise<Audit> {
  const store = await openLmdbStore({ folder: join(dataDir, 'store'), nowMs: Date.now })
  try {
    return await audit(transactions, meaning, finderIn(store))
  } finally {
    await store.close()
  }
}
