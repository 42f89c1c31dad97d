import { describe, expect, it } from 'vitest'
import type { Switches } from '../../src/domain/decide/pack.ts'
import { createLedger } from '../../src/domain/ledger/ledger.ts'
import { type Card, maxListedMids, maxRecentAsks } from '../../src/domain/record/card.ts'
import type { CardEvent } from '../../src/domain/record/event.ts'
import { forGood, maxClaims } from '../../src/domain/record/event-record.ts'
import {
  maxAskShares,
  maxSecondNames,
  type Transaction,
} from '../../src/domain/record/transaction.ts'
import { maxSpendEntries, maxWindowStates } from '../../src/domain/record/window-state.ts'
import { eventOf, cardOf as naiveCard } from '../support/event-generator.ts'
import { accountOf, cardOf, defaultSwitches, packOf } from '../support/world.ts'

const dayMs = 86_400_000

function world(switches: Partial<Switches> = {}, ofCard: Partial<Card> = {}) {
  const pack = packOf({ ...defaultSwitches, ...switches })
  const ledger = createLedger()
  const naive = { accountId: 'A1', currency: 'USD', country: 'NG', openingMinor: 1_000_000 }
  const card = { ...cardOf(naiveCard({})), ...ofCard }
  const account = accountOf(naive)
  ledger.operate('A1', { type: 'open', account, card, givesBalance: true }, pack, 0)
  let sent = 0
  return {
    ledger,
    pack,
    send(said: Partial<CardEvent>, receivedAtMs = 0) {
      const eventId = `E${sent++}`
      const event = eventOf({ eventId, ...said })
      return ledger.deliver({ event, slot: eventId, receivedAtMs, said: null }, pack)
    },
    account: () => ledger.book('A1').account()!,
    transaction: (id: string) => ledger.book('A1').transaction('C1', id) as Transaction,
  }
}

describe('the second names of a transaction', () => {
  it('are bounded: one more is booked where it belongs, and shows as an anomaly', () => {
    const { send, transaction, account, ledger } = world()
    send({ transactionId: 'T1', amountMinor: 1000 })
    const settle = (i: number) =>
      send({
        requestType: 'Settlement',
        transactionId: `T1-${i}`,
        originalTransactionId: 'T1',
        amountMinor: 1,
        final: false,
      })
    for (let i = 0; i < maxSecondNames; i++) expect(settle(i).anomalies).toEqual([])
    for (let i = maxSecondNames; i < maxSecondNames + 3; i++) {
      expect(settle(i).anomalies).toEqual(['too_many_names'])
    }
    expect(transaction('T1')).toMatchObject({ settledMinor: maxSecondNames + 3 })
    expect(transaction('T1').names).toHaveLength(maxSecondNames)
    expect(ledger.book('A1').transactions.size).toBe(maxSecondNames + 1)
    expect(account()).toMatchObject({ heldMinor: 1000 - maxSecondNames - 3 })
  })

  it('are bounded for asks that join an estimate', () => {
    const { send, transaction } = world()
    send({ requestType: 'PreAuthorization', transactionId: 'T1', amountMinor: 100_000 })
    let last: readonly string[] = []
    for (let i = 0; i <= maxSecondNames; i++) {
      const said = { transactionId: `T1-${i}`, originalTransactionId: 'T1', amountMinor: i + 1 }
      last = send(said).anomalies
    }
    expect(last).toEqual(['too_many_names'])
    expect(transaction('T1').names).toHaveLength(maxSecondNames)
  })
})

describe('one transaction', () => {
  it('keeps a bounded number of asks and of places where its spend stands', () => {
    const { send, transaction } = world({
      holdDays: { authorization: 400, preauthorization: 400, byMcc: new Map() },
    })
    for (let i = 0; i < maxAskShares + 10; i++) send({ amountMinor: 1 }, i * dayMs)
    expect(transaction('T1').asks).toHaveLength(maxAskShares)
    expect(transaction('T1').spend).toHaveLength(maxSpendEntries)
    expect(transaction('T1').authorizedMinor).toBe(maxAskShares + 10)
  })
})

describe('one event', () => {
  it('keeps a bounded number of deliveries that were told approve, and then stands for good', () => {
    const { ledger, pack } = world()
    const event = eventOf({ eventId: 'E1' })
    for (let i = 0; i <= maxClaims; i++) {
      ledger.deliver({ event, slot: `slot-${i}`, receivedAtMs: 0, said: null }, pack)
    }
    expect(ledger.book('A1').event('E1')!.claims).toEqual([forGood])
  })
})

describe('one card', () => {
  it('keeps a bounded number of recent asks', () => {
    const { send, ledger } = world()
    for (let i = 0; i < maxRecentAsks + 5; i++) send({ transactionId: `T${i}`, amountMinor: 1 })
    expect(ledger.book('A1').card('C1')!.recentAsks).toHaveLength(maxRecentAsks)
  })

  it('takes lists up to their bound', () => {
    const { ledger, pack } = world()
    const add = (count: number) => {
      const values = Array.from({ length: count }, (_, i) => `M${i}`)
      const edit = { list: 'blockedMids', clears: true, remove: [], add: values } as const
      return ledger.operate('A1', { type: 'editLists', cardId: 'C1', edits: [edit] }, pack, 0)
    }
    expect(add(maxListedMids)).toBeNull()
    expect(add(maxListedMids + 1)?.refused).toBe('blockedMids may have at most 10000 values')
  })
})

describe('windows of packs that are no more', () => {
  const bucket = { index: 1, sumMinor: 1, count: 1 }
  const old = (count: number) =>
    Object.fromEntries(
      Array.from({ length: count }, (_, i) => [
        `old${i}`,
        { buckets: [bucket], merchants: [{ mid: 'M1', buckets: [bucket] }] },
      ]),
    )

  it.each([
    [maxWindowStates, maxWindowStates],
    [maxWindowStates + 1, 0],
  ])('stay until there are too many: %s', (count, left) => {
    const { send, ledger, pack } = world({}, { windows: old(count) })
    send({ transactionId: 'T1' })
    ledger.sweep(pack, 100 * dayMs)
    expect(Object.keys(ledger.book('A1').card('C1')!.windows)).toHaveLength(left)
  })
})

describe('a sum that would leave the safe integers', () => {
  const huge = 999_999_999_999_999

  it('of charges is not booked, and the advice waits for people', () => {
    const crossBorder = { fixedMinor: { USD: huge }, percentMillionths: 1_000_000 }
    const { send, account } = world({ crossBorder })
    const merchant = { mid: 'M1', mcc: '5411', name: '', city: '', country: 'GB' }
    const settle = (i: number) =>
      send({ requestType: 'Settlement', transactionId: `T${i}`, amountMinor: huge, merchant })
    for (let i = 0; i < 4; i++) expect(settle(i).unmatched).toBe('')
    const before = account()
    expect(Number.isSafeInteger(before.chargesPendingMinor)).toBe(true)
    expect(settle(4).unmatched).toBe('too large')
    expect(account()).toMatchObject({ chargesPendingMinor: before.chargesPendingMinor })
    expect(account()).toMatchObject({ postedMinor: before.postedMinor })
  })

  it('is one also where its charge would take it back', () => {
    const { send, account } = world({ crossBorder: { fixedMinor: {}, percentMillionths: 1e6 } })
    const of = { requestType: 'Refund', transactionId: 'R1' } as const
    send({ ...of, amountMinor: 10_000 })
    send({ ...of, requestType: 'Reversal' })
    send({ ...of, transactionId: 'R2', amountMinor: Number.MAX_SAFE_INTEGER - 1_000_000 })
    const before = account()
    expect(before.postedMinor).toBe(Number.MAX_SAFE_INTEGER)
    const merchant = { mid: 'M1', mcc: '5411', name: '', city: '', country: 'GB' }
    const settled = send({ ...of, requestType: 'Settlement', amountMinor: 6_000, merchant })
    expect(settled.unmatched).toBe('too large')
    expect(account()).toMatchObject({ postedMinor: before.postedMinor, chargesTakenMinor: 0 })
  })

  it('is none where a grant takes back what a refund withheld', () => {
    const { send, account } = world({ uncoveredRefundPerDayMinor: { USD: 120 } })
    const refund = (amountMinor: number, id: string, day: number) =>
      send({ requestType: 'Refund', transactionId: id, amountMinor }, day * dayMs).unmatched
    send({ requestType: 'Settlement', amountMinor: 2_000_000 })
    expect(refund(Number.MAX_SAFE_INTEGER, 'R1', 1)).toBe('')
    expect(refund(122, 'R2', 2)).toBe('')
    expect(account().withheldMinor).toBe(Number.MAX_SAFE_INTEGER - 120 + 2)
    expect(account().postedMinor).toBe(Number.MAX_SAFE_INTEGER - 1_000_000 + 122)
  })

  it('of charges on a settlement that is too large itself does not end the engine', () => {
    const crossBorder = { fixedMinor: {}, percentMillionths: 1_000_000 }
    const { send } = world({ crossBorder })
    const merchant = { mid: 'M1', mcc: '5411', name: '', city: '', country: 'GB' }
    const said = { requestType: 'Settlement', final: false, merchant } as const
    send({ ...said, amountMinor: Number.MAX_SAFE_INTEGER - 10_000_000 })
    expect(send({ ...said, amountMinor: Number.MAX_SAFE_INTEGER }).unmatched).toBe('too large')
  })

  it('of asks is declined as an amount that is too large', () => {
    const fixedMinor = { USD: Number.MAX_SAFE_INTEGER - 10_000_000 }
    const { send, account, ledger, pack } = world({
      crossBorder: { fixedMinor, percentMillionths: 10_000 },
    })
    const merchant = { mid: 'M1', mcc: '6011', name: '', city: '', country: 'GB' }
    const said = { requestType: 'CashWithdrawal', amountMinor: 1000, merchant } as const
    expect(send({ ...said, transactionId: 'T1' }).answer.code).toBe('000')
    const more = { type: 'adjust', amountMinor: 1_000_000, reference: 'r' } as const
    ledger.operate('A1', more, pack, 0)
    const { chargesPendingMinor } = account()
    expect(send({ ...said, transactionId: 'T2' }).answer.code).toBe('111')
    expect(account()).toMatchObject({ postedMinor: 1_000_000, chargesPendingMinor })
  })
})
