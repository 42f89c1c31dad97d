import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { openStore, type StorePlace } from '../../src/store/open.ts'
import { seedCards } from '../support/ledger-check.ts'
import { openRedisWorld, placeOf } from '../support/redis-world.ts'
import { createRelay } from '../support/relay.ts'
import { checkRows } from '../support/row-check.ts'
import { fastFolder, readMetric, startServer, until } from '../support/server.ts'

const { endings, redis, serve, loadOn, close } = openRedisWorld()
afterEach(close)

const rounds = process.env.TORTURE ? 15 : 1
const balances = Array(20).fill('100000.00')
const withApi = {
  API_PORT: '0',
  SECRETS_KEY: Buffer.alloc(32, 7).toString('base64'),
}

/** Waits until the list is as the log has it, and says how many rows it has. */
async function untilExact(place: StorePlace): Promise<number> {
  const store = await openStore(place, systemClock.nowMs)
  let rows = 0
  try {
    await until(async () => {
      const found = await checkRows(store, 'org-1')
      rows = found.rows
      return found.wrong.length === 0 && found.strayEntries === 0
    })
    // Nothing is written twice a moment later.
    await sleep(300)
    expect(await checkRows(store, 'org-1')).toEqual({ rows, wrong: [], strayEntries: 0 })
    return rows
  } finally {
    await store.close()
  }
}

describe('the transactions list', () => {
  it('is exact in an embedded store whose server is killed under load', {
    timeout: 60_000 + 20_000 * rounds,
  }, async () => {
    const folder = fastFolder()
    endings.push(folder.remove)
    const cards = await seedCards(folder.path, balances, 'org-1')
    const relay = createRelay('http://127.0.0.1:1')
    endings.push(relay.close)
    const start = async () => {
      const server = await startServer({ dataDir: folder.path, env: withApi })
      endings.push(server.kill)
      relay.moveTo(server.url)
      return server
    }
    for (let round = 0; round < rounds; round++) {
      const server = await start()
      const load = loadOn(relay, cards, 200)
      const before = relay.deliveries.length
      await until(async () => relay.deliveries.length - before > 80 + Math.random() * 40)
      await server.kill()
      await load.stop()
    }
    await start()
    expect(await untilExact({ redis: null, dataDir: folder.path })).toBeGreaterThan(0)
  })

  it.runIf(process.env.TORTURE)(
    'is exact in Redis when the server that followed the log is killed, and another takes over',
    {
      timeout: 60_000 + 20_000 * rounds,
    },
    async () => {
      const store = await redis()
      const cards = await seedCards(placeOf(store.url), balances, 'org-1')
      let first = await serve(store.url, withApi)
      for (let round = 0; round < rounds; round++) {
        await sleep(300)
        const second = await serve(store.url, withApi)
        const relay = createRelay(second.url)
        endings.push(relay.close)
        const load = loadOn(relay, cards, 200)
        await until(async () => relay.deliveries.length > 80)
        await first.kill()
        await sleep(300)
        await load.stop()
        first = second
      }
      expect(await untilExact(placeOf(store.url))).toBeGreaterThan(0)
      await until(async () => (await readMetric(first, 'arbiter_projection_lag_seconds')) < 3)
    },
  )
})
