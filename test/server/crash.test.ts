import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { checkLedger, seedCards } from '../support/ledger-check.ts'
import { createRelay, type Delivery, type Relay } from '../support/relay.ts'
import {
  type Disturbance,
  fastFolder,
  readiness,
  startServer,
  until,
  usualBudget,
} from '../support/server.ts'
import { isExcused, startWitness } from '../support/stall-witness.ts'
import { createRandom, startLoad } from '../support/traffic.ts'

const balances = [...Array(16).fill('100000.00'), ...Array(4).fill('100.00')]
const rounds = process.env.TORTURE ? 60 : 2
const decisions = process.env.TORTURE ? (['approve', 'decline'] as const) : (['approve'] as const)

/** Shortly before the crash, so that it comes between a commit, a journal line, a booking and an answer. */
const disturbances: readonly (Disturbance | null)[] = [
  null,
  { type: 'stutter', ms: 240, pauseMs: 10, times: 3 },
  { type: 'hang', ms: 800 },
  { type: 'exit' },
]

const endings: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

describe('a server that is killed under load, again and again', () => {
  for (const decision of decisions) {
    const name = `keeps every answer that it gave, and books nothing twice (default ${decision})`
    it(name, { timeout: 15_000 * rounds }, async () => {
      const seed = process.env.TORTURE ? Date.now() % 1_000_000 : 7
      const random = createRandom(seed)
      const folder = fastFolder()
      endings.push(folder.remove)
      const cards = await seedCards(folder.path, balances)
      const relay = createRelay('http://127.0.0.1:1')
      endings.push(relay.close)
      const start = async () => {
        const env = { ...usualBudget, DEFAULT_DECISION: decision }
        const server = await startServer({ dataDir: folder.path, disturbable: true, env })
        endings.push(server.kill)
        relay.moveTo(server.url)
        return server
      }

      const witness = startWitness()
      endings.push(witness.stop)
      let overHeldBefore = 0
      const check = async () => {
        const ledger = await checkLedger(folder.path, relay.deliveries)
        expect(ledger.differences).toEqual([])
        // The journal was late and the crash came before its second try: only when the machine stalls.
        expect(ledger.declinedYetHeld.filter((each) => !isExcused(witness, each))).toEqual([])
        // The same bytes, but where the watchdog had spoken and the engine had decided or forgotten.
        for (const pair of ledger.unlike) {
          expect(pair.map(({ decidedBy }) => decidedBy)).toContain('default')
        }
        const overHeld = ledger.overHeld.length - overHeldBefore
        overHeldBefore = ledger.overHeld.length
        return { overHeld, declinedYetHeld: ledger.declinedYetHeld.length }
      }

      let server = await start()
      for (let round = 0; round < rounds; round++) {
        const load = startLoad({ relay, seed: seed + round, cards, ratePerSecond: 200 })
        endings.push(load.stop)
        await sleep(200 + random() * 300)
        const disturbance = disturbances[round % disturbances.length]
        if (disturbance) server.disturb(disturbance)
        await sleep(random() * 500)
        const { inFlight } = relay
        const killed = server.kill()
        // What is sent to a dead server is answered by nobody and counts for nothing.
        await Promise.all([killed, load.stop()])

        server = await start()
        const booking = server
        await until(async () => (await readiness(booking)).unbooked === 0)
        const seen = await check()
        console.log(`${decision}, seed ${seed}, round ${round}: ${inFlight} in flight,`, seen)
        expect(seen.overHeld).toBeLessThanOrEqual(inFlight)
        await repeatSome(relay, random)
        overHeldBefore = (await checkLedger(folder.path, relay.deliveries)).overHeld.length
      }
      expect(await server.stop()).toBe(0)
      await check()
      console.log(
        `${decision}: ${overHeldBefore} over-held for good, of ${relay.deliveries.length}`,
      )
    })
  }
})

/** The relay sends again: half of what nobody answered, and some of what was answered. */
async function repeatSome(relay: Relay, random: () => number): Promise<void> {
  const isChosen = ({ status }: Delivery) => random() < (status === 0 ? 0.5 : 0.1)
  const chosen = relay.deliveries.slice(-300).filter(isChosen)
  const repeated = await Promise.all(chosen.map(({ event }) => relay.deliver(event)))
  repeated.forEach((again, i) => {
    const first = chosen[i]!
    if (first.decidedBy === 'engine' && again.decidedBy === 'engine') {
      expect(again.text).toBe(first.text)
    }
  })
}
