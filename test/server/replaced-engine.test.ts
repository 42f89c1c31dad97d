import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, it } from 'vitest'
import { openDisturbedWorld } from '../support/disturbed-world.ts'
import { ledgerAfter } from '../support/ledger-check.ts'
import { untilRestarted } from '../support/server.ts'
import { countAnswers } from '../support/traffic.ts'

const replacements = process.env.TORTURE ? 40 : 3
const decisions = process.env.TORTURE ? (['approve', 'decline'] as const) : (['decline'] as const)

const endings: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

describe('an engine', () => {
  for (const decision of decisions) {
    const again = `that hangs and is replaced, ${replacements} times, leaves no difference behind (default ${decision})`
    it(again, { timeout: 30_000 + 5_000 * replacements }, async () => {
      const env = { DEFAULT_DECISION: decision, HEARTBEAT_MS: '1000' }
      const world = await openDisturbedWorld(endings, env, { seed: 2, ratePerSecond: 150 })
      const { dataDir, server, relay, load } = world
      let restarts = 0
      for (let i = 1; i <= replacements; i++) {
        // Some wake up soon after they were replaced, some when the next is gone too.
        server.disturb({ type: 'hang', ms: i % 3 === 0 ? 3_500 : 1_150 + ((50 * i) % 500) })
        restarts = await untilRestarted(server, restarts + 1)
        await sleep(150)
      }
      await load.stop()
      await ledgerAfter(server, dataDir, relay.deliveries)
      console.log(`${decision}, ${replacements} replaced:`, countAnswers(relay.deliveries))
    })
  }
})
