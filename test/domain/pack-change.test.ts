import { expect, it } from 'vitest'
import type { Ledger } from '../../src/domain/ledger/ledger.ts'
import {
  credit,
  openHold,
  type Transaction,
  uncovered,
} from '../../src/domain/record/transaction.ts'
import { createRandom, type Walk, walk } from '../support/event-generator.ts'
import { expectEqual } from '../support/expect-equal.ts'
import {
  accountIdsOf,
  deliveryOf,
  keptAt,
  openLedger,
  operationOf,
} from '../support/ledger-walk.ts'
import { packOf } from '../support/world.ts'

const seeds = Number(process.env.SEEDS ?? 60)
const firstSeed = Number(process.env.SEED ?? 1)

/** What an account has by what stands of its transactions, each as the pack of its time has left it. */
function recounted(ledger: Ledger, accountId: string, transactions: readonly Transaction[]) {
  const { openingMinor, transfersMinor } = ledger.book(accountId).account()!
  const sum = (of: (t: Transaction) => number) =>
    transactions.reduce((total, t) => total + of(t), 0)
  const chargesTakenMinor = sum((t) => t.chargeTakenMinor)
  const cashMinor = sum((t) => (t.cashPosted ? openHold(t) : 0))
  const spentMinor = sum((t) => t.settledMinor) + cashMinor - sum(credit)
  return {
    postedMinor: openingMinor + transfersMinor - spentMinor - chargesTakenMinor,
    heldMinor: sum(openHold) - cashMinor,
    withheldMinor: sum((t) => Math.max(0, uncovered(t) - t.grantedMinor)),
    chargesTakenMinor,
    chargesPendingMinor: sum((t) => t.chargePendingMinor),
  }
}

function figuresOf(ledger: Ledger, accountId: string) {
  const { postedMinor, heldMinor, withheldMinor, chargesTakenMinor, chargesPendingMinor } = ledger
    .book(accountId)
    .account()!
  return { postedMinor, heldMinor, withheldMinor, chargesTakenMinor, chargesPendingMinor }
}

/** Each once, however many names it has. */
function transactionsOf(ledger: Ledger, world: Walk, accountId: string, names: Set<string>) {
  const found = [...names].flatMap((place) => {
    const [cardId = '', name = ''] = place.split('\n')
    const card = world.cards.find((each) => each.cardId === cardId)
    return (card?.accountId === accountId && keptAt(ledger, world, cardId, name)) || []
  })
  return [...new Map(found.map((t) => [`${t.cardId} ${t.transactionId}`, t])).values()]
}

/** Packs of three walks take turns: whatever begins under one goes on under another. */
function walkThroughPacks(seed: number): number {
  const world = walk(seed)
  if (world.isLarge) return 0
  const random = createRandom(seed ^ 0x77)
  const packs = [world, walk(seed + 100_000), walk(seed + 200_000)].map((other) => {
    const surroundings = { ...world, holdConditions: other.holdConditions }
    return packOf(other.switches, world.retentionDays, surroundings)
  })
  let pack = packs[0]!
  const ledger = openLedger(world, pack, 0)
  const names = new Set<string>()
  world.steps.forEach((step, i) => {
    if (random.chance(0.25)) pack = random.pick(packs)
    if (step.kind === 'expire') ledger.sweep(pack, step.nowMs)
    else if (step.kind === 'deliver') ledger.deliver(deliveryOf(step), pack)
    else {
      const asked = operationOf(step, ledger, world)
      if (asked !== null) ledger.operate(asked.accountId, asked.operation, pack, step.nowMs)
    }
    if ('event' in step) {
      const { cardId, eventId, transactionId, originalTransactionId } = step.event
      const all = [transactionId, originalTransactionId, `·${eventId}`]
      for (const name of all) names.add(`${cardId}\n${name}`)
    }
    for (const accountId of accountIdsOf(world)) {
      const kept = transactionsOf(ledger, world, accountId, names)
      const where = () => `seed ${seed}, step ${i}: ${JSON.stringify(step)}`
      expectEqual(figuresOf(ledger, accountId), recounted(ledger, accountId, kept), where)
    }
  })
  return world.steps.length
}

it(`the sums of an account are those of its transactions, however often the pack changes (SEED=${firstSeed})`, () => {
  let steps = 0
  for (let seed = firstSeed; seed < firstSeed + seeds; seed++) steps += walkThroughPacks(seed)
  expect(steps).toBeGreaterThan(seeds)
}, 600_000)
