import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { checkLedger, seedCards } from '../support/ledger-check.ts'
import { masterName, startSentinels } from '../support/redis-sentinel.ts'
import { durable, type RedisServer } from '../support/redis-server.ts'
import {
  bookedAll,
  openRedisWorld,
  placeOf,
  reportAnswers,
  someBalances,
} from '../support/redis-world.ts'
import { createRelay } from '../support/relay.ts'
import { fastFolder, readMetric, startServer, until, usualBudget } from '../support/server.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { createRandom } from '../support/traffic.ts'

const torture = process.env.TORTURE === '1'
const pausedMs = 7_000
/** What is acknowledged in it never reaches the replica. */
const lostMs = 700
/** Longer than the pieces of it wait for. */
const never = { delayReply: 1, maxDelayMs: 600_000 }

const { endings, redis, loadOn, close } = openRedisWorld()
afterEach(close)

interface Round {
  /** The master is killed, or hangs and comes back. */
  readonly hangs: boolean
  /** The servers stand still meanwhile, for longer than their engines may be silent. */
  readonly pauses: boolean
  /** Then the first master takes over again. */
  readonly failsBack: boolean
}

const rounds: readonly Round[] = torture
  ? [false, true].flatMap((hangs) =>
      [false, true].flatMap((pauses) =>
        [false, true].map((failsBack) => ({ hangs, pauses, failsBack })),
      ),
    )
  : [{ hangs: false, pauses: false, failsBack: false }]

function nameOf({ hangs, pauses, failsBack }: Round): string {
  const parts = [hangs ? 'the master hangs' : 'the master is killed']
  if (pauses) parts.push('the servers stand still')
  if (failsBack) parts.push('it takes over again')
  return parts.join(', ')
}

async function follows(replica: RedisServer): Promise<void> {
  await until(async () =>
    String(await replica.command('INFO', 'replication')).includes('master_link_status:up'),
  )
}

describe('with sentinels, no approval and no acknowledged advice is lost when', () => {
  for (const round of rounds) {
    it(nameOf(round), { timeout: 180_000 }, async () => {
      const first = await redis()
      const cards = await seedCards(placeOf(first.url), someBalances)
      const toFirst = await startTcpProxy(first.port, createRandom(1))
      endings.push(toFirst.dispose)
      const replicaof = `127.0.0.1 ${Number(new URL(toFirst.url).port)}`
      const second = await redis({ ...durable, replicaof })
      await follows(second)
      const sentinels = await startSentinels(first)
      endings.push(sentinels.dispose)
      const servers = await Promise.all(
        Array.from({ length: torture ? 2 : 1 }, async () => {
          const folder = fastFolder()
          endings.push(folder.remove)
          const server = await startServer({
            dataDir: folder.path,
            env: {
              ...usualBudget,
              REDIS_URL: `redis://${masterName}`,
              REDIS_SENTINEL: sentinels.urls.join(','),
            },
          })
          endings.push(server.kill)
          return server
        }),
      )
      const relays = servers.map(({ url }) => createRelay(url))
      const loads = relays.map((relay, i) => loadOn(relay, cards, 60, i + 1))
      const answers = () => relays.reduce((sum, { deliveries }) => sum + deliveries.length, 0)
      await sleep(1_500)

      toFirst.setFaults(never)
      const before = answers()
      await sleep(lostMs)
      const lost = answers() - before
      if (round.pauses) for (const { child } of servers) child.kill('SIGSTOP')
      if (round.hangs) first.pause()
      else await first.kill()
      if (round.pauses) {
        await sleep(pausedMs)
        for (const { child } of servers) child.kill('SIGCONT')
      }
      await until(async () => (await sentinels.masterPort()) === second.port)
      for (const server of servers) {
        await until(async () => (await readMetric(server, 'arbiter_store_losses')) > 0)
      }
      await bookedAll(servers)

      let master = second
      if (round.failsBack) {
        if (round.hangs) first.resume()
        else await first.restart()
        const toSecond = await startTcpProxy(second.port, createRandom(2))
        endings.push(toSecond.dispose)
        await until(async () =>
          String(await first.command('INFO', 'replication')).includes('role:slave'),
        )
        const port = new URL(toSecond.url).port
        await first.command('REPLICAOF', '127.0.0.1', port)
        await follows(first)
        await sleep(1_000)
        toSecond.setFaults(never)
        await sleep(lostMs)
        const losses = await readMetric(servers[0]!, 'arbiter_store_losses')
        await sentinels.failOver()
        await until(async () => (await sentinels.masterPort()) === first.port)
        await until(async () => (await readMetric(servers[0]!, 'arbiter_store_losses')) > losses)
        master = first
      }
      await sleep(500)
      for (const load of loads) await load.stop()
      await bookedAll(servers)
      const deliveries = relays.flatMap((relay) => relay.deliveries)
      reportAnswers(`${nameOf(round)}: ${lost} answers on the lost branch`, deliveries)
      expect(lost).toBeGreaterThan(10)
      for (const server of servers) expect(await server.stop()).toBe(0)
      const ledger = await checkLedger(placeOf(master.url), deliveries)
      expect(ledger).toMatchObject({ differences: [], overHeld: [] })
    })
  }
})
