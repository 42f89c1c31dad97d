import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, it } from 'vitest'
import { ledgerAfter, seedCards } from '../support/ledger-check.ts'
import { createRelay } from '../support/relay.ts'
import { fastFolder, startServer, untilRestarted } from '../support/server.ts'
import { countAnswers, startLoad } from '../support/traffic.ts'

const balances = [...Array(16).fill('100000.00'), ...Array(4).fill('100.00')]
const replacements = process.env.TORTURE ? 40 : 4
const decisions = process.env.TORTURE ? (['approve', 'decline'] as const) : (['decline'] as const)

const endings: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

describe('an engine', () => {
  for (const decision of decisions) {
    const again = `that hangs and is replaced, ${replacements} times, leaves no difference behind (default ${decision})`
    it(again, { timeout: 30_000 + 5_000 * replacements }, async () => {
      const folder = fastFolder()
      endings.push(folder.remove)
      const cards = await seedCards(folder.path, balances)
      const server = await startServer({
        dataDir: folder.path,
        disturbable: true,
        env: { DEFAULT_DECISION: decision, HEARTBEAT_MS: '1000' },
      })
      endings.push(server.kill)
      const relay = createRelay(server.url)
      endings.push(relay.close)
      const load = startLoad({ relay, seed: 2, cards, ratePerSecond: 150 })
      endings.push(load.stop)
      let restarts = 0
      for (let i = 1; i <= replacements; i++) {
        // Some wake up soon after they were replaced, some when the next is gone too.
        server.disturb({ type: 'hang', ms: i % 3 === 0 ? 3_500 : 1_150 + ((50 * i) % 500) })
        restarts = await untilRestarted(server, restarts + 1)
        await sleep(150)
      }
      await load.stop()
      await ledgerAfter(server, folder.path, relay.deliveries)
      console.log(`${decision}, ${replacements} replaced:`, countAnswers(relay.deliveries))
    })
  }
})
