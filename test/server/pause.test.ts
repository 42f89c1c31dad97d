import { once } from 'node:events'
import { get } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { contractMs } from '../../src/contract-limit.ts'
import { createRandom } from '../../src/relay/traffic.ts'
import { seedCards } from '../support/ledger-check.ts'
import { fastFolder, readiness, startServer, until, usualBudget } from '../support/server.ts'
import { auditStore, simulate } from '../support/simulated.ts'
import { isExcused, startWitness } from '../support/stall-witness.ts'

const torture = process.env.TORTURE === '1'
const pauses = torture ? 12 : 2
const decisions = torture ? (['approve', 'decline'] as const) : (['decline'] as const)

const endings: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

describe('a server that is stopped and continued under load', () => {
  for (const decision of decisions) {
    const name = `has in its ledger what the relay did meanwhile (default ${decision})`
    it(name, { timeout: 30_000 + 15_000 * pauses }, async () => {
      const seed = torture ? Date.now() % 1_000_000 : 11
      const random = createRandom(seed)
      const folder = fastFolder()
      endings.push(folder.remove)
      const cards = await seedCards(folder.path, Array(40).fill('100000.00'))
      const env = { ...usualBudget, DEFAULT_DECISION: decision }
      const server = await startServer({ dataDir: folder.path, env })
      endings.push(server.kill)
      const witness = startWitness()
      endings.push(witness.stop)
      // Torture: longer than the relay waits for what comes late, so that it has hung up on some.
      const longestMs = torture ? 6_600 : 900
      const waits = Array.from({ length: pauses }, () => 400 + random.next() * longestMs)
      const totalMs = waits.reduce((sum, ms) => sum + ms + 500, 300)
      const relay = simulate(
        {
          cardIds: cards,
          seed,
          runId: 'pause',
          // The connections of the longest pause, and of all advices sent again, must fit into the kernel's queue: of
          // one that it drops the server never hears.
          ratePerSecond: torture ? 30 : 60,
          durationMs: totalMs,
          defaultDecision: decision,
        },
        server.url,
      )
      endings.push(relay.close)
      const stops: number[] = []
      const stalled = new Set<string>()
      const running = relay.run()
      await sleep(300)
      for (const ms of waits) {
        stops.push(performance.now())
        server.child.kill('SIGSTOP')
        await sleep(ms)
        server.child.kill('SIGCONT')
        // It is answered after all that the kernel has kept, which must be heard before the next pause adds to it.
        const [answer] = await once(get(server.url, { agent: false }), 'response')
        answer.resume()
        await sleep(500)
      }
      const transactions = await running
      await until(async () => (await readiness(server)).unbooked === 0)
      expect(await server.stop()).toBe(0)

      // Whoever gave up hears, if anything, what it has done by itself.
      const otherwise = new Set<string>()
      const onTheBrink = new Set<string>()
      /** It was on its way to a server that ran. */
      const wasStopped = (sentMonoMs: number) =>
        stops.some((atMonoMs) => atMonoMs > sentMonoMs && atMonoMs - sentMonoMs < contractMs)
      for (const { transactionId, sentMonoMs, answer } of relay.late) {
        const heard = await answer
        if (heard === null || heard.approved === (decision === 'approve')) continue
        // It was in time for all that the server can know: the machine kept the relay from hearing it.
        if (isExcused(witness, { sentMonoMs, ms: contractMs })) stalled.add(transactionId)
        else if (wasStopped(sentMonoMs)) onTheBrink.add(transactionId)
        else otherwise.add(transactionId)
      }
      const { differences, excused } = await auditStore(folder.path, transactions)
      console.log(
        `default ${decision}, seed ${seed}: ${relay.timed.length} deliveries, ` +
          `${relay.late.length} given up, ${stalled.size} for a stall of the machine`,
      )
      expect(relay.late.length).toBeGreaterThan(10)
      expect([...otherwise]).toEqual([])
      // No server can look at the clock and write its answer in one instant: a stop may fall between the two.
      expect(onTheBrink.size).toBeLessThanOrEqual(pauses / 2)
      expect(differences).toEqual([])
      const isExplained = (id: string) => stalled.has(id) || onTheBrink.has(id)
      expect(excused.filter(({ transactionId }) => !isExplained(transactionId))).toEqual([])
    })
  }
})
