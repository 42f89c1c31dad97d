import { expect, it, vi } from 'vitest'
import type { Pack } from '../../../src/domain/decide/pack.ts'
import { noAccount } from '../../../src/domain/record/account.ts'
import { noCard } from '../../../src/domain/record/card.ts'
import { accountCodec, cardCodec } from '../../../src/engine/format/codec.ts'
import { newDeliveryItem } from '../../../src/engine/item.ts'
import { type CachedAccount, createCache } from '../../../src/engine/memory/cache.ts'
import { createStandInDesk } from '../../../src/engine/stand-in/desk.ts'
import { StoreError } from '../../../src/store/port.ts'
import { handed, openCards, startEngine, testEvent } from '../../support/engine-world.ts'
import { createMemoryState, createMemoryStore, type Fault } from '../../support/memory-store.ts'
import { defaultSwitches, packOf } from '../../support/world.ts'

const money = { USD: 1_000_000 }
const pack: Pack = packOf({
  ...defaultSwitches,
  standIn: { maxMinor: money, perCardCount: 5, perCardTotalMinor: money },
})

const account = { ...noAccount, accountId: 'A1', currency: 'USD', postedMinor: 100_000 }
const card = { ...noCard, cardId: 'card-0', accountId: 'A1', status: 'Active' } as const

/** An account with one card in an engine's memory. */
function memoryOf(aggregate: string): CachedAccount {
  const cached = createCache(1).open(aggregate)
  cached.loaded = true
  cached.root = accountCodec.encode(account)
  cached.cards.set('card-0', cardCodec.encode(card))
  return cached
}

/** Whether an ask is approved of an account that the cache has forgotten, with so many others kept before. */
function isStoodIn(others: number): boolean {
  const desk = createStandInDesk({ nowMs: () => 0, monoMs: () => 0 })
  for (let i = 0; i < others; i++) desk.keep({ ...memoryOf('a:x'), aggregate: `a:x${i}` })
  desk.keep(memoryOf('a:A1'))
  const item = newDeliveryItem(handed(testEvent({ eventId: 'e1' }), 's1', 0), 0)
  return desk.approves(item, desk.kept('a:A1'), pack)
}

it('memory of an account whose next commit was taken is not kept, while the store is away elsewhere', () => {
  const desk = createStandInDesk({ nowMs: () => 0, monoMs: () => 0 })
  desk.onStore(false)
  desk.keep(memoryOf('a:A1'))
  desk.landed('a:A1')
  expect(desk.kept('a:A1')).toBeUndefined()
})

it('memory of 10,000 accounts is kept while the store is away, and others are not stood in for', () => {
  expect(isStoodIn(9_999)).toBe(true)
  expect(isStoodIn(10_000)).toBe(false)
})

/** Which of these asks, one after the other and 60.00 each, memory approves while commits meet the fault. */
async function standInsOf(
  balance: string,
  asks: number,
  fault: Fault,
  next: (asked: number) => Fault = () => fault,
): Promise<boolean[]> {
  let met: Fault = { kind: 'none' } as Fault
  const store = createMemoryStore(createMemoryState(), { faults: () => met })
  const approved = new Set<string>()
  // The store has been there for long.
  const clock = { nowMs: Date.now, monoMs: () => performance.now() + 600_000 }
  const engine = startEngine(store, { pack, clock, onStandIn: (slot) => approved.add(slot) })
  await openCards(engine, 1, balance)
  await engine.ask({ eventId: 'warm', amountMinor: 0 })
  met = fault
  const answers: boolean[] = []
  for (let i = 0; i < asks; i++) {
    const slot = `s${i}`
    const delivery = handed(testEvent({ eventId: `e${i}`, amountMinor: 6_000 }), slot)
    engine.deliver(delivery)
    await vi.waitFor(() => expect(approved).toContain(slot), 300).catch(() => {})
    answers.push(approved.has(slot))
    const code = approved.has(slot) ? '000' : '176'
    engine.say({ ...delivery, said: { ...defaultAnswer, code } })
    met = next(i + 1)
  }
  engine.stop()
  return answers
}

const defaultAnswer = {
  decidedBy: 'default',
  cause: 'storeUnavailable',
  ruleId: '',
  approvedAmountMinor: null,
  rulesVersion: '',
} as const

it('an ask whose command is on its way counts once, also where it takes the most of the money', async () => {
  const hangs: Fault = { kind: 'delayed', until: new Promise(() => {}) }
  expect(await standInsOf('100.00', 2, hangs)).toEqual([true, false])
})

it('an ask whose command failed counts once for those after it', async () => {
  expect(await standInsOf('200.00', 4, { kind: 'refused' })).toEqual([true, true, true, false])
})

it('what was approved while the store only hung counts when it is away', async () => {
  let fail = () => {}
  const until = new Promise<void>((_, reject) => {
    fail = () => reject(new StoreError('no answer', 'unknown'))
  })
  const answers = standInsOf('200.00', 5, { kind: 'delayed', until }, (asked) => {
    if (asked === 2) fail()
    return { kind: 'refused' }
  })
  expect(await answers).toEqual([true, true, true, false, false])
})

it('what was approved for a store that is slow now and then does not count for ever', () => {
  let monoMs = 0
  const desk = createStandInDesk({ nowMs: () => 0, monoMs: () => monoMs })
  const approved = Array.from({ length: 12 }, (_, i) => {
    monoMs = Math.floor(i / 6) * 120_000
    const item = newDeliveryItem(handed(testEvent({ eventId: `e${i}` }), `s${i}`, 0), 0)
    return desk.approves(item, memoryOf('a:A1'), pack)
  })
  const five = [true, true, true, true, true, false]
  expect(approved).toEqual([...five, ...five])
})

it('what was approved counts for the whole outage, and for a minute after it', () => {
  let monoMs = 0
  const desk = createStandInDesk({ nowMs: () => 0, monoMs: () => monoMs })
  const approvesAt = (seconds: number) => {
    monoMs = seconds * 1_000
    const item = newDeliveryItem(handed(testEvent({ eventId: `e${seconds}` }), `s${seconds}`, 0), 0)
    return desk.approves(item, memoryOf('a:A1'), pack)
  }
  desk.onStore(false)
  expect([0, 1, 2, 3, 4, 5, 120].map(approvesAt)).toEqual([...Array(5).fill(true), false, false])
  desk.onStore(true)
  expect([121, 180, 181].map(approvesAt)).toEqual([false, false, true])
})

it('an ask that was approved counts once when a later command that fails has it too', () => {
  const desk = createStandInDesk({ nowMs: () => 0, monoMs: () => 0 })
  const approves = (eventId: string, amountMinor: number) => {
    const event = testEvent({ eventId, transactionId: eventId, amountMinor })
    return desk.approves(newDeliveryItem(handed(event, eventId, 0), 0), desk.kept('a:A1'), pack)
  }
  desk.keep(memoryOf('a:A1'))
  expect(approves('e1', 60_000)).toBe(true)
  const root = accountCodec.encode({ ...account, heldMinor: 60_000 })
  desk.keep({ ...memoryOf('a:A1'), root })
  expect([approves('e2', 40_000), approves('e3', 1)]).toEqual([true, false])
})

it('memory of an account that one node refused long ago is not used when the store goes away', () => {
  let monoMs = 600_000
  const desk = createStandInDesk({ nowMs: () => 0, monoMs: () => monoMs })
  desk.keep(memoryOf('a:A1'))
  monoMs += 600_000
  desk.onStore(false)
  expect(desk.kept('a:A1')).toBeUndefined()
})

it('what a hold adjustment held more is gone from the funds for the asks after it', () => {
  const fixed = { fixedMinor: { USD: 60_000 }, plusMillionths: 0, plusMinor: {} }
  const switches = { ...pack.switches, holdAdjustments: new Map([['5411', fixed]]) }
  const desk = createStandInDesk({ nowMs: () => 0, monoMs: () => 0 })
  const approved = ['e1', 'e2'].map((eventId) => {
    const item = newDeliveryItem(
      handed(testEvent({ eventId, transactionId: eventId }), eventId, 0),
      0,
    )
    return desk.approves(item, memoryOf('a:A1'), { ...pack, switches })
  })
  expect(approved).toEqual([true, false])
})
