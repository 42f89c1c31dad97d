import { setTimeout as sleep } from 'node:timers/promises'
import { Command } from 'ioredis'
import { afterEach, describe, expect, it } from 'vitest'
import { accountAggregate } from '../../src/engine/format/layout.ts'
import { createRedisKeys } from '../../src/store/redis/keys.ts'
import { checkLedger, seedCards } from '../support/ledger-check.ts'
import { durable, type RedisServer, startRedisCluster } from '../support/redis-server.ts'
import { createRelay } from '../support/relay.ts'
import { fastFolder, readiness, startServer, until } from '../support/server.ts'
import { ownMs, startWitness } from '../support/stall-witness.ts'
import { countAnswers, slowestMs, startLoad } from '../support/traffic.ts'

const contractLimitMs = 400
const accounts = process.env.TORTURE ? 10_000 : 1_000
const movedAtOnce = process.env.TORTURE ? 25 : 8
/** Slowly, so that events meet every stage of it. */
const movePauseMs = 50

const endings: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

/** Moves a slot with all its keys from one master to another while others use it. */
async function moveSlot(slot: string, masters: readonly RedisServer[]): Promise<number> {
  const ids = await Promise.all(masters.map((master) => master.command('CLUSTER', 'MYID')))
  const counts = await Promise.all(
    masters.map((master) => master.command('CLUSTER', 'COUNTKEYSINSLOT', slot)),
  )
  const owner = counts.findIndex((count) => Number(count) > 0)
  const from = masters[owner]!
  const target = (owner + 1) % masters.length
  const to = masters[target]!
  await to.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', String(ids[owner]))
  await from.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', String(ids[target]))
  let moved = 0
  for (;;) {
    const names = await from.command('CLUSTER', 'GETKEYSINSLOT', slot, String(movedAtOnce))
    const keys = names as string[]
    if (keys.length === 0) break
    await from.command('MIGRATE', '127.0.0.1', String(to.port), '', '0', '5000', 'KEYS', ...keys)
    moved += keys.length
    await sleep(movePauseMs)
  }
  for (const master of [to, from, ...masters]) {
    await master.command('CLUSTER', 'SETSLOT', slot, 'NODE', String(ids[target]))
  }
  return moved
}

describe('two instances on a cluster', () => {
  it('answer in time while a slot moves, and the ledger agrees', { timeout: 120_000 }, async () => {
    const cluster = await startRedisCluster(3, durable)
    endings.push(cluster.dispose)
    const place = { redis: { urls: cluster.urls, cluster: true }, dataDir: '' }
    const cards = await seedCards(place, Array(accounts).fill('1000.00'))
    const { partitionOf } = createRedisKeys('', 16)
    const moving = cards.filter((_, i) => partitionOf(accountAggregate(`account-${i}`)) === 0)
    const env = { REDIS_URL: cluster.urls.join(','), REDIS_CLUSTER: 'true' }
    const servers = []
    for (let i = 0; i < 2; i++) {
      const folder = fastFolder()
      endings.push(folder.remove)
      const server = await startServer({ dataDir: folder.path, env })
      endings.push(server.kill)
      servers.push(server)
    }
    const relays = servers.map(({ url }) => createRelay(url))
    const witness = startWitness()
    endings.push(witness.stop)
    const loads = relays.flatMap((relay, i) => {
      endings.push(relay.close)
      return [
        startLoad({ relay, seed: i + 1, cards, ratePerSecond: 25 }),
        startLoad({ relay, seed: i + 3, cards: moving, ratePerSecond: 25 }),
      ]
    })
    for (const load of loads) endings.push(load.stop)
    // A process that has just started runs its code uncompiled.
    await sleep(2_000)
    const before = relays.map(({ deliveries }) => deliveries.length)
    const slot = String(new Command('get', ['{p00}']).getSlot())
    const moved = await moveSlot(slot, cluster.masters)
    expect(moved).toBeGreaterThan(accounts / 16)
    await sleep(1_000)
    for (const load of loads) await load.stop()
    for (const server of servers) {
      await until(async () => {
        const { status, unbooked } = await readiness(server)
        return status === 'ready' && unbooked === 0
      })
    }
    const told = relays.flatMap(({ deliveries }, i) => deliveries.slice(before[i]))
    console.log(
      `${moved} keys moved: slowest ${Math.round(slowestMs(told))} ms,`,
      countAnswers(told),
    )
    const met = told.filter(({ event }) => moving.includes(event.cardId))
    expect(met.length).toBeGreaterThan(50)
    expect(told.filter((each) => ownMs(witness, each) >= contractLimitMs)).toEqual([])
    for (const server of servers) expect(await server.stop()).toBe(0)
    const ledger = await checkLedger(
      place,
      relays.flatMap(({ deliveries }) => deliveries),
    )
    expect(ledger).toMatchObject({ differences: [], overHeld: [], declinedYetHeld: [] })
  })
})
