import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Pack } from '../../../src/domain/decide/pack.ts'
import { distinctAt, sumsAt, type WindowFacts } from '../../../src/domain/decide/window.ts'
import { countedPlace } from '../../../src/domain/record/window-state.ts'
import { createAggregates } from '../../../src/engine/aggregates.ts'
import { sharedCountsKey } from '../../../src/engine/format/layout.ts'
import { createSharedDesk, type SharedDesk } from '../../../src/engine/shared/desk.ts'
import { encodeCounts, readCounts, withIds } from '../../../src/engine/shared/record.ts'
import { openCards, startEngine } from '../../support/engine-world.ts'
import {
  createMemoryState,
  createMemoryStore,
  type MemoryState,
} from '../../support/memory-store.ts'
import { askOf, packOfFiles } from '../../support/rule-world.ts'

const pack: Pack = packOfFiles({
  'windows.yaml':
    '- { name: shop, scope: merchant, over: asks, distinct: card.id, period: { trailing: 1h } }',
  'a.rules.yaml': JSON.stringify([
    { id: 'busy', when: 'windows.shop.count >= 2', decline: '141', why: 'w' },
  ]),
})
const [shop] = pack.sharedWindows!
const desks: SharedDesk[] = []
let versions = 0

function deskOn(
  state: MemoryState,
  { staleMs = 0, maxKeys = 1000, maxPending = 1000, faults = false } = {},
) {
  const clock = { ms: 0 }
  const failing = { now: faults, lostReplies: 0 }
  const store = createMemoryStore(state, {
    faults: () => {
      if (failing.lostReplies-- > 0) return { kind: 'replyLost' }
      return { kind: failing.now ? 'refused' : 'none' }
    },
  })
  const newVersion = () => `v${versions++}`
  const aggregates = createAggregates({ store, newVersion, random: () => 0 })
  const told: string[] = []
  const monoMs = () => clock.ms
  const desk = createSharedDesk({
    aggregates,
    clock: { monoMs },
    staleMs,
    onTrouble: (message) => void told.push(message),
    flushMs: 60_000,
    maxKeys,
    maxPending,
  })
  desks.push(desk)
  const factsAt = (mid: string): WindowFacts => ({ ...askOf({ merchant: { mid } }), shared: desk })
  return {
    desk,
    store,
    aggregates,
    clock,
    failing,
    told,
    count(mid: string, amountMinor = 100) {
      const facts = factsAt(mid)
      const oldest = shop!.bucketOf(facts.atMs, '') - shop!.span + 1
      const bucket = shop!.bucketOf(facts.atMs, '')
      const places = ['shop', `shop ${facts.event.currency}`].map((window) => {
        const at = countedPlace({ names: [window], mid: null }, 'card', bucket, oldest)
        return { key: `merchant ${mid}`, at, windowOldest: oldest }
      })
      desk.count(places, amountMinor)
    },
    /** As an attempt of a card, whose newest bucket tells all. */
    countCard(mid: string, cardId: string) {
      const bucket = shop!.bucketOf(factsAt(mid).atMs, '')
      const at = countedPlace({ names: ['shop'], mid: cardId }, 'card', bucket, bucket)
      const windowOldest = bucket - shop!.span + 1
      desk.count([{ key: `merchant ${mid}`, at, windowOldest }], 100)
    },
    /** Reads first what a decision would read first. */
    async value(mid: string) {
      const facts = factsAt(mid)
      const wanted = desk.missing(pack, facts)
      if (wanted !== null) wanted.fill(await store.load(wanted.keys))
      return { ...sumsAt(shop!, facts), distinct: distinctAt(shop!, facts) }
    },
  }
}

afterEach(async () => {
  for (const desk of desks.splice(0)) await desk.stop()
})

it('writes at its stop also what was counted while its merchant was being written', async () => {
  const state = createMemoryState()
  const { desk, count } = deskOn(state)
  count('M1')
  const writing = desk.stop()
  count('M1')
  await desk.stop()
  expect(await deskOn(state).value('M1')).toMatchObject({ count: 2, sumMinor: 200 })
  await writing
})

describe('windows over several cards', () => {
  it('meet in the store what other instances have counted, and are there after a restart', async () => {
    const state = createMemoryState()
    const [one, two] = [deskOn(state), deskOn(state)]
    one.count('M1')
    two.count('M1', 50)
    two.count('M2')
    expect(await one.value('M1')).toMatchObject({ sumMinor: 100, count: 1 })
    await one.desk.stop()
    await two.desk.stop()
    one.clock.ms = 1
    expect(await one.value('M1')).toMatchObject({ sumMinor: 150, count: 2 })
    expect(await deskOn(state).value('M2')).toMatchObject({ sumMinor: 100, count: 1 })
  })

  it('estimate together how many cards there were, beyond those that they tell apart', async () => {
    const state = createMemoryState()
    const [one, two] = [deskOn(state), deskOn(state)]
    for (let i = 0; i < 100; i++) {
      one.countCard('M1', `C${i}`)
      two.countCard('M1', `C${i + 50}`)
    }
    for (const { desk } of [one, two]) await desk.stop()
    one.clock.ms = 1
    const { distinct } = await one.value('M1')
    expect(Math.abs(distinct - 150)).toBeLessThan(12)
    expect(await deskOn(state).value('M1')).toMatchObject({ distinct })
  })

  it('are not read again while they are fresh, nor where nobody else writes', async () => {
    const { desk, clock } = deskOn(createMemoryState(), { staleMs: 1000 })
    const facts = askOf({ merchant: { mid: 'M1' } })
    const wanted = desk.missing(pack, facts)!
    expect(wanted.keys).toEqual([sharedCountsKey('merchant M1')])
    wanted.fill([undefined])
    expect(desk.missing(pack, facts)).toBeNull()
    clock.ms = 1001
    expect(desk.missing(pack, facts)).not.toBeNull()
    expect(desk.missing(pack, askOf({ merchant: { mid: '' } }))).toBeNull()
  })

  it('count once what was written and not answered', async () => {
    const one = deskOn(createMemoryState())
    one.count('M1')
    one.failing.lostReplies = 2
    await one.desk.stop()
    one.clock.ms = 1
    expect(await one.value('M1')).toMatchObject({ sumMinor: 100, count: 1 })
    one.count('M1', 50)
    await one.desk.stop()
    one.clock.ms = 2
    expect(await one.value('M1')).toMatchObject({ sumMinor: 150, count: 2 })
  })

  it('count once what was written before the store went away for longer than anybody waits', async () => {
    const one = deskOn(createMemoryState(), { faults: true })
    one.count('M1')
    one.failing.lostReplies = 1
    await one.desk.stop()
    one.count('M1', 50)
    one.failing.now = false
    one.clock.ms = 1
    expect(await one.value('M1')).toMatchObject({ sumMinor: 150, count: 2 })
    await one.desk.stop()
    one.clock.ms = 2
    expect(await one.value('M1')).toMatchObject({ sumMinor: 150, count: 2 })
  })

  it('count once what was not answered, also where another instance writes before it is tried again', async () => {
    const state = createMemoryState()
    const one = deskOn(state, { faults: true })
    const other = deskOn(state)
    one.count('M1')
    one.failing.lostReplies = 1
    setTimeout(async () => {
      other.count('M1', 50)
      await other.desk.stop()
      one.failing.now = false
    }, 30)
    await one.desk.stop()
    expect(await deskOn(state).value('M1')).toMatchObject({ sumMinor: 150, count: 2 })
  })

  it('are written once the store is back', async () => {
    const state = createMemoryState()
    const { desk, failing, count, value, clock } = deskOn(state, { faults: true })
    count('M1')
    setTimeout(() => {
      failing.now = false
    }, 30)
    await desk.stop()
    clock.ms = 1
    expect(await value('M1')).toMatchObject({ sumMinor: 100, count: 1 })
    expect(await deskOn(state).value('M1')).toMatchObject({ sumMinor: 100, count: 1 })
  })

  it('are written once the store is back, and what was counted since then, too', async () => {
    const state = createMemoryState()
    const { desk, failing, count } = deskOn(state, { faults: true })
    count('M1')
    await desk.stop()
    count('M1')
    failing.now = false
    await desk.stop()
    expect(await deskOn(state).value('M1')).toMatchObject({ sumMinor: 200, count: 2 })
  })

  it('tell of what is no trouble of the store, and do not try the same again', async () => {
    const { desk, aggregates, told, count } = deskOn(createMemoryState())
    const change = vi.spyOn(aggregates, 'change').mockRejectedValue(new TypeError('a bug'))
    count('M1')
    await desk.stop()
    expect(told).toEqual(['counting failed: TypeError: a bug'])
    await desk.stop()
    expect(change).toHaveBeenCalledTimes(1)
  })

  it('keep no more in memory than they may, and none that is not written', async () => {
    const { desk, count } = deskOn(createMemoryState(), { maxKeys: 10 })
    for (let i = 0; i < 30; i++) count(`M${i}`)
    expect(desk.size).toBe(30)
    await desk.stop()
    expect(desk.size).toBe(10)
  })

  it('write no more than may wait, and count the rest here only', async () => {
    const state = createMemoryState()
    // Each ask counts once for all currencies and once for its own.
    const { desk, count, value } = deskOn(state, { maxPending: 20, staleMs: 1000 })
    await value('M1')
    for (let i = 0; i < 30; i++) count('M1')
    expect(await value('M1')).toMatchObject({ count: 30 })
    await desk.stop()
    expect(await deskOn(state).value('M1')).toMatchObject({ count: 10 })
  })

  it('forget in the store what was counted longest ago, at the bound of a partition', () => {
    const ids = ['a', 'b', 'c'].map((letter) => letter.repeat(16))
    const { root } = withIds(null, ids, 3)
    expect(withIds(root, [ids[0]!, 'd'.repeat(16)], 3)).toEqual({
      root: ids[2]! + ids[0]! + 'd'.repeat(16),
      gone: [ids[1]],
    })
  })

  it('begin anew where a record cannot be read or is of another', () => {
    expect(readCounts('merchant M1', 'nonsense')).toEqual({})
    expect(readCounts('merchant M1', '[1,"merchant M1",5]')).toEqual({})
    const state = { shop: { buckets: [{ index: 1, sumMinor: 5, count: 1 }], merchants: [] } }
    const text = encodeCounts('merchant M1', state)
    expect(readCounts('merchant M1', text)).toEqual(state)
    expect(readCounts('merchant M2', text)).toEqual({})
  })

  it('decide for a card by what others have asked, each card by a commit of its own', async () => {
    const { desk, store } = deskOn(createMemoryState(), { staleMs: Number.POSITIVE_INFINITY })
    const engine = startEngine(store, { pack, shared: desk })
    await openCards(engine, 3)
    const ask = (cardId: string, eventId: string) =>
      engine.ask({ eventId, cardId, transactionId: eventId })
    expect((await ask('card-0', 'e1')).code).toBe('000')
    expect((await ask('card-1', 'e2')).code).toBe('000')
    expect(await ask('card-2', 'e3')).toMatchObject({ code: '141', ruleId: 'busy' })
    engine.stop()
  })
})
