import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { verifyStore } from '../../../src/backoffice/verify.ts'
import { systemClock } from '../../../src/clock.ts'
import { createLedger } from '../../../src/domain/ledger/ledger.ts'
import { importRows } from '../../../src/engine/import.ts'
import { startWarming, type WarmingOptions } from '../../../src/engine/memory/warming.ts'
import { openLmdbStore } from '../../../src/store/lmdb/lmdb.ts'
import { type Key, type Store, StoreError } from '../../../src/store/port.ts'
import { openRedisStore } from '../../../src/store/redis/redis.ts'
import { handed, openCards, startEngine, type TestEngine } from '../../support/engine-world.ts'
import { createRandom, walk } from '../../support/event-generator.ts'
import { createMemoryState, createMemoryStore } from '../../support/memory-store.ts'
import { type RedisServer, startRedis } from '../../support/redis-server.ts'
import {
  fastFolder,
  type RunningServer,
  readMetric,
  startServer,
  until,
} from '../../support/server.ts'
import { accountOf, cardOf, packOf } from '../../support/world.ts'

const seed = Number(process.env.SEED ?? Date.now() % 1_000_000)

let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis?.dispose())

const endings: (() => unknown)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

/** Opens the same store again and again, as processes do that are started one after another. */
type Reopen = () => Promise<Store>

let prefixes = 0

const places: readonly (readonly [name: string, make: () => Reopen])[] = [
  [
    'in memory',
    () => {
      const state = createMemoryState()
      return async () => createMemoryStore(state)
    },
  ],
  [
    'in LMDB',
    () => {
      const folder = fastFolder()
      endings.push(folder.remove)
      return () => openLmdbStore({ folder: folder.path, nowMs: Date.now })
    },
  ],
  [
    'in Redis',
    () => {
      const prefix = `warming-${prefixes++}-`
      return () => openRedisStore({ urls: [redis.url], cluster: false, nowMs: Date.now, prefix })
    },
  ],
]

interface Warmed {
  readonly cards: number
  readonly troubles: readonly string[]
}

async function warm(
  engine: TestEngine,
  store: Store,
  given: Partial<WarmingOptions> = {},
): Promise<Warmed> {
  const troubles: string[] = []
  let cards = -1
  const warming = startWarming({
    engine,
    store,
    clock: systemClock,
    maxCards: 1_000,
    hasRoom: () => true,
    onDone(count) {
      cards = count
    },
    onTrouble: (message) => troubles.push(message),
    ...given,
  })
  endings.push(async () => warming.stop())
  await warming.done
  return { cards, troubles }
}

/** Asks a card, and tells whether memory had all that was needed. */
async function isWarm(engine: TestEngine, cardId: string, amountMinor = 100): Promise<boolean> {
  const before = engine.stats()
  const answer = await engine.ask({ eventId: `warm-${cardId}-${asks++}`, cardId, amountMinor })
  expect(answer).toMatchObject({ code: '000', decidedBy: 'engine' })
  const after = engine.stats()
  return after.loads === before.loads && after.cacheMisses === before.cacheMisses
}

let asks = 0

for (const [place, make] of places) {
  describe(`warming from a store ${place}`, () => {
    it('lets recently active cards be asked without a read after a restart', async () => {
      const reopen = make()
      const first = await reopen()
      const before = startEngine(first)
      await openCards(before, 150)
      for (let i = 0; i < 150; i++) {
        await before.ask({ eventId: `e${i}`, cardId: `card-${i}`, amountMinor: 40_000 })
      }
      await before.idle()
      before.stop()
      await first.close()

      const store = await reopen()
      endings.push(store.close)
      const cold = startEngine(store)
      expect(await isWarm(cold, 'card-149')).toBe(false)
      const engine = startEngine(store)
      expect((await warm(engine, store)).cards).toBe(150)
      expect(engine.stats()).toMatchObject({ warmedCards: 150, cachedAccounts: 150 })
      for (let i = 0; i < 149; i++) expect(await isWarm(engine, `card-${i}`), `${i}`).toBe(true)
      // It is the balance of after the events of before.
      const rest = { eventId: 'rest', cardId: 'card-3', amountMinor: 60_000 }
      expect(await engine.ask(rest)).toMatchObject({ code: '116' })
      expect(engine.stats().conflicts).toBe(0)
    })

    it('reads no more cards than it may, and those that were active last', async () => {
      const reopen = make()
      const store = await reopen()
      endings.push(store.close)
      const before = startEngine(store)
      await openCards(before, 80)
      for (const i of [7, 70, 33]) await before.ask({ eventId: `e${i}`, cardId: `card-${i}` })
      before.stop()
      const engine = startEngine(store)
      expect((await warm(engine, store, { maxCards: 3 })).cards).toBe(3)
      expect(engine.stats()).toMatchObject({ warmedCards: 3, cachedAccounts: 3 })
      for (const i of [7, 70, 33]) expect(await isWarm(engine, `card-${i}`)).toBe(true)
      expect(await isWarm(engine, 'card-8')).toBe(false)
    })
  })
}

describe('warming', () => {
  it('leaves half of memory, and all that was asked, as it is', async () => {
    const store = createMemoryStore()
    const before = startEngine(store)
    await openCards(before, 100)
    before.stop()
    const engine = startEngine(store, { cacheCards: 40 })
    const asked = [3, 14, 15, 92, 65, 35].map((i) => `card-${i}`)
    for (const cardId of asked) expect(await isWarm(engine, cardId)).toBe(false)
    expect((await warm(engine, store)).cards).toBe(14)
    expect(engine.stats().cachedAccounts).toBe(20)
    for (const cardId of asked) expect(await isWarm(engine, cardId)).toBe(true)
  })

  it('ends when the heap has no more room', async () => {
    const store = createMemoryStore()
    const before = startEngine(store)
    await openCards(before, 200)
    let looks = 0
    const engine = startEngine(store)
    const { cards } = await warm(engine, store, { hasRoom: () => looks++ < 2 })
    expect(cards).toBeGreaterThan(0)
    expect(cards).toBeLessThan(200)
  })

  it('reads every card of an account, wherever the log has them', async () => {
    const store = createMemoryStore()
    const before = startEngine(store)
    await openCards(before, 120)
    await openFamily(before, '1000.00')
    for (const cardId of ['mother', ...Array(200).fill('card-5'), 'father']) {
      await before.ask({ eventId: `f${asks++}`, cardId, amountMinor: 1 })
    }
    const engine = startEngine(store)
    await warm(engine, store)
    expect(await isWarm(engine, 'mother')).toBe(true)
    expect(await isWarm(engine, 'father')).toBe(true)
  })

  it('stands back while many events wait, and goes on after them', async () => {
    const state = createMemoryState()
    const before = startEngine(createMemoryStore(state))
    await openCards(before, 100)
    const door = openDoor()
    const faults = () => ({ kind: 'delayed', until: door.opened }) as const
    const store = createMemoryStore(state, { faults })
    const engine = startEngine(store)
    const answers = Promise.all(
      Array.from({ length: 60 }, (_, i) => engine.ask({ eventId: `e${i}`, cardId: 'card-1' })),
    )
    const warmed = warm(engine, store)
    await new Promise((resolve) => setTimeout(resolve, 150))
    expect(engine.stats()).toMatchObject({ warmedCards: 0, queued: 60 })
    door.open()
    expect((await answers).every(({ code }) => code === '000')).toBe(true)
    expect((await warmed).cards).toBe(99)
  })

  it('is tried again when the store cannot be read, and events do not notice', async () => {
    const store = createMemoryStore()
    const before = startEngine(store)
    await openCards(before, 120)
    /** Every other call fails, from the first. */
    const flaky = <A extends readonly unknown[], R>(call: (...args: A) => Promise<R>) => {
      let calls = 0
      return async (...args: A): Promise<R> => {
        if (calls++ % 2 === 1) return call(...args)
        throw new StoreError('failed by the test', 'no')
      }
    }
    const engine = startEngine(store)
    const weak = { ...store, tailLog: flaky(store.tailLog) }
    const shaken = { ...engine, warm: flaky(engine.warm) }
    const warmed = warm(shaken, weak)
    for (let i = 0; i < 40; i++) expect(await isWarm(engine, 'card-7', 1)).toBe(i > 0)
    expect(await warmed).toEqual({ cards: 119, troubles: [] })
  })

  it('ends without a word when it is stopped, while the store is away too', async () => {
    const away = async () => {
      throw new StoreError('away', 'no')
    }
    const store = { ...createMemoryStore(), tailLog: away }
    let told = 0
    const warming = startWarming({
      engine: startEngine(store),
      store,
      clock: systemClock,
      maxCards: 10,
      hasRoom: () => true,
      onDone: () => told++,
      onTrouble: () => told++,
    })
    await new Promise((resolve) => setTimeout(resolve, 30))
    warming.stop()
    await warming.done
    expect(told).toBe(0)
  })

  it('reads nothing for an engine that another has replaced', async () => {
    const store = createMemoryStore()
    await openCards(startEngine(store), 5)
    const engine = startEngine(store, { isRetired: () => true })
    await warm(engine, store)
    expect(engine.stats()).toMatchObject({ warmedCards: 0, cachedAccounts: 0 })
  })

  it('sets aside records that cannot be read, and goes on with the next', async () => {
    const state = createMemoryState()
    const store = createMemoryStore(state)
    await openCards(startEngine(store), 300)
    for (const i of [10, 290]) state.aggregates.get(`a:account-${i}`)!.root = '[99,"newer"]'
    Object.assign(state.log.at(-5)!, { entry: '[99,"newer"]' })
    const engine = startEngine(store)
    const { cards, troubles } = await warm(engine, store)
    expect(troubles).toEqual([])
    expect(engine.stats().damagedAccounts).toBe(2)
    expect(cards).toBeGreaterThanOrEqual(200)
    expect(await isWarm(engine, 'card-150')).toBe(true)
    engine.stop()
  })
})

/** Two cards on one balance; a day allows 50.00 on each. */
async function openFamily(engine: TestEngine, balance: string): Promise<void> {
  const rows = ['mother', 'father'].map((cardId) => ({
    cardId,
    customerId: cardId,
    accountId: 'family',
    type: 'retail',
    currency: 'USD',
    country: 'US',
    cardLimits: { dailyLimit: '50.00', transactionLimit: '50.00' },
    ...(cardId === 'mother' ? { balance } : {}),
  }))
  const { problems } = await importRows(rows, engine)
  expect(problems).toEqual([])
}

interface Door {
  readonly opened: Promise<void>
  open(): void
}

function openDoor(): Door {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open: () => open() }
}

const turns = () => new Promise((resolve) => setTimeout(resolve, 20))

describe('an event that overtakes a read in advance', () => {
  /** An engine that has served some cards; tests say until when its reads and commits wait. */
  async function world(knows: readonly string[]) {
    const state = createMemoryState()
    await openFamily(startEngine(createMemoryStore(state)), '70.00')
    const commits = { until: Promise.resolve() }
    const reads = { until: Promise.resolve() }
    const faults = () => ({ kind: 'delayed', until: commits.until }) as const
    const plain = createMemoryStore(state, { faults })
    const store: Store = {
      ...plain,
      async load(keys) {
        const { until } = keys[0]?.aggregate === 'a:family' ? reads : { until: null }
        const loaded = await plain.load(keys)
        if (until !== null) await until
        return loaded
      },
    }
    const engine = startEngine(store)
    for (const cardId of knows) expect(await isWarm(engine, cardId)).toBe(false)
    return { engine, commits, reads }
  }

  const spend = (engine: TestEngine, cardId: string, amountMinor: number) =>
    engine.ask({ eventId: `spend-${asks++}`, cardId, amountMinor })

  for (const known of [[], ['mother']]) {
    const name = known.length > 0 ? 'whose account is known' : 'that nothing is known of'
    it(`keeps the last word on a card ${name}`, async () => {
      const { engine, reads } = await world(known)
      const door = openDoor()
      reads.until = door.opened
      const warmed = engine.warm(['father'])
      await turns()
      reads.until = Promise.resolve()
      expect(await spend(engine, 'father', 3_000)).toMatchObject({ code: '000' })
      door.open()
      await warmed
      // What the day still allows, and then what the account has.
      expect(await spend(engine, 'father', 2_001)).toMatchObject({ code: '130' })
      expect(await spend(engine, 'father', 2_000)).toMatchObject({ code: '000' })
      expect(await spend(engine, 'mother', 2_001)).toMatchObject({ code: '116' })
      expect(engine.stats().conflicts).toBe(0)
    })

    it(`keeps it while its commit is on the way, on a card ${name}`, async () => {
      const { engine, commits, reads } = await world(known)
      const [readDoor, commitDoor] = [openDoor(), openDoor()]
      reads.until = readDoor.opened
      const warmed = engine.warm(['father'])
      await turns()
      reads.until = Promise.resolve()
      commits.until = commitDoor.opened
      const first = spend(engine, 'father', 3_000)
      await turns()
      readDoor.open()
      await warmed
      commits.until = Promise.resolve()
      commitDoor.open()
      expect(await first).toMatchObject({ code: '000' })
      expect(await spend(engine, 'father', 2_001)).toMatchObject({ code: '130' })
      expect(await spend(engine, 'mother', 4_001)).toMatchObject({ code: '116' })
      expect(engine.stats().conflicts).toBe(0)
    })
  }

  it('of another instance, in the middle of the read, is seen before the next answer', async () => {
    const state = createMemoryState()
    await openFamily(startEngine(createMemoryStore(state)), '70.00')
    const other = startEngine(createMemoryStore(state))
    const plain = createMemoryStore(state)
    let meanwhile: (() => Promise<unknown>) | null = null
    /** Reads one key after another, as a store may; between the first two the other instance is faster. */
    async function load(keys: readonly Key[]) {
      const loaded = []
      for (const key of keys) {
        if (loaded.length === 1 && key.aggregate === 'a:family') await meanwhile?.()
        loaded.push(...(await plain.load([key])))
      }
      return loaded
    }
    const engine = startEngine({ ...plain, load })
    meanwhile = () => spend(other, 'father', 3_000)
    await engine.warm(['father'])
    meanwhile = null
    expect(engine.stats().warmedCards).toBe(1)
    expect(await spend(engine, 'father', 2_001)).toMatchObject({ code: '130' })
    expect(await spend(engine, 'father', 2_000)).toMatchObject({ code: '000' })
  })
})

describe('money', () => {
  it('is the same over random walks in which engines start, get warm and answer at once', async () => {
    for (let run = seed; run < seed + 12; run++) {
      const world = walk(run)
      const random = createRandom(run)
      const pack = packOf(world.switches, world.retentionDays, world)
      const ledger = createLedger()
      const state = createMemoryState()
      let nowMs = 0
      const clock = { nowMs: () => nowMs, monoMs: () => performance.now() }
      /** Reads take a while, so that events overtake them. */
      const start = (): { engine: TestEngine; store: Store } => {
        const plain = createMemoryStore(state)
        const load: Store['load'] = async (keys) => {
          const loaded = await plain.load(keys)
          for (let i = random.between(0, 4); i > 0; i--) await new Promise(setImmediate)
          return loaded
        }
        const store = { ...plain, load }
        return { engine: startEngine(store, { pack, clock, cacheCards: 100 }), store }
      }
      const both = [start(), start()]
      for (const naive of world.cards) {
        const account = accountOf(world.accounts.find((a) => a.accountId === naive.accountId)!)
        const card = cardOf(naive)
        const operation = { type: 'open', account, card, givesBalance: false } as const
        ledger.operate(account.accountId, operation, pack, 0)
        await both[0]!.engine.directory.enter([card], both[0]!.engine.newVersion)
        await both[0]!.engine.operate(account.accountId, operation, '')
      }
      const warmings: Promise<unknown>[] = []
      for (const step of world.steps) {
        if (step.kind === 'expire') continue
        nowMs = step.receivedAtMs
        const at = random.between(0, 1)
        if (random.between(1, 5) === 1) {
          both[at]!.engine.stop()
          both[at] = start()
          warmings.push(warm(both[at].engine, both[at].store))
        }
        const { engine } = both[random.between(0, 1)]!
        const { event, receivedAtMs } = step
        const delivery = { event, slot: event.eventId, receivedAtMs, said: null }
        const { answer } = ledger.deliver(delivery, pack)
        engine.deliver(handed(event, event.eventId, receivedAtMs))
        await engine.idle()
        expect(engine.answers.get(event.eventId), `seed ${run}`).toEqual(answer)
      }
      await Promise.all(warmings)
      const { differences } = await verifyStore(createMemoryStore(state), pack.retentionMs)
      expect(differences, `seed ${run}`).toEqual([])
    }
  })
})

describe('a server', () => {
  async function serve(env: Record<string, string>): Promise<RunningServer> {
    const folder = fastFolder()
    endings.push(folder.remove)
    const server = await startServer({ dataDir: folder.path, env })
    endings.push(server.kill)
    return server
  }

  it('says when its memory is warm, in its log and its metrics', { timeout: 30_000 }, async () => {
    const store = await openRedisStore({ urls: [redis.url], cluster: false, nowMs: Date.now })
    const before = startEngine(store)
    await openCards(before, 70)
    before.stop()
    await store.close()
    const server = await serve({ REDIS_URL: redis.url })
    await until(async () => server.output().includes('"memory is warm"'))
    const line = server
      .output()
      .split('\n')
      .find((one) => one.includes('memory is warm'))
    expect(JSON.parse(line ?? '')).toMatchObject({ level: 'info', cards: 70 })
    await until(async () => (await readMetric(server, 'arbiter_warmed_cards')) === 70)
    const cold = await serve({ REDIS_URL: redis.url, WARM_CARDS: '0' })
    await until(async () => (await readMetric(cold, 'arbiter_warmed_cards')) === 0)
    expect(cold.output()).not.toContain('memory is warm')
    for (const one of [server, cold]) expect(await one.stop()).toBe(0)
  })
})
