import { expect, it } from 'vitest'
import { isAlias } from '../../../src/domain/change/book.ts'
import type { Switches } from '../../../src/domain/decide/pack.ts'
import { createLedger } from '../../../src/domain/ledger/ledger.ts'
import type { Operation } from '../../../src/domain/operation/operation.ts'
import { noAccount } from '../../../src/domain/record/account.ts'
import { dayMs } from '../../../src/domain/record/calendar.ts'
import { noCard } from '../../../src/domain/record/card.ts'
import type { CardEvent } from '../../../src/domain/record/event.ts'
import { eventOf } from '../../support/event-generator.ts'
import { defaultSwitches, packOf } from '../../support/world.ts'

const retentionDays = 45
const shop = { mid: 'M1', mcc: '5411', name: 'Shop', city: 'London', country: 'GB' }

/** An account in Nigeria with 100.00, swept every day until its retention is long over. */
function openWorld(switches: Partial<Switches> = {}) {
  const pack = packOf({ ...defaultSwitches, ...switches }, retentionDays)
  const ledger = createLedger()
  const money = { currency: 'USD', openingMinor: 10_000, postedMinor: 10_000 }
  const account = { ...noAccount, accountId: 'A1', country: 'NG', ...money }
  const card = { ...noCard, cardId: 'C1', accountId: 'A1' }
  ledger.operate('A1', { type: 'open', account, card, givesBalance: true }, pack, 0)
  return {
    send(event: Partial<CardEvent> & { eventId: string }, receivedAtMs = 0) {
      const sent = eventOf({ transactionId: 'T1', merchant: shop, ...event })
      const delivery = { event: sent, slot: event.eventId, receivedAtMs, said: null }
      return ledger.deliver(delivery, pack).answer.code
    },
    operate: (operation: Operation, nowMs: number) => ledger.operate('A1', operation, pack, nowMs),
    sweepDays(from: number, to: number) {
      for (let day = from; day <= to; day++) ledger.sweep(pack, day * dayMs)
    },
    sweep: (nowMs: number) => ledger.sweep(pack, nowMs),
    account: () => ledger.book('A1').account()!,
    /** When each record that is kept is looked at. */
    dueDays: () =>
      [...ledger.book('A1').transactions.values()].flatMap((one) =>
        isAlias(one) ? [] : one.dueAtMs / dayMs,
      ),
    names: () => [...ledger.book('A1').transactions.keys()].map((key) => key.split('\n')[1]),
  }
}

it('forgets a transaction that nothing hangs on when its retention is over, and no earlier', () => {
  const world = openWorld()
  world.send({ eventId: 'E1', requestType: 'Authorization', amountMinor: 1_000 })
  world.send({ eventId: 'E2', requestType: 'Settlement', amountMinor: 1_000, final: true }, dayMs)
  world.sweep((1 + retentionDays) * dayMs - 1)
  expect(world.names()).toEqual(['T1'])
  world.sweep((1 + retentionDays) * dayMs)
  expect(world.names()).toEqual([])
})

it('keeps cash that was posted and is not settled, so that its settlement posts what differs', () => {
  const world = openWorld()
  expect(world.send({ eventId: 'E1', requestType: 'CashWithdrawal', amountMinor: 5_000 })).toBe(
    '000',
  )
  world.sweepDays(1, 100)
  world.send({ eventId: 'E2', requestType: 'Settlement', amountMinor: 4_000 }, 100 * dayMs)
  expect(world.account().postedMinor).toBe(6_000)
  world.sweepDays(101, 101 + retentionDays)
  expect(world.names()).toEqual([])
})

/** A hundred days after a refund of 20.00 that no settlement covers. */
function withheldRefund(originalTransactionId: string) {
  const world = openWorld()
  world.send({ eventId: 'E1', requestType: 'Refund', amountMinor: 2_000, originalTransactionId })
  expect(new Set(world.dueDays())).toEqual(new Set([retentionDays]))
  world.sweepDays(1, 100)
  // A look in each retention: what nobody grants is withheld for good, and every look is an entry of the log.
  expect(new Set(world.dueDays())).toEqual(
    new Set([Math.ceil(101 / retentionDays) * retentionDays]),
  )
  return world
}

it.each(['', 'T0'])(
  'keeps what is withheld of a refund for "%s" until it is granted',
  (original) => {
    const world = withheldRefund(original)
    const grant = { type: 'grantRefund', cardId: 'C1', transactionId: 'T1' } as const
    expect(world.operate(grant, 100 * dayMs)).toBeNull()
    expect(world.account().postedMinor).toBe(12_000)
    world.sweepDays(101, 101 + 2 * retentionDays)
    expect(world.names()).toEqual([])
  },
)

it('knows a refund that is reversed while all of it is withheld at its original', () => {
  const world = withheldRefund('T0')
  world.send({ eventId: 'E2', requestType: 'Reversal' }, 100 * dayMs)
  expect(world.account()).toMatchObject({ postedMinor: 10_000, withheldMinor: 0 })
})

it('keeps a pending charge until it is taken', () => {
  const crossBorder = { percentMillionths: 0, fixedMinor: { USD: 300 } }
  const world = openWorld({ crossBorder })
  world.send({ eventId: 'E1', requestType: 'Settlement', amountMinor: 10_000 })
  world.sweepDays(1, 100)
  world.operate({ type: 'adjust', amountMinor: 500, reference: 'r' }, 100 * dayMs)
  const taken = world.operate(
    { type: 'takeCharge', cardId: 'C1', transactionId: 'T1' },
    100 * dayMs,
  )
  expect(taken).toBeNull()
  expect(world.account().postedMinor).toBe(200)
  world.sweepDays(101, 101 + 2 * retentionDays)
  expect(world.names()).toEqual([])
})
