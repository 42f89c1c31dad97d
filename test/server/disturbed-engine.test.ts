import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { openDisturbedWorld } from '../support/disturbed-world.ts'
import { ledgerAfter } from '../support/ledger-check.ts'
import type { Delivery } from '../support/relay.ts'
import { type Disturbance, untilRestarted } from '../support/server.ts'
import { isExcused, ownMs, type StallWitness, startWitness } from '../support/stall-witness.ts'
import { countAnswers, slowestMs } from '../support/traffic.ts'

/** A line may wait for the disk until 350 ms, and what it says is told then. */
const contractMs = 400
const ratePerSecond = 80
const rounds = process.env.TORTURE ? 5 : 1
const decisions = process.env.TORTURE ? (['approve', 'decline'] as const) : (['approve'] as const)

interface Phase {
  readonly name: string
  readonly disturbance: Disturbance
  /** Until the load goes on undisturbed, and a little longer. */
  readonly lastsMs: number
  readonly restarts: number
}

const outOfHeapAtOnce: Phase = {
  name: 'out of heap at once',
  disturbance: { type: 'exhaust' },
  lastsMs: 2_000,
  restarts: 1,
}

/** From Node 24 on V8 may end the whole process for a thread that fills its heap without a turn of its loop. */
const endsThreadAlone = Number.parseInt(process.versions.node, 10) < 24

const phases: readonly Phase[] = [
  { name: 'hung for 2 s', disturbance: { type: 'hang', ms: 2_000 }, lastsMs: 2_400, restarts: 0 },
  { name: 'killed', disturbance: { type: 'exit' }, lastsMs: 1_200, restarts: 1 },
  {
    name: 'hung for about the budget, again and again',
    disturbance: { type: 'stutter', ms: 245, pauseMs: 20, times: 6 },
    lastsMs: 2_000,
    restarts: 0,
  },
  {
    name: 'out of heap, little by little',
    disturbance: { type: 'leak' },
    lastsMs: 2_000,
    restarts: 1,
  },
  ...(endsThreadAlone ? [outOfHeapAtOnce] : []),
  {
    name: 'busy for 4 s',
    disturbance: { type: 'spin', ms: 4_000 },
    lastsMs: 5_000,
    restarts: 1,
  },
]

const endings: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

describe('a disturbed engine', () => {
  for (const decision of decisions) {
    const name = `delays no answer, and the ledger agrees with all of them (default ${decision})`
    it(name, { timeout: 90_000 * rounds }, async () => {
      const witness = startWitness()
      endings.push(witness.stop)
      const env = { DEFAULT_DECISION: decision, ENGINE_HEAP_MB: '128', HEARTBEAT_MS: '3000' }
      const world = await openDisturbedWorld(endings, env, { seed: 1, ratePerSecond })
      const { dataDir, server, relay, load } = world
      await sleep(500)
      let restarts = 0
      for (let round = 0; round < rounds; round++) {
        for (const phase of phases) {
          const before = relay.deliveries.length
          server.disturb(phase.disturbance)
          await sleep(phase.lastsMs)
          restarts = await untilRestarted(server, restarts + phase.restarts)
          const told = relay.deliveries.slice(before)
          report(`${decision}, ${phase.name}`, told, witness)
          expect(problemsOf(told, witness), phase.name).toEqual([])
        }
      }
      await load.stop()
      const { unlike } = await ledgerAfter(server, dataDir, relay.deliveries)
      // Only where the watchdog spoke may an event be answered in two ways.
      for (const pair of unlike) {
        expect(pair.map(({ decidedBy }) => decidedBy)).toContain('default')
      }
      console.log(`${decision}: ${unlike.length} events got two unlike answers`)
    })
  }
})

/** Late, or no decision: an advice gets 503 when the journal was not flushed in time. */
function problemsOf(deliveries: readonly Delivery[], witness: StallWitness): string[] {
  return deliveries
    .filter((each) => ownMs(witness, each) > contractMs || !isDecided(each, witness))
    .map((each) => {
      const own = Math.round(ownMs(witness, each))
      return `${each.event.eventId}: HTTP ${each.status} after ${Math.round(each.ms)} ms, ${own} of them ours`
    })
}

function isDecided(each: Delivery, witness: StallWitness): boolean {
  return each.status === 200 || (each.status === 503 && isExcused(witness, each))
}

function report(name: string, deliveries: readonly Delivery[], witness: StallWitness): void {
  const slowest = Math.round(slowestMs(deliveries))
  const own = Math.round(Math.max(0, ...deliveries.map((each) => ownMs(witness, each))))
  console.log(`${name}: slowest ${slowest} ms, ${own} ours,`, countAnswers(deliveries))
}
