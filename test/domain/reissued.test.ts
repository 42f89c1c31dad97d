import { describe, expect, it } from 'vitest'
import { isAlias } from '../../src/domain/change/book.ts'
import type { Switches } from '../../src/domain/decide/pack.ts'
import { windowValue } from '../../src/domain/decide/window.ts'
import { createLedger, transactionKey } from '../../src/domain/ledger/ledger.ts'
import { availableMinor } from '../../src/domain/record/account.ts'
import type { CardEvent } from '../../src/domain/record/event.ts'
import { openHold, type Transaction, withheld } from '../../src/domain/record/transaction.ts'
import { eventOf, cardOf as naiveCardOf } from '../support/event-generator.ts'
import { byDefault } from '../support/ledger-walk.ts'
import { accountOf, cardOf, defaultSwitches, packOf } from '../support/world.ts'

const dayMs = 86_400_000
const startMs = Date.UTC(2026, 10, 14, 9)
const declined = { ...byDefault, code: '176' } as const

/** C1, and C2 that was issued for it again, on one account with 1000. */
function open(openingMinor = 1000, switches: Partial<Switches> = {}) {
  const pack = packOf({ ...defaultSwitches, ...switches })
  const ledger = createLedger()
  const naive = { accountId: 'A1', currency: 'USD', country: 'NG', openingMinor }
  const account = accountOf(naive)
  const second = { ...naiveCardOf({ cardId: 'C2' }), replaces: 'C1' }
  for (const card of [cardOf(naiveCardOf({})), cardOf(second)]) {
    ledger.operate('A1', { type: 'open', account, card, givesBalance: false }, pack, startMs)
  }
  const book = ledger.book('A1')
  let events = 0
  return {
    book,
    tell(said: Partial<CardEvent>, told: typeof declined | null = null, eventId = `E${events++}`) {
      const event = eventOf({ eventId, ...said })
      return ledger.deliver({ event, slot: eventId, receivedAtMs: startMs, said: told }, pack)
    },
    sweep: (nowMs: number) => ledger.sweep(pack, nowMs),
    adjust: (amountMinor: number) =>
      ledger.operate('A1', { type: 'adjust', amountMinor, reference: 'r' }, pack, startMs),
    spent(cardId: string) {
      return windowValue(book.card(cardId)!.windows, pack.windows[0]!, startMs, 'NG')
    },
    transaction(cardId: string, id: string): Transaction {
      const found = book.transactions.get(transactionKey(cardId, id))
      if (found === undefined || isAlias(found)) throw new Error(`no transaction ${id}`)
      return found
    },
  }
}

describe('a transaction on two cards, one issued for the other again', () => {
  it('counts once on each card that its spend stands on', () => {
    const { tell, spent } = open()
    tell({ cardId: 'C1' })
    tell({ cardId: 'C2', amountMinor: 50 })
    expect(spent('C1')).toMatchObject({ sumMinor: 100, count: 1 })
    expect(spent('C2')).toMatchObject({ sumMinor: 50, count: 1 })
  })

  it('is given back on both when it expires', () => {
    const { tell, spent, sweep } = open()
    tell({ cardId: 'C1' })
    tell({ cardId: 'C2', amountMinor: 50 })
    sweep(startMs + 8 * dayMs)
    expect(spent('C1')).toMatchObject({ sumMinor: 0, count: 0 })
    expect(spent('C2')).toMatchObject({ sumMinor: 0, count: 0 })
  })

  it('is given back on the new card by a reversal of the old one', () => {
    const { tell, spent } = open()
    tell({ cardId: 'C1' })
    tell({ cardId: 'C2', amountMinor: 50 })
    tell({ cardId: 'C1', requestType: 'Reversal', amountMinor: null })
    expect(spent('C2')).toMatchObject({ sumMinor: 0, count: 0 })
  })

  it('stays what a refund was linked to first', () => {
    const { tell, transaction } = open()
    const refund = { requestType: 'Refund', transactionId: 'R1' } as const
    tell({ cardId: 'C2', requestType: 'Settlement' })
    tell({ ...refund, cardId: 'C1', amountMinor: 60, originalTransactionId: 'T1' })
    tell({ ...refund, cardId: 'C2', amountMinor: 30 })
    expect(withheld(transaction('C1', 'T1'))).toBe(90)
    expect(transaction('C2', 'T1').linkedCreditMinor).toBe(0)
  })
})

describe('a refund under the id that its original has on another card', () => {
  it('is linked to it, and covered by that one alone', () => {
    const { tell, transaction, book } = open()
    tell({ cardId: 'C2', requestType: 'Settlement' })
    tell({ cardId: 'C1', requestType: 'PartialReversal', amountMinor: 1 })
    const names = { transactionId: 'T2', originalTransactionId: 'T1' }
    tell({ cardId: 'C1', requestType: 'PartialReversal', amountMinor: 1, ...names })
    tell({ cardId: 'C2', requestType: 'Refund', amountMinor: 60, originalTransactionId: 'T2' })
    expect(transaction('C2', 'T1')).toMatchObject({ linkedTo: 'T1', linkedCardId: 'C1' })
    expect(transaction('C1', 'T1').linkedCreditMinor).toBe(60)
    expect(book.account()).toMatchObject({ postedMinor: 960, withheldMinor: 60 })
  })
})

describe('a default decline', () => {
  it('makes a second name, as any decline of an ask that joins', () => {
    const { tell, book, transaction } = open()
    tell({ requestType: 'PreAuthorization' })
    tell({ transactionId: 'T2', originalTransactionId: 'T1' }, declined)
    tell({ requestType: 'Settlement', transactionId: 'T2' })
    expect(transaction('C1', 'T1').settledMinor).toBe(100)
    expect(book.account()).toMatchObject({ postedMinor: 900, heldMinor: 0 })
  })

  it('of an ask without an id finds the estimate that it joined, open or not', () => {
    const { tell, book, transaction } = open()
    const ask = { transactionId: '', originalTransactionId: 'T1', amountMinor: 150 }
    tell({ requestType: 'PreAuthorization' })
    tell(ask, null, 'nameless')
    tell({ requestType: 'Settlement', amountMinor: 150, final: false })
    tell(ask, declined, 'nameless')
    expect(transaction('C1', 'T1')).toMatchObject({ authorizedMinor: 0, settledMinor: 150 })
    tell({ amountMinor: 100 })
    expect(book.account()).toMatchObject({ postedMinor: 850, heldMinor: 0 })
  })

  it('of all asks after an expiry leaves the hold expired', () => {
    const { tell, sweep, transaction, book } = open()
    tell({})
    sweep(startMs + 8 * dayMs)
    tell({ amountMinor: 20 }, null, 'second')
    tell({ amountMinor: 30 }, null, 'third')
    tell({ amountMinor: 20 }, declined, 'second')
    expect(openHold(transaction('C1', 'T1'))).toBe(130)
    tell({ amountMinor: 30 }, declined, 'third')
    expect(openHold(transaction('C1', 'T1'))).toBe(0)
    expect(book.account()?.heldMinor).toBe(0)
  })
})

describe('a default decline of one of two cash asks', () => {
  const crossBorder = { fixedMinor: {}, percentMillionths: 20_000 }
  const cash = { requestType: 'CashWithdrawal', amountMinor: 500 } as const
  const merchant = { mid: 'M1', mcc: '6011', name: '', city: '' }
  const abroad = { ...cash, merchant: { ...merchant, country: 'GB' } }
  const home = { ...cash, merchant: { ...merchant, country: 'NG' } }

  it('takes being abroad back with the one that was, and what was charged for it', () => {
    const { tell, book } = open(10_000, { crossBorder })
    tell(abroad, null, 'first')
    tell(home)
    expect(book.account()).toMatchObject({ postedMinor: 8_980, chargesTakenMinor: 20 })
    tell(abroad, declined, 'first')
    expect(book.account()).toMatchObject({ postedMinor: 9_500, chargesTakenMinor: 0 })
  })

  it('leaves it abroad where it is the one at home that goes', () => {
    const { tell, book } = open(10_000, { crossBorder })
    tell(abroad)
    tell(home, null, 'second')
    tell(home, declined, 'second')
    expect(book.account()).toMatchObject({ postedMinor: 9_490, chargesTakenMinor: 10 })
  })

  it('leaves it abroad where the other one was too', () => {
    const { tell, book } = open(10_000, { crossBorder })
    tell(abroad, null, 'first')
    tell(abroad)
    tell(abroad, declined, 'first')
    expect(book.account()).toMatchObject({ postedMinor: 9_490, chargesTakenMinor: 10 })
  })
})

describe('what is available', () => {
  it('stays among the safe integers as every other figure does', () => {
    const { tell, book, adjust } = open()
    tell({ amountMinor: 500 })
    const amountMinor = Number.MAX_SAFE_INTEGER
    const told = tell({ requestType: 'Settlement', transactionId: 'T2', amountMinor })
    expect(told.unmatched).toBe('')
    const left = -availableMinor(book.account()!)
    expect(Number.isSafeInteger(left)).toBe(true)
    const more = amountMinor - left + 1
    const again = { requestType: 'Settlement', transactionId: 'T3', amountMinor: more } as const
    expect(tell(again).unmatched).toBe('too large')
    expect(adjust(-more)).not.toBeNull()
  })
})
