import { describe, expect, it } from 'vitest'
import { availableMinor } from '../../src/domain/account.ts'
import type { Step } from '../../src/domain/claim.ts'
import { createLedger, type Ledger } from '../../src/domain/ledger.ts'
import type { Pack } from '../../src/domain/pack.ts'
import { windowValue } from '../../src/domain/window.ts'
import { encodeBook } from '../support/book-text.ts'
import { orderSet, type Walk, walk } from '../support/event-generator.ts'
import { createNaiveModel, type NaiveModel } from '../support/naive-model.ts'
import { permutations, seeded, shuffled } from '../support/order.ts'
import { accountOf, cardOf, packOf } from '../support/world.ts'

const torture = process.env.TORTURE !== undefined
const walks = torture ? 40_000 : 2500
const orderSets = torture ? 10_000 : 500
const ordersPerSet = torture ? 120 : 12
const firstSeed = Number(process.env.SEED ?? 1)

const dayOf = (ms: number) => Math.floor(ms / 86_400_000)

type World = Pick<Walk, 'switches' | 'accounts' | 'cards'>

/** Accounts that no card uses are never opened. */
function accountIdsOf({ cards }: World): string[] {
  return [...new Set(cards.map(({ accountId }) => accountId))]
}

function openLedger(world: World, pack: Pack, atMs: number): Ledger {
  const ledger = createLedger()
  for (const naive of world.cards) {
    const account = accountOf(world.accounts.find((a) => a.accountId === naive.accountId)!)
    const operation = { type: 'open', account, card: cardOf(naive), givesBalance: false } as const
    expect(ledger.operate(account.accountId, operation, pack, atMs)).toBeNull()
  }
  return ledger
}

function stateOf(ledger: Ledger, world: World, pack: Pack) {
  const accounts = accountIdsOf(world).map((accountId) => {
    const account = ledger.book(accountId).account()!
    const { postedMinor, heldMinor, withheldMinor, chargesTakenMinor, chargesPendingMinor } =
      account
    return {
      postedMinor,
      heldMinor,
      withheldMinor,
      availableMinor: availableMinor(account),
      chargesTakenMinor,
      chargesPendingMinor,
    }
  })
  const cards = world.cards.map(({ cardId, accountId }) => {
    const book = ledger.book(accountId)
    const { status, swipesLeft, unblockedMids, windows } = book.card(cardId)!
    const atMs = book.account()!.lastArrivalMs
    const spentTodayMinor = windowValue(windows, pack.windows[0]!, atMs).sumMinor
    return { status, swipesLeft, spentTodayMinor, unblockedMids }
  })
  return { accounts, cards }
}

function naiveStateOf(model: NaiveModel, world: World) {
  return {
    accounts: accountIdsOf(world).map((accountId) => model.account(accountId)),
    cards: world.cards.map(({ cardId }) => model.card(cardId)),
  }
}

function answerOf({ answer, anomalies, unmatched }: Step) {
  const { code, approvedAmountMinor } = answer
  return {
    code,
    approvedAmountMinor,
    anomalies: [...anomalies].sort(),
    unmatched: unmatched || null,
  }
}

function compareWalk(seed: number): void {
  const world = walk(seed)
  const pack = packOf(world.switches, world.retentionDays)
  const ledger = openLedger(world, pack, 0)
  const model = createNaiveModel({ ...world, dayOf })
  world.steps.forEach((step, i) => {
    const where = `seed ${seed}, step ${i}: ${JSON.stringify(step)}`
    if (step.kind === 'expire') {
      ledger.tend(pack, step.nowMs)
      model.expireDue(step.nowMs)
    } else {
      const { event, receivedAtMs } = step
      // One slot for all deliveries of an event: a second claim would be an entry of its own.
      const slot = event.eventId
      const ours = ledger.deliver({ event, slot, receivedAtMs, said: null }, pack)
      const theirs = model.deliver(event, receivedAtMs)
      const { anomalies, unmatched, ...rest } = theirs
      // A duplicate is only answered; what there was to note was noted the first time.
      const noted = ours.before.event === null
      const told = noted ? { ...rest, anomalies: [...anomalies].sort(), unmatched } : rest
      expect(answerOf(ours), where).toMatchObject(told)
    }
    expect(stateOf(ledger, world, pack), where).toEqual(naiveStateOf(model, world))
  })
  const again = createLedger()
  for (const entry of ledger.entries) again.replay(JSON.parse(JSON.stringify(entry)))
  for (const accountId of accountIdsOf(world)) {
    expect(encodeBook(again.book(accountId)), `replay of seed ${seed}`).toEqual(
      encodeBook(ledger.book(accountId)),
    )
  }
}

describe('random walks', () => {
  it(`agree with the naive model after every step, and replay byte for byte, from seed ${firstSeed}`, () => {
    for (let seed = firstSeed; seed < firstSeed + walks; seed++) compareWalk(seed)
  }, 600_000)

  it(`give the same money and windows in every order, with duplicates, from seed ${firstSeed}`, () => {
    for (let seed = firstSeed; seed < firstSeed + orderSets; seed++) {
      const set = orderSet(seed)
      const pack = packOf(set.switches)
      const random = seeded(seed)
      let first: unknown
      const orders = permutations(set.events)
      for (const order of [set.events, ...shuffled(orders, random).slice(0, ordersPerSet)]) {
        const ledger = openLedger(set, pack, set.startMs)
        const events = [...order, ...shuffled(order, random).slice(0, 2)]
        events.forEach((event, i) => {
          const receivedAtMs = set.startMs + i
          ledger.deliver({ event, slot: `slot-${i}`, receivedAtMs, said: null }, pack)
        })
        const state = stateOf(ledger, set, pack)
        first ??= state
        expect(state, `seed ${seed}, order ${order.map((e) => e.eventId)}`).toEqual(first)
      }
    }
  }, 600_000)
})
