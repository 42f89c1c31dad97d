import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { createRedisKeys } from '../../src/store/redis/keys.ts'
import { checkLedger, seedCards } from '../support/ledger-check.ts'
import { durable, type RedisServer } from '../support/redis-server.ts'
import {
  bookedAll,
  openRedisWorld,
  placeOf,
  reportAnswers,
  someBalances,
} from '../support/redis-world.ts'
import { createRelay, type Delivery, firstDeliveries, type Relay } from '../support/relay.ts'
import {
  fastFolder,
  readiness,
  readMetric,
  startServer,
  until,
  usualBudget,
} from '../support/server.ts'
import { isExcused, ownMs, type StallWitness, startWitness } from '../support/stall-witness.ts'

const contractLimitMs = 400
const defaults = process.env.TORTURE ? (['decline', 'approve'] as const) : (['decline'] as const)

const { endings, redis, serve, loadOn, close } = openRedisWorld()
afterEach(close)

describe('several instances on the same cards', () => {
  it('are fair: on one account no event in a hundred reaches its deadline', {
    timeout: 60_000,
  }, async () => {
    const { url } = await redis()
    const [card = '', ...others] = await seedCards(placeOf(url), Array(20).fill('1000000.00'))
    const servers = await Promise.all(Array.from({ length: 4 }, () => serve(url)))
    const relays = servers.map((server) => createRelay(server.url))
    const witness = startWitness()
    endings.push(witness.stop)
    const spend = async (cards: readonly string[], seconds: number, rate: number) => {
      const loads = relays.map((relay, i) => loadOn(relay, cards, rate, i + 1))
      await sleep(seconds * 1_000)
      for (const load of loads) await load.stop()
      await bookedAll(servers)
    }
    // A process that has just started runs its code uncompiled, and here are four on few cores.
    await spend(others, 2, 30)
    const before = relays.map((relay) => relay.deliveries.length)
    await spend([card], 4, 25)
    const hot = relays.flatMap((relay, i) => relay.deliveries.slice(before[i]))
    const deliveries = relays.flatMap((relay) => relay.deliveries)
    const conflicts = await Promise.all(
      servers.map((server) => readMetric(server, 'arbiter_store_conflicts')),
    )
    reportAnswers(`four on one account, ${conflicts.join(', ')} conflicts`, hot)
    const byDefault = firstDeliveries(hot).filter(({ decidedBy }) => decidedBy !== 'engine')
    const late = byDefault.filter((each) => !isExcused(witness, each))
    expect(late.length / hot.length).toBeLessThan(0.01)
    expect(Math.min(...conflicts)).toBeGreaterThan(0)
    const ledger = await checkLedger(placeOf(url), deliveries)
    expect(ledger).toMatchObject({ differences: [], overHeld: [], declinedYetHeld: [] })
  })
})

it('a server that is asked nothing tells that Redis is away, and that it is back', {
  timeout: 60_000,
}, async () => {
  const server = await redis()
  const idle = await serve(server.url)
  await until(async () => (await readiness(idle)).status === 'ready')
  await server.kill()
  await until(async () => (await readiness(idle)).store === 'unavailable', 10)
  await server.restart()
  await until(async () => (await readiness(idle)).status === 'ready', 10)
})

it('a server that starts while Redis is a replica tells why it cannot decide, and decides when it is none', {
  timeout: 60_000,
}, async () => {
  const master = await redis()
  const server = await redis({ ...durable, replicaof: `127.0.0.1 ${master.port}` })
  const waiting = await serve(server.url)
  await until(
    async () => (await readiness(waiting)).storeProblem?.includes('READONLY') === true,
    20,
  )
  await server.command('REPLICAOF', 'NO', 'ONE')
  await until(async () => (await readiness(waiting)).status === 'ready', 20)
  expect(await readiness(waiting)).not.toHaveProperty('storeProblem')
})

it('a server that serves while Redis is away goes on also when what it finds then is refused', {
  timeout: 100_000,
}, async () => {
  const server = await redis()
  const { meta } = createRedisKeys('', 16)
  await server.command('HSET', meta, 'format', '9', 'partitions', '16', 'name', 'other')
  await server.kill()
  const taken = createServer()
  await once(taken.listen(0, '127.0.0.1'), 'listening')
  endings.push(() => void taken.close())
  const { port } = taken.address() as AddressInfo
  const SECRETS_KEY = randomBytes(32).toString('base64')
  const serving = await serve(server.url, { API_PORT: String(port), SECRETS_KEY })
  await server.restart()
  await until(
    async () => (await readiness(serving)).storeProblem?.includes('format 9') === true,
    20,
  )
  await server.command('DEL', meta)
  const tells = (text: string) => until(async () => serving.output().includes(text), 20)
  await tells('the management API cannot start: the management API cannot listen')
  await until(async () => (await readiness(serving)).engine === 'running', 20)
  taken.close()
  await until(async () => (await readiness(serving)).status === 'ready', 30)
  expect(await serving.stop()).toBe(0)
})

const recoveryMs = 1_000
const awayMs = 3_000

/** When Redis was away. */
interface Outage {
  readonly untilMonoMs: number
  /** Its first PONG. */
  readonly backMonoMs: number
}

async function outage(
  redis: RedisServer,
  go: () => Promise<void> | void,
  comeBack: () => Promise<void> | void,
): Promise<Outage> {
  await go()
  await sleep(awayMs)
  const untilMonoMs = performance.now()
  await comeBack()
  await until(async () => (await redis.command('PING').catch(() => '')) === 'PONG')
  return { untilMonoMs, backMonoMs: performance.now() }
}

/** What happens to Redis, or to an instance, while the load goes on. */
const troubles: readonly (readonly [
  name: string,
  act: (world: World) => Promise<Outage | undefined>,
])[] = [
  ['Redis hangs for 3 s', async ({ redis }) => outage(redis, redis.pause, redis.resume)],
  [
    'Redis is killed and starts again',
    async ({ redis }) => outage(redis, redis.kill, redis.restart),
  ],
  [
    'the functions are flushed',
    async ({ redis }) => void (await redis.command('FUNCTION', 'FLUSH')),
  ],
  ['an instance is killed and starts again', async ({ replaceFirst }) => replaceFirst()],
]

interface World {
  readonly redis: RedisServer
  replaceFirst(): Promise<undefined>
}

const ratePerSecond = process.env.TORTURE ? 50 : 30

describe('two instances on one Redis in trouble', () => {
  for (const decision of defaults) {
    const name = `answer every event in time, decide again within a second, and the ledger agrees (default ${decision})`
    it(name, { timeout: 120_000 }, async () => {
      const server = await redis()
      const cards = await seedCards(placeOf(server.url), someBalances)
      const env = { REDIS_URL: server.url, DEFAULT_DECISION: decision }
      const folders = [fastFolder(), fastFolder()]
      for (const folder of folders) endings.push(folder.remove)
      const start = async (i: number) => {
        const started = await startServer({ dataDir: folders[i]!.path, env })
        endings.push(started.kill)
        return started
      }
      const instances = [await start(0), await start(1)]
      const relays = instances.map(({ url }) => createRelay(url))
      const loads = relays.map((relay, i) => loadOn(relay, cards, ratePerSecond, i + 1))
      const witness = startWitness()
      endings.push(witness.stop)
      const world: World = {
        redis: server,
        async replaceFirst() {
          await instances[0]!.kill()
          instances[0] = await start(0)
          relays[0]!.moveTo(instances[0].url)
        },
      }
      // A process that has just started runs its code uncompiled.
      await sleep(2_000)
      for (const [trouble, act] of troubles) {
        const before = relays.map(({ deliveries }) => deliveries.length)
        const away = await act(world)
        if (away === undefined) await sleep(800)
        else {
          await Promise.all(relays.map((relay) => decidesAgain(relay, witness, away, trouble)))
        }
        await bookedAll(instances)
        const told = relays.flatMap(({ deliveries }, i) => deliveries.slice(before[i]))
        reportAnswers(`${decision}, ${trouble}`, told)
        const late = told.filter((each) => ownMs(witness, each) >= contractLimitMs)
        expect(late, trouble).toEqual([])
        // An instance that is dead answers nothing: the relay's own default holds then.
        if (!trouble.includes('instance')) {
          expect(
            told.filter((each) => each.status !== 200 && !isExcused(witness, each)),
            trouble,
          ).toEqual([])
        }
      }
      for (const load of loads) await load.stop()
      await bookedAll(instances)
      const deliveries = relays.flatMap((relay) => relay.deliveries)
      const ledger = await checkLedger(placeOf(server.url), deliveries)
      expect(ledger).toMatchObject({ differences: [], declinedYetHeld: [] })
      console.log(
        `${decision}: ${ledger.overHeld.length} over-held by the instance that was killed`,
      )
      for (const instance of instances) expect(await instance.stop()).toBe(0)
    })
  }
})

/** The engine does, within a second of the first PONG; before that there was nothing but the default. */
async function decidesAgain(
  relay: Relay,
  witness: StallWitness,
  { untilMonoMs, backMonoMs }: Outage,
  trouble: string,
): Promise<void> {
  const answeredMonoMs = ({ sentMonoMs, ms }: Delivery) => sentMonoMs + ms
  const first = () =>
    relay.deliveries.find(
      (each) => each.decidedBy === 'engine' && answeredMonoMs(each) > backMonoMs,
    )
  await until(async () => first() !== undefined)
  const firstMonoMs = answeredMonoMs(first()!)
  // The machine's own delays are not the server's.
  const stalledMs = witness.stalledMs(backMonoMs, firstMonoMs)
  const tookMs = firstMonoMs - backMonoMs - stalledMs
  console.log(
    `${trouble}: decides again ${Math.round(tookMs)} ms after it is back, machine stalled ${Math.round(stalledMs)} ms`,
  )
  expect(tookMs, trouble).toBeLessThan(recoveryMs)
  await sleep(1.5 * recoveryMs)
  const told = firstDeliveries(relay.deliveries)
  const later = told.filter((each) => each.sentMonoMs > backMonoMs + recoveryMs)
  const byDefault = later.filter(({ decidedBy }) => decidedBy !== 'engine')
  expect(later.length, trouble).toBeGreaterThan(10)
  expect(
    byDefault.filter((each) => !isExcused(witness, each)),
    trouble,
  ).toEqual([])
  const during = told.filter(
    (each) => answeredMonoMs(each) > untilMonoMs - awayMs / 2 && answeredMonoMs(each) < untilMonoMs,
  )
  expect(during.length, trouble).toBeGreaterThan(10)
  expect(
    during.filter(({ decidedBy }) => decidedBy === 'engine'),
    trouble,
  ).toEqual([])
}

describe('a stand-in policy', () => {
  it('approves small purchases of cards in memory while Redis is away, and no more', {
    timeout: 60_000,
  }, async () => {
    const server = await redis()
    const [warm = '', poor = '', cold = ''] = await seedCards(placeOf(server.url), [
      '1000.00',
      '5.00',
      '1000.00',
    ])
    const rules = fastFolder()
    endings.push(rules.remove)
    const policy = 'standIn: { maxAmount: 20, perCard: { count: 3, total: 50 } }\n'
    writeFileSync(join(rules.path, 'pack.yaml'), policy)
    const instance = await serve(server.url, { ...usualBudget, RULES_DIR: rules.path })
    const relay = createRelay(instance.url)
    endings.push(relay.close)
    let number = 0
    const ask = async (
      cardId: string,
      amountMinor: number,
      requestType: 'Authorization' | 'CashWithdrawal',
    ) => {
      const id = number++
      const event = {
        eventId: `e${id}`,
        transactionId: `t${id}`,
        requestType,
        cardId,
        amountMinor,
        final: null,
      }
      const { decision, decidedBy, cause } = await relay.deliver(event)
      return `${decision} by ${decidedBy} ${cause}`.trim()
    }
    expect(await ask(warm, 100, 'Authorization')).toBe('approve by engine')
    expect(await ask(poor, 100, 'Authorization')).toBe('approve by engine')
    await server.kill()
    // The first to meet the outage.
    await ask(warm, 2_100, 'Authorization')
    const away = 'by default storeUnavailable'
    expect(await ask(warm, 2_100, 'Authorization')).toBe(`decline ${away}`)
    expect(await ask(warm, 100, 'CashWithdrawal')).toBe(`decline ${away}`)
    expect(await ask(cold, 100, 'Authorization')).toBe(`decline ${away}`)
    expect(await ask(poor, 500, 'Authorization')).toBe(`decline ${away}`)
    expect(await ask(warm, 2_000, 'Authorization')).toBe(`approve ${away}`)
    expect(await ask(warm, 2_000, 'Authorization')).toBe(`approve ${away}`)
    // Three would be 60.00.
    expect(await ask(warm, 2_000, 'Authorization')).toBe(`decline ${away}`)
    expect(await ask(warm, 1_000, 'Authorization')).toBe(`approve ${away}`)
    expect(await ask(warm, 1, 'Authorization')).toBe(`decline ${away}`)
    expect(await ask(poor, 300, 'Authorization')).toBe(`approve ${away}`)
    expect(await ask(poor, 200, 'Authorization')).toBe(`decline ${away}`)
    await server.restart()
    await bookedAll([instance])
    const ledger = await checkLedger(placeOf(server.url), relay.deliveries)
    expect(ledger).toMatchObject({ differences: [], overHeld: [], declinedYetHeld: [] })
    expect(await instance.stop()).toBe(0)
  })
})
