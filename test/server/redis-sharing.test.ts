import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { checkLedger, seedCards } from '../support/ledger-check.ts'
import { durable } from '../support/redis-server.ts'
import {
  bookedAll,
  openRedisWorld,
  placeOf,
  reportAnswers,
  someBalances,
} from '../support/redis-world.ts'
import { createRelay, type Delivery, repeatUntilDecided } from '../support/relay.ts'
import { readiness, readMetric, until } from '../support/server.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { createRandom } from '../support/traffic.ts'

const { endings, redis, serve, loadOn, close } = openRedisWorld()
afterEach(close)

describe('a failover that lost what was acknowledged', () => {
  it('loses nothing while the instance lives that was told so', { timeout: 120_000 }, async () => {
    const master = await redis()
    const replica = await redis({ ...durable, replicaof: `127.0.0.1 ${master.port}` })
    const proxy = await startTcpProxy(master.port, createRandom(1))
    endings.push(proxy.dispose)
    const cards = await seedCards(placeOf(master.url), someBalances)
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
    reportAnswers(`failover, ${lost} answers on the lost branch`, relay.deliveries)
    expect(lost).toBeGreaterThan(50)
    expect(await server.stop()).toBe(0)
    const ledger = await checkLedger(placeOf(replica.url), relay.deliveries)
    expect(ledger).toMatchObject({ differences: [], overHeld: [], declinedYetHeld: [] })
  })
})

describe('a server that starts while Redis is away', () => {
  it('answers by default, and books what it said when Redis is there', {
    timeout: 120_000,
  }, async () => {
    const server = await redis()
    const [card = ''] = await seedCards(placeOf(server.url), ['100.00'])
    await server.kill()
    const instance = await serve(server.url, { DEFAULT_DECISION: 'approve' })
    expect(instance.output()).toContain('no engine yet: the default decision answers')
    expect(await readiness(instance)).toMatchObject({ status: 'starting', store: 'unavailable' })
    const relay = createRelay(instance.url)
    endings.push(relay.close)
    const ids = { transactionId: 't1', cardId: card, amountMinor: 1_000, final: null }
    const starting = { status: 200, decision: 'approve', decidedBy: 'default', cause: 'starting' }
    const ask = { ...ids, eventId: 'e1', requestType: 'Authorization' as const }
    const advice = { ...ids, eventId: 'e2', requestType: 'Settlement' as const }
    // A journal that is not flushed in time approves and acknowledges nothing, and the relay repeats.
    let told = await relay.deliver(ask)
    for (let i = 0; told.decision !== 'approve'; i++) {
      told = await relay.deliver({ ...ask, eventId: `e1-${i}` })
    }
    expect(told).toMatchObject(starting)
    await until(async () => (await relay.deliver(advice)).status === 200)
    await server.restart()
    await bookedAll([instance])
    let number = 3
    // A busy machine may answer one by default.
    while (told.decidedBy !== 'engine') {
      const id = { eventId: `e${number}`, transactionId: `t${number++}` }
      told = await relay.deliver({ ...ask, ...id })
    }
    expect(told).toMatchObject({ decision: 'approve' })
    const ledger = await checkLedger(placeOf(server.url), relay.deliveries)
    expect(ledger).toMatchObject({ differences: [], overHeld: [], declinedYetHeld: [] })
    expect(await instance.stop()).toBe(0)
  })
})

describe('two instances on the same card', () => {
  it('pass no limit together, and repeat an answer byte for byte', {
    timeout: 120_000,
  }, async () => {
    const { url } = await redis()
    const [card = ''] = await seedCards(placeOf(url), ['100.00'])
    const servers = await Promise.all([serve(url), serve(url)])
    const relays = servers.map((server) => createRelay(server.url))
    for (const relay of relays) endings.push(relay.close)
    const askOf = (id: number) => ({
      eventId: `e${id}`,
      requestType: 'Authorization' as const,
      transactionId: `t${id}`,
      cardId: card,
      amountMinor: 300,
      final: null,
    })
    const told: Delivery[] = []
    const approved = () => told.filter(({ decision }) => decision === 'approve').length
    // A busy machine declines some by default, and what those held meanwhile is free again later.
    // 100.00 has room for 33 times 3.00: all that it can, and then some.
    for (let more = 1; more >= 0; more -= approved() < 33 ? 0 : 1) {
      const events = Array.from({ length: 60 }, (_, i) => askOf(told.length + i))
      told.push(...(await Promise.all(events.map((ask, i) => relays[i % 2]!.deliver(ask)))))
    }
    expect(approved()).toBe(33)
    const decided = told.filter(({ decidedBy }) => decidedBy === 'engine')
    const again: Delivery[] = []
    for (let at = 0; at < decided.length; at += 10) {
      // At the other instance than before.
      const repeated = decided.slice(at, at + 10).map(({ event }) => {
        return repeatUntilDecided(
          relays[(told.findIndex((one) => one.event === event) + 1) % 2]!,
          event,
        )
      })
      again.push(...(await Promise.all(repeated)))
    }
    expect(again.map(({ text }) => text)).toEqual(decided.map(({ text }) => text))
    const ledger = await checkLedger(placeOf(url), [...told, ...again])
    expect(ledger).toMatchObject({ differences: [], overHeld: [], unlike: [] })
  })
})
