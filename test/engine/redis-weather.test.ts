import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { verifyStore } from '../../src/backoffice/verify.ts'
import { type Store, StoreError } from '../../src/store/port.ts'
import { standaloneConnection } from '../../src/store/redis/client.ts'
import { openRedisStore, type RedisStoreOptions } from '../../src/store/redis/redis.ts'
import { openCards, startEngine, type TestEngine } from '../support/engine-world.ts'
import { compare } from '../support/ledger-check.ts'
import { type RedisServer, startRedis } from '../support/redis-server.ts'
import type { Delivery, Relay, RelayEvent } from '../support/relay.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { createRandom, startLoad } from '../support/traffic.ts'

const seed = Number(process.env.SEED ?? Date.now() % 1_000_000)
const weatherMs = process.env.TORTURE === undefined ? 4_000 : 60_000
const retentionMs = 45 * 86_400_000
const cards = 8

/** Replies lost, requests and replies cut and delayed, and requests that arrive a second time. */
const faults = {
  loseReply: 0.02,
  cutRequest: 0.01,
  cutReply: 0.01,
  delayRequest: 0.05,
  delayReply: 0.05,
  repeatRequest: 0.05,
  maxDelayMs: 250,
}

let server: RedisServer

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server?.dispose())

/** Hands each event to one of several engines, as a relay would to several servers. */
function createEngineRelay(engines: readonly TestEngine[], random: () => number): Relay {
  const deliveries: Delivery[] = []
  let inFlight = 0
  return {
    deliveries,
    get inFlight() {
      return inFlight
    },
    async deliver(event: RelayEvent) {
      inFlight++
      const sentMonoMs = performance.now()
      const engine = engines[Math.floor(random() * engines.length)] as TestEngine
      const answer = await engine.ask(event)
      inFlight--
      const delivery: Delivery = {
        event,
        sentMonoMs,
        status: 200,
        text: JSON.stringify(answer),
        decision: answer.code === '000' ? 'approve' : 'decline',
        decidedBy: answer.decidedBy,
        cause: answer.cause,
        ms: performance.now() - sentMonoMs,
      }
      deliveries.push(delivery)
      return delivery
    },
    moveTo() {},
    close() {},
  }
}

/** On a busy machine the short time limit also strikes while it opens; a server would start again. */
async function openPatiently(options: RedisStoreOptions): Promise<Store> {
  for (;;) {
    const store = await openRedisStore(options).catch((error) => {
      if (!(error instanceof StoreError)) throw error
      return null
    })
    if (store !== null) return store
  }
}

async function weather(
  prefix: string,
  through: (proxy: TcpProxy) => Partial<RedisStoreOptions>,
): Promise<void> {
  const proxy = await startTcpProxy(server.port, createRandom(seed))
  const place = { cluster: false, nowMs: Date.now, prefix }
  const calm = await openRedisStore({ ...place, urls: [server.url] })
  const issuer = startEngine(calm)
  await openCards(issuer, cards, '100000.00')
  issuer.stop()

  const stores: Store[] = []
  for (let i = 0; i < 3; i++) {
    stores.push(await openPatiently({ ...place, urls: [proxy.url], ...through(proxy) }))
  }
  const engines = stores.map((store) => startEngine(store, { cacheCards: 1_000 }))
  const relay = createEngineRelay(engines, createRandom(seed + 1))
  const names = Array.from({ length: cards }, (_, i) => `card-${i}`)
  const load = startLoad({ relay, seed, cards: names, ratePerSecond: 150 })
  proxy.setFaults(faults)
  await sleep(weatherMs / 2)
  proxy.cut()
  await sleep(weatherMs / 2)
  proxy.setFaults({})
  await load.stop()
  await Promise.all(engines.map((engine) => engine.idle()))
  // What was repeated late has arrived by then.
  await sleep(faults.maxDelayMs + 100)

  const note = `seed ${seed}, ${JSON.stringify(proxy.counts)}`
  const report = await compare(calm, relay.deliveries)
  expect(report.differences, note).toEqual([])
  expect(report.overHeld, note).toEqual([])
  expect(report.declinedYetHeld, note).toEqual([])
  expect(report.unlike, note).toEqual([])
  const verified = await verifyStore(calm, retentionMs)
  expect(verified.differences, note).toEqual([])
  expect(report.events).toBeGreaterThan(50)
  expect(
    Object.values(proxy.counts).reduce((sum, n) => sum + n, 0),
    note,
  ).toBeGreaterThan(10)

  for (const engine of engines) engine.stop()
  await Promise.all([...stores, calm].map((store) => store.close()))
  await proxy.dispose()
}

describe('three engines behind a network that drops, delays, cuts and repeats', () => {
  it(
    'keep the money exact, and answer an event alike everywhere',
    async () => {
      await weather('own-', () => ({ commitTimeoutMs: 120 }))
    },
    weatherMs + 60_000,
  )

  it(
    'keep it exact with ioredis at its own defaults, which send writes again',
    async () => {
      await weather('defaults-', (proxy) => ({
        connect() {
          // The only setting: with a command that is never answered the test would not end.
          const client = new Redis(proxy.url, { commandTimeout: 400 })
          return standaloneConnection(client, [proxy.url])
        },
      }))
    },
    weatherMs + 60_000,
  )
})
