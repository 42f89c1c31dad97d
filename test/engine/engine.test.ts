import { describe, expect, it } from 'vitest'
import { showAccount, showCard, showEvent, showTransaction } from '../../src/backoffice/show.ts'
import { verifyStore } from '../../src/backoffice/verify.ts'
import { noVerdict, type Pack } from '../../src/domain/decide/pack.ts'
import { type WindowDefinition, windowAt, windowValue } from '../../src/domain/decide/window.ts'
import { createLedger } from '../../src/domain/ledger/ledger.ts'
import { noAccount } from '../../src/domain/record/account.ts'
import { type Card, noCard } from '../../src/domain/record/card.ts'
import { countsAt } from '../../src/domain/record/merchant-counts.ts'
import { decodeEntry } from '../../src/engine/format/entry-codec.ts'
import { startSweeper } from '../../src/engine/sweeper.ts'
import { windowFile } from '../../src/rules/pack/window-file.ts'
import { StoreError } from '../../src/store/port.ts'
import { encodeBook } from '../support/book-text.ts'
import {
  handed,
  openCards,
  startEngine,
  type TestEngine,
  testEvent,
} from '../support/engine-world.ts'
import { createRandom, walk } from '../support/event-generator.ts'
import {
  createMemoryState,
  createMemoryStore,
  type MemoryState,
  type MemoryStore,
} from '../support/memory-store.ts'
import { accountOf, cardOf, defaultSwitches, packOf } from '../support/world.ts'

const dayMs = 86_400_000

/** Two servers of one store, each with a memory of its own. */
function twoEngines(state: MemoryState): readonly [TestEngine, TestEngine] {
  return [startEngine(createMemoryStore(state)), startEngine(createMemoryStore(state))]
}

describe('the engine', () => {
  it('answers a new ask after its commit, and its duplicate with the same answer', async () => {
    const engine = startEngine(createMemoryStore())
    await openCards(engine, 1)
    const event = { eventId: 'e1', amountMinor: 6000 }
    const first = await engine.ask(event)
    expect(first).toMatchObject({ code: '000', decidedBy: 'engine' })
    expect(await engine.ask(event)).toEqual(first)
    expect(await engine.ask({ eventId: 'e2', amountMinor: 94_001 })).toMatchObject({ code: '116' })
    expect(await engine.ask({ eventId: 'e3', amountMinor: 94_000 })).toMatchObject({ code: '000' })
  })

  it('finds an account that another server opens after an ask came for one of its cards', async () => {
    const [engine, other] = twoEngines(createMemoryState())
    const place = { cardId: 'card-0', accountId: 'account-0' }
    await other.directory.enter([place], other.newVersion)
    const code = async (eventId: string) => (await engine.ask({ eventId })).code
    expect(await code('e1')).not.toBe('000')
    await openCards(other, 1)
    expect(await code('e2')).toBe('000')
  })

  it('shows accounts, cards, transactions and events as they are kept', async () => {
    const store = createMemoryStore()
    const engine = startEngine(store)
    await openCards(engine, 1)
    await engine.ask({ eventId: 'e1', transactionId: 't1', amountMinor: 6000 })
    expect(await showAccount(store, 'account-0')).toMatchObject({
      postedMinor: 100_000,
      heldMinor: 6000,
      withheldMinor: 0,
      availableMinor: 94_000,
      version: expect.any(String),
    })
    expect(await showCard(store, 'card-0')).toMatchObject({ status: 'Active' })
    expect(await showTransaction(store, 'card-0', 't1')).toMatchObject({ openHoldMinor: 6000 })
    const shown = await showEvent(store, 'card-0', 'e1', Date.now(), 45 * dayMs)
    expect(shown).toMatchObject({ answer: { code: '000' }, claims: [expect.any(String)] })
    expect(await showCard(store, 'nobody')).toBeNull()
  })

  it('records declines of the gate of what only waited, but not while it is behind', async () => {
    let go = () => {}
    const until = new Promise<void>((resolve) => {
      go = resolve
    })
    let slow = false
    const faults = () =>
      slow ? ({ kind: 'delayed', until } as const) : ({ kind: 'none' } as const)
    const store = createMemoryStore(createMemoryState(), { faults })
    const engine = startEngine(store)
    await openCards(engine, 1)
    slow = true
    const slots = Array.from({ length: 80 }, (_, i) => `s${i}`)
    const [first, ...others] = slots.map((slot) => handed(testEvent({ eventId: slot }), slot))
    engine.deliver(first!)
    await new Promise((resolve) => setTimeout(resolve, 5))
    const byDefault = {
      decidedBy: 'default',
      cause: 'deadline',
      ruleId: '',
      rulesVersion: '',
    } as const
    const said = { code: '176', ...byDefault, approvedAmountMinor: null } as const
    for (const one of others) {
      engine.deliver(one)
      engine.say({ ...one, said })
    }
    // What is withdrawn is over at once; what is recorded waits for the commit before it.
    expect(engine.booked.size).toBe(80 - 64)
    slow = false
    go()
    await engine.idle()
    expect(engine.booked.size).toBe(79)
    const entries = (await store.readLog('', 200)).map(({ entry }) => decodeEntry(entry))
    const declined = entries.filter(({ kind }) => kind === 'said')
    expect(declined).toHaveLength(63)
    expect(engine.answers.get('s0')?.code).toBe('000')
  })

  it.each([
    ['while it was on its way', [], '176', 0],
    ['when it was to be tried again', ['000'], '000', 6000],
  ] as const)(
    'follows the last word of a slot when the command with an earlier one fails, said %s',
    async (_, then, code, heldMinor) => {
      const store = createMemoryStore()
      let fail: (() => void) | null = null
      let isAway = false
      const commit: typeof store.commit = async (commands) => {
        if (!isAway) return store.commit(commands)
        await new Promise<void>((resolve) => {
          fail = resolve
        })
        throw new StoreError('away', 'no')
      }
      const engine = startEngine({ ...store, commit }, { random: () => 1 })
      await openCards(engine, 1)
      const one = handed(testEvent({ eventId: 'e1', transactionId: 't1', amountMinor: 6000 }), 's1')
      const said = {
        code: '000',
        decidedBy: 'default',
        cause: 'deadline',
        ruleId: '',
        approvedAmountMinor: null,
        rulesVersion: '',
      } as const
      isAway = true
      engine.say({ ...one, said })
      await expect.poll(() => fail).not.toBeNull()
      engine.say({ ...one, said: { ...said, code: '176' } })
      isAway = false
      fail!()
      await new Promise(setImmediate)
      for (const next of then) engine.say({ ...one, said: { ...said, code: next } })
      await engine.idle()
      expect(await showAccount(store, 'account-0')).toMatchObject({ heldMinor })
      const shown = await showEvent(store, 'card-0', 'e1', Date.now(), 45 * dayMs)
      expect(shown).toMatchObject({ answer: { code } })
      expect(engine.booked).toEqual(new Set(['s1']))
    },
  )

  it('puts 256 items of an account into one command, and the rest into the next', async () => {
    const store = createMemoryStore(createMemoryState())
    const counts: number[] = []
    const commit: typeof store.commit = (commands) => {
      counts.push(...commands.map(({ log }) => log.length))
      return store.commit(commands)
    }
    const engine = startEngine({ ...store, commit })
    await openCards(engine, 1)
    counts.length = 0
    const asks = Array.from({ length: 300 }, (_, i) => engine.ask({ eventId: `e${i}` }))
    expect((await Promise.all(asks)).every(({ code }) => code === '000')).toBe(true)
    expect(counts).toEqual([256, 44])
    engine.stop()
  })

  it('answers an event for an unknown card, its duplicates too', async () => {
    const engine = startEngine(createMemoryStore())
    const ask = { eventId: 'e1', cardId: 'nobody' }
    expect(await engine.ask(ask)).toMatchObject({ code: '148' })
    expect(await engine.ask(ask)).toMatchObject({ code: '148' })
    const advice = { eventId: 'e2', cardId: 'nobody', requestType: 'Settlement' } as const
    expect(await engine.ask(advice)).toMatchObject({ code: '000' })
  })

  it('serves one account from several engines without a lost update', async () => {
    const state = createMemoryState()
    const engines = [0, 1, 2, 3].map(() => startEngine(createMemoryStore(state)))
    await openCards(engines[0]!, 1)
    const answers = await Promise.all(
      engines.flatMap((engine, e) =>
        Array.from({ length: 250 }, (_, i) =>
          engine.ask({ eventId: `e${e}-${i}`, amountMinor: 200 }),
        ),
      ),
    )
    const approved = answers.filter(({ code }) => code === '000').length
    expect(approved).toBe(500)
    const shown = await showAccount(createMemoryStore(state), 'account-0')
    expect(shown).toMatchObject({ heldMinor: 100_000, availableMinor: 0 })
  })

  it('takes no operation for done that another engine has undone since', async () => {
    const state = createMemoryState()
    const [one, two] = twoEngines(state)
    const change = (engine: TestEngine, status: Card['status']) => {
      const operation = { type: 'changeCard', cardId: 'card-0', set: { status } } as const
      return engine.operate('account-0', operation, 'a test')
    }
    await openCards(one, 1)
    expect(await change(one, 'Frozen')).toEqual({ refused: '', changed: true })
    expect(await change(two, 'Active')).toEqual({ refused: '', changed: true })
    // In its memory the card is still frozen.
    expect(await change(one, 'Frozen')).toEqual({ refused: '', changed: true })
    expect(await two.ask({ eventId: 'e1', amountMinor: 100 })).toMatchObject({ code: '117' })
  })

  it('meets one conflict, and not one for each account, where a look tells what others wrote', async () => {
    const state = createMemoryState()
    const hasVersion = (aggregate: string, version: string) =>
      state.aggregates.get(aggregate)?.version === version
    const looking = startEngine({ ...createMemoryStore(state), hasVersion })
    const [blind, other] = twoEngines(state)
    await openCards(other, 5)
    const askAll = async (engine: TestEngine, run: string) => {
      for (let i = 0; i < 5; i++) {
        const event = { eventId: `${run}${i}`, cardId: `card-${i}`, amountMinor: 100 }
        expect(await engine.ask(event)).toMatchObject({ code: '000' })
      }
    }
    await askAll(looking, 'a')
    await askAll(blind, 'b')
    await askAll(looking, 'c')
    expect(looking.stats().conflicts).toBe(1)
    await askAll(blind, 'd')
    expect(blind.stats().conflicts).toBe(5)
    const shown = await showAccount(createMemoryStore(state), 'account-4')
    expect(shown).toMatchObject({ heldMinor: 400 })
  })

  it('forgets that an account is not opened, for another engine may open it', async () => {
    const state = createMemoryState()
    const [one, two] = twoEngines(state)
    // As while cards are imported that are in use: the directory has them first.
    await two.directory.enter([{ cardId: 'card-0', accountId: 'account-0' }], two.newVersion)
    const freeze = { type: 'changeCard', cardId: 'card-0', set: { status: 'Frozen' } } as const
    expect(await one.ask({ eventId: 'e1', amountMinor: 100 })).toMatchObject({ code: '148' })
    expect((await one.operate('account-0', freeze, 'a test')).refused).not.toBe('')
    await openCards(two, 1)
    expect(await one.ask({ eventId: 'e2', amountMinor: 100 })).toMatchObject({ code: '000' })
    expect(await one.operate('account-0', freeze, 'a test')).toEqual({ refused: '', changed: true })
  })

  it('books what came longer ago than events are remembered, and goes on', async () => {
    const time = { ms: 20_000 * dayMs }
    const nowMs = () => time.ms
    const store = createMemoryStore(undefined, { nowMs })
    const engine = startEngine(store, { clock: { nowMs, monoMs: nowMs } })
    await openCards(engine, 1)
    time.ms += 200 * dayMs
    const event = testEvent({ eventId: 'e1', amountMinor: 100 })
    engine.deliver(handed(event, 'old', 20_001 * dayMs))
    await engine.idle()
    expect(engine.answers.get('old')).toMatchObject({ code: '000' })
    const groups = Object.keys(store.dump().aggregates['a:account-0']!.groups)
    expect(groups.filter((group) => group.startsWith('e@'))).toEqual([])
  })

  it('fails no change for what only an old copy lacks', async () => {
    const state = createMemoryState()
    const [one, two] = twoEngines(state)
    await openCards(one, 1)
    const statusAt = (engine: TestEngine) =>
      engine.change({
        accountId: 'account-0',
        origin: 'a test',
        decide({ card }) {
          const found = card('card-9')
          if (found === null) throw new Error('a card that was there is gone')
          return { result: found.status, write: {} }
        },
      })
    await expect(statusAt(one)).rejects.toThrow('gone')
    const account = { ...noAccount, accountId: 'account-0', currency: 'USD', country: 'US' }
    const card = { ...noCard, cardId: 'card-9', accountId: 'account-0', customerId: 'customer' }
    const opening = { type: 'open', account, card, givesBalance: false } as const
    expect(await two.operate('account-0', opening, 'a test')).toMatchObject({ refused: '' })
    expect(await statusAt(one)).toBe('Active')
  })

  it('never passes a limit per merchant or of merchants from several engines', async () => {
    const windows = [
      { name: 'each', scope: 'card-and-merchant', period: { trailing: '31d' } },
      { name: 'shops', scope: 'card', period: { trailing: '31d' }, distinct: true },
    ].map((window) => windowFile.parse(window))
    const plain = packOf(defaultSwitches, 45, { windows })
    const [, each, shops] = plain.windows as [WindowDefinition, WindowDefinition, WindowDefinition]
    /** At most 1000 a merchant, and three merchants. */
    const pack: Pack = {
      ...plain,
      evaluate(facts) {
        const here = windowAt(each, facts)
        const asked = facts.event.amountMinor ?? 0
        const isNew = here.count === 0 && windowAt(shops, facts).distinct >= 3
        if (here.sumMinor + asked <= 1000 && !isNew) return noVerdict
        return { ...noVerdict, decline: { ruleId: 'limit', code: '130' } }
      },
    }
    const state = createMemoryState()
    const engines = [0, 1].map(() => startEngine(createMemoryStore(state), { pack }))
    await openCards(engines[0]!, 1)
    const random = createRandom(1)
    const asks = Array.from({ length: 300 }, (_, i) => ({
      eventId: `e${i}`,
      amountMinor: random.between(1, 120),
      merchant: { ...testEvent({ eventId: '' }).merchant, mid: `M${random.between(1, 6)}` },
    }))
    const answers = await Promise.all(asks.map((ask, i) => engines[i % 2]!.ask(ask)))
    const approved = asks.filter((_, i) => answers[i]!.code === '000')
    const spent = new Map<string, typeof approved>()
    for (const ask of approved) {
      const { mid } = ask.merchant
      spent.set(mid, [...(spent.get(mid) ?? []), ask])
    }
    expect(spent.size).toBe(3)
    const found = (await showCard(createMemoryStore(state), 'card-0')) as unknown as Card
    for (const [mid, of] of spent) {
      const sumMinor = of.reduce((sum, { amountMinor }) => sum + amountMinor, 0)
      expect(sumMinor).toBeLessThanOrEqual(1000)
      expect(sumMinor).toBeGreaterThan(880)
      const value = windowValue(countsAt(found.merchantCounts, mid), each, Date.now())
      expect(value).toMatchObject({ sumMinor, count: of.length })
    }
    const value = windowValue(found.windows, shops, Date.now())
    expect(value).toMatchObject({ count: approved.length, distinct: 3 })
  })

  it('writes what crowds windows as the log leads to it, from two engines', async () => {
    const windows = ['day', 'week', 'month'].map((period) =>
      windowFile.parse({ name: `shops_${period}`, scope: 'card', period, distinct: true }),
    )
    const pack = packOf(defaultSwitches, 45, { windows })
    const state = createMemoryState()
    const engines = [0, 1].map(() => startEngine(createMemoryStore(state), { pack }))
    await openCards(engines[0]!, 1)
    for (let i = 0; i < 90; i++) {
      const merchant = { ...testEvent({ eventId: '' }).merchant, mid: `M${i}` }
      await engines[Math.floor(i / 10) % 2]!.ask({ eventId: `e${i}`, amountMinor: 5, merchant })
    }
    const store = createMemoryStore(state)
    expect((await verifyStore(store, pack.retentionMs)).differences).toEqual([])
    const found = (await showCard(store, 'card-0')) as unknown as Card
    for (const window of pack.windows.slice(1)) {
      const { distinct } = windowValue(found.windows, window, Date.now())
      expect(Math.abs(distinct - 90)).toBeLessThan(9)
    }
  })

  it('gives duplicates at several engines the same answer and one effect', async () => {
    const state = createMemoryState()
    const engines = [0, 1, 2].map(() => startEngine(createMemoryStore(state)))
    await openCards(engines[0]!, 1)
    for (let i = 0; i < 50; i++) {
      const event = { eventId: `e${i}`, amountMinor: 1500 }
      const [first, ...others] = await Promise.all(engines.map((engine) => engine.ask(event)))
      for (const other of others) expect(other).toEqual(first)
    }
    const shown = await showAccount(createMemoryStore(state), 'account-0')
    expect(shown).toMatchObject({ heldMinor: 75_000 })
  })

  it('commits after what an engine before it wrote for a slot, where the store can lose that', async () => {
    const state = createMemoryState()
    const first = startEngine(createMemoryStore(state))
    await openCards(first, 1)
    const advice = testEvent({ eventId: 'e1', requestType: 'Settlement', amountMinor: 5000 })
    const said = await first.ask(advice)
    const losses = { watch() {}, look: async () => {}, resume: async () => {} }
    for (const [store, commits] of [
      [{ ...createMemoryStore(state), losses }, 1],
      [createMemoryStore(state), 0],
    ] as const) {
      const next = startEngine(store)
      next.say({ ...handed(advice, 'again'), said })
      await next.idle()
      expect([next.booked.has('again'), next.stats().commits]).toEqual([true, commits])
    }
  })

  it('commits before it tells what another server wrote, where the store can lose that', async () => {
    const state = createMemoryState()
    const first = startEngine(createMemoryStore(state))
    await openCards(first, 1)
    const advice = testEvent({ eventId: 'e1', requestType: 'Settlement', amountMinor: 5000 })
    const answer = await first.ask(advice)
    const losses = { watch() {}, look: async () => {}, resume: async () => {} }
    const second = startEngine({ ...createMemoryStore(state), losses })
    expect(await second.ask(advice)).toEqual(answer)
    // The first guessed that the event is new, and was refused.
    expect(second.stats().commits).toBe(2)
  })

  it('takes nothing from another server that answers in between for that of the root it has', async () => {
    const state = createMemoryState()
    const losses = { watch() {}, look: async () => {}, resume: async () => {} }
    const here = createMemoryStore(state)
    let there: MemoryStore | null = null
    const engine = startEngine({
      ...here,
      losses,
      load(keys) {
        const answering = there ?? here
        there = null
        return answering.load(keys)
      },
    })
    await openCards(engine, 1)
    const behind = structuredClone(state)
    const advice = testEvent({ eventId: 'e1', requestType: 'Settlement', amountMinor: 5000 })
    const said = await engine.ask(advice)
    there = createMemoryStore(behind)
    // What was said is looked up: the other server does not have it.
    engine.say({ ...handed(advice, 'again'), said })
    await engine.idle()
    expect([there, engine.booked.has('again')]).toEqual([null, true])
    expect(await showAccount(here, 'account-0')).toMatchObject({ postedMinor: 95_000 })
  })

  it('expires holds by an internal event, on one of several engines, once', async () => {
    const state = createMemoryState()
    let nowMs = Date.now()
    const clock = { nowMs: () => nowMs, monoMs: () => performance.now() }
    const stores = [0, 1].map(() => createMemoryStore(state))
    const engines = stores.map((store) => startEngine(store, { clock }))
    let doubted = false
    await openCards(engines[0]!, 3)
    for (let i = 0; i < 3; i++) {
      await engines[i % 2]!.ask({ eventId: `e${i}`, cardId: `card-${i}`, amountMinor: 500 })
    }
    const sweepers = engines.map((engine, i) =>
      startSweeper({
        engine,
        store: stores[i]!,
        clock: { ...clock, isDoubted: () => doubted },
        intervalMs: 3_600_000,
        logRetentionMs: 400 * dayMs,
        onError: (error) => {
          throw error
        },
      }),
    )
    await Promise.all(sweepers.map((sweeper) => sweeper.sweep()))
    expect(await showAccount(stores[0]!, 'account-1')).toMatchObject({ heldMinor: 500 })
    nowMs += 8 * dayMs
    doubted = true
    await Promise.all(sweepers.map((sweeper) => sweeper.sweep()))
    expect(await showAccount(stores[0]!, 'account-1')).toMatchObject({ heldMinor: 500 })
    doubted = false
    await Promise.all(sweepers.map((sweeper) => sweeper.sweep()))
    for (let i = 0; i < 3; i++) {
      expect(await showAccount(stores[0]!, `account-${i}`)).toMatchObject({ heldMinor: 0 })
    }
    const log = (await stores[0]!.readLog('', 1000)).map(({ entry }) => decodeEntry(entry))
    const expiries = log.filter(({ changes }) => changes.some(({ type }) => type === 'expired'))
    expect(expiries).toHaveLength(3)
    nowMs += 60 * dayMs
    await sweepers[0]!.sweep()
    expect(await showTransaction(stores[0]!, 'card-0', 'e0')).toBeNull()
    expect(await stores[0]!.range('due', '', 10)).toEqual([])
    for (const sweeper of sweepers) sweeper.stop()
  })

  it('keeps what the ledger keeps, over random walks', async () => {
    const count = process.env.TORTURE ? 2_000 : 12
    // In 168 a window has nothing left but an old count of one merchant when its card is read again.
    for (const seed of [168, ...Array.from({ length: count }, (_, i) => i + 1)]) {
      const world = walk(seed)
      const pack = packOf(world.switches, world.retentionDays, world)
      const ledger = createLedger()
      const store = createMemoryStore()
      let nowMs = 0
      const clock = { nowMs: () => nowMs, monoMs: () => performance.now() }
      const engine = startEngine(store, { pack, clock, cacheCards: 1 })
      for (const naive of world.cards) {
        const account = accountOf(world.accounts.find((a) => a.accountId === naive.accountId)!)
        const card = cardOf(naive)
        const operation = { type: 'open', account, card, givesBalance: false } as const
        ledger.operate(account.accountId, operation, pack, 0)
        await engine.directory.enter([card], engine.newVersion)
        await engine.operate(account.accountId, operation, '')
      }
      for (const step of world.steps) {
        if (step.kind !== 'deliver') continue
        nowMs = step.receivedAtMs
        const { event, receivedAtMs } = step
        const delivery = { event, slot: event.eventId, receivedAtMs, said: null }
        const { answer } = ledger.deliver(delivery, pack)
        engine.deliver(handed(event, event.eventId, receivedAtMs))
        await engine.idle()
        expect(engine.answers.get(event.eventId), `seed ${seed}`).toEqual(answer)
      }
      for (const accountId of new Set(world.cards.map((card) => card.accountId))) {
        const rows = Object.values(encodeBook(ledger.book(accountId)))
        expect(recordsOf(store, accountId), `seed ${seed}`).toEqual(rows.sort())
      }
      const { differences, tooShort } = await verifyStore(store, pack.retentionMs)
      expect([...differences, ...tooShort], `seed ${seed}`).toEqual([])
    }
  }, 600_000)
})

/** Every record of one account, as it is kept. */
function recordsOf(store: MemoryStore, accountId: string): string[] {
  const { root, groups } = store.dump().aggregates[`a:${accountId}`]!
  return [root, ...Object.values(groups).flatMap((rows) => rows.map(([, value]) => value))].sort()
}
