import { describe, expect, it, onTestFinished } from 'vitest'
import { findDamage } from '../../../src/backoffice/store-check.ts'
import { systemClock } from '../../../src/clock.ts'
import { createAggregates } from '../../../src/engine/aggregates.ts'
import { importRows } from '../../../src/engine/import.ts'
import { createProjector } from '../../../src/projection/projector.ts'
import { createRowDesk } from '../../../src/projection/row-desk.ts'
import { openStore } from '../../../src/store/open.ts'
import type { Store } from '../../../src/store/port.ts'
import { startEngine } from '../../support/engine-world.ts'
import { startRedis, startRedisCluster } from '../../support/redis-server.ts'
import { checkRows, rowsIn } from '../../support/row-check.ts'

/** Where it lies, and how it ends. */
interface Place {
  readonly redis: { readonly urls: readonly string[]; readonly cluster: boolean }
  dispose(): Promise<void>
}

const places: readonly (readonly [name: string, start: () => Promise<Place>])[] = [
  [
    'the partitions of Redis',
    async () => {
      const { url, dispose } = await startRedis()
      return { redis: { urls: [url], cluster: false }, dispose }
    },
  ],
  [
    'Redis Cluster',
    async () => {
      const { urls, dispose } = await startRedisCluster()
      return { redis: { urls, cluster: true }, dispose }
    },
  ],
]

/** Time goes on by itself for the log, and as fast as is wanted for whoever follows it. */
function startProjector(store: Store, instance: string) {
  let aheadMs = 0
  let versions = 0
  const aggregates = createAggregates({ store, newVersion: () => `${instance}.${versions++}` })
  const { nowMs } = systemClock
  const clock = { nowMs: () => nowMs() + aheadMs, monoMs: () => nowMs() + aheadMs }
  const consumers = [createRowDesk({ aggregates, retentionDays: 400, nowMs })]
  const onTrouble = (message: string) => expect(message).toBe('')
  const projector = createProjector({ store, aggregates, clock, instance, consumers, onTrouble })
  return {
    async run(ms: number) {
      for (const endMs = aheadMs + ms; aheadMs < endMs; aheadMs += 1_000) {
        while (await projector.step()) {}
      }
    },
    kill: () => aggregates.stop(),
  }
}

/** A cluster takes some seconds to form. */
const tried = process.env.TORTURE ? places : places.slice(0, 1)

describe.each(tried)('the transactions list in %s', (_name, start) => {
  it('is exact when its projector is killed and another takes over, and is read in order', async () => {
    const { redis, dispose } = await start()
    onTestFinished(dispose)
    const store = await openStore({ redis, dataDir: '' }, systemClock.nowMs)
    onTestFinished(() => store.close())
    const engine = startEngine(store)
    const rows = Array.from({ length: 30 }, (_, i) => ({
      cardId: `card-${i}`,
      customerId: `customer-${i % 3}`,
      accountId: `account-${i}`,
      organizationId: 'org-1',
      type: 'retail',
      currency: 'USD',
      country: 'US',
      balance: '1000.00',
    }))
    expect((await importRows(rows, engine)).problems).toEqual([])
    const first = startProjector(store, 'first')
    let events = 0
    for (let round = 0; round < 6; round++) {
      const asks = Array.from({ length: 40 }, () => {
        const eventId = `e${events++}`
        return engine.ask({ eventId, cardId: `card-${events % 30}`, amountMinor: 100 })
      })
      if (round === 3) first.kill()
      await Promise.all([...asks, ...(round < 3 ? [first.run(1_000)] : [])])
    }
    await startProjector(store, 'second').run(20_000)
    expect(await checkRows(store, 'org-1')).toEqual({ rows: 240, wrong: [], strayEntries: 0 })
    const times = (await rowsIn(store, 'org-1', {}, 13)).map(({ bookedAtMs }) => bookedAtMs)
    expect(times).toEqual([...times].sort((a, b) => b - a))
    expect(await rowsIn(store, 'org-1', { cardId: 'card-7' })).toHaveLength(8)
    expect(await rowsIn(store, 'org-1', { customerId: 'customer-1' })).toHaveLength(80)
    for await (const damage of findDamage(store, () => {})) expect(damage).toBeNull()
  })
})
