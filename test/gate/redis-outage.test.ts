import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { checkLedger, seedCards } from '../support/ledger-check.ts'
import { durable, type RedisServer, startRedis } from '../support/redis-server.ts'
import { createRelay, type Delivery, type Relay } from '../support/relay.ts'
import {
  fastFolder,
  type RunningServer,
  readiness,
  readMetric,
  startServer,
  until,
} from '../support/server.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { countAnswers, createRandom, slowestMs, startLoad } from '../support/traffic.ts'

const balances = [...Array(16).fill('100000.00'), ...Array(4).fill('100.00')]

const endings: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

async function redis(settings = durable): Promise<RedisServer> {
  const server = await startRedis(settings)
  endings.push(server.dispose)
  return server
}

async function serve(url: string, env: Record<string, string> = {}): Promise<RunningServer> {
  const folder = fastFolder()
  endings.push(folder.remove)
  const server = await startServer({ dataDir: folder.path, env: { REDIS_URL: url, ...env } })
  endings.push(server.kill)
  return server
}

function loadOn(relay: Relay, cards: readonly string[], ratePerSecond: number, seed = 1) {
  endings.push(relay.close)
  const load = startLoad({ relay, seed, cards, ratePerSecond })
  endings.push(load.stop)
  return load
}

const place = (url: string) => ({ redis: { urls: [url], cluster: false }, dataDir: '' })

async function bookedAll(servers: readonly RunningServer[]): Promise<void> {
  for (const server of servers) {
    await until(async () => {
      const { status, unbooked } = await readiness(server)
      return status === 'ready' && unbooked === 0
    })
  }
}

function report(name: string, deliveries: readonly Delivery[]): void {
  console.log(`${name}: slowest ${Math.round(slowestMs(deliveries))} ms,`, countAnswers(deliveries))
}

describe('a failover that lost what was acknowledged', () => {
  it('loses nothing while the instance lives that was told so', { timeout: 60_000 }, async () => {
    const master = await redis()
    const replica = await redis({ ...durable, replicaof: `127.0.0.1 ${master.port}` })
    const proxy = await startTcpProxy(master.port, createRandom(1))
    endings.push(proxy.dispose)
    const cards = await seedCards(place(master.url), balances)
    await until(async () =>
      String(await replica.command('INFO', 'replication')).includes('master_link_status:up'),
    )
    const server = await serve(proxy.url)
    const relay = createRelay(server.url)
    const load = loadOn(relay, cards, 100)
    await sleep(1_500)
    await replica.command('REPLICAOF', 'NO', 'ONE')
    const before = relay.deliveries.length
    await sleep(1_500)
    const lost = relay.deliveries.length - before
    proxy.moveTo(replica.port)
    await master.kill()
    await sleep(1_000)
    await load.stop()
    await until(async () => (await readMetric(server, 'arbiter_repeated')) > 0)
    await bookedAll([server])
    await until(async () => (await readMetric(server, 'arbiter_engine_queued')) === 0)
    report(`failover, ${lost} answers on the lost branch`, relay.deliveries)
    expect(lost).toBeGreaterThan(50)
    expect(await server.stop()).toBe(0)
    const ledger = await checkLedger(place(replica.url), relay.deliveries)
    expect(ledger).toMatchObject({ differences: [], overHeld: [], declinedYetHeld: [] })
  })
})
