import { describe, expect, it } from 'vitest'
import { createLedger, type Ledger } from '../../../src/domain/ledger/ledger.ts'
import { bookingKey } from '../../../src/domain/operation/handling.ts'
import type { Operation } from '../../../src/domain/operation/operation.ts'
import { encodeBook } from '../../support/book-text.ts'
import { eventOf, cardOf as naiveCard } from '../../support/event-generator.ts'
import { accountOf, cardOf, defaultSwitches, packOf } from '../../support/world.ts'

const dayMs = 86_400_000
const pack = packOf(defaultSwitches)

function openLedger(): Ledger {
  const ledger = createLedger()
  const account = accountOf({
    accountId: 'A1',
    currency: 'USD',
    country: 'US',
    openingMinor: 100_000,
  } as Parameters<typeof accountOf>[0])
  const card = cardOf(naiveCard({}))
  ledger.operate('A1', { type: 'open', account, card, givesBalance: true }, pack, 0)
  return ledger
}

function operate(ledger: Ledger, operation: Operation, nowMs = 1000): string {
  return ledger.operate('A1', operation, pack, nowMs)?.refused ?? ''
}

const advice = eventOf({ eventId: 'E1', requestType: 'Settlement', amountMinor: 2500 })

function booking(event = advice): Operation {
  return { type: 'book', event, bookingKey: bookingKey('A1', event.eventId), sortKey: 'k' }
}

describe('what people do', () => {
  it('books an advice once, and dates its transaction', () => {
    const ledger = openLedger()
    expect(operate(ledger, booking(), 5000)).toBe('')
    expect(operate(ledger, booking(), 6000)).toBe('')
    expect(operate(ledger, booking({ ...advice, amountMinor: 9 }))).toMatch(/another card/)
    const book = ledger.book('A1')
    expect(book.account()).toMatchObject({ postedMinor: 97_500 })
    expect(book.transaction('C1', 'T1')).toMatchObject({ settledMinor: 2500, lastEventAtMs: 5000 })
    expect(ledger.entries.at(-1)).toMatchObject({ kind: 'booked', event: advice })
    expect(ledger.entries.at(-1)?.changes.at(-1)).toMatchObject({ type: 'handled', sortKey: 'k' })
    expect(ledger.entries).toHaveLength(2)
  })

  it('books an advice of a card that nobody knew once, also when the relay sends it again, before or after', () => {
    const stray = { ...booking(), bookingKey: bookingKey('', 'E1'), sortKey: '' } as Operation
    const repeat = (ledger: Ledger) =>
      ledger.deliver({ event: advice, slot: 's1', receivedAtMs: 2000, said: null }, pack).answer
        .code
    for (const steps of [
      [(ledger: Ledger) => operate(ledger, stray), repeat],
      [repeat, (ledger: Ledger) => operate(ledger, stray)],
    ]) {
      const ledger = openLedger()
      expect(steps.map((step) => step(ledger)).sort()).toEqual(['', '000'])
      expect(ledger.book('A1').account()).toMatchObject({ postedMinor: 97_500 })
      expect(operate(ledger, stray)).toBe('')
      expect(ledger.book('A1').account()).toMatchObject({ postedMinor: 97_500 })
    }
  })

  it('holds nothing more of an approval that waits for people, whatever else is told of it', () => {
    const ledger = openLedger()
    const event = eventOf({ eventId: 'E2', currency: 'EUR', amountMinor: 2500 })
    const byDefault = {
      decidedBy: 'default',
      cause: 'deadline',
      ruleId: '',
      rulesVersion: '',
    } as const
    for (const [slot, approvedAmountMinor] of [['s1', 900] as const, ['s2', null] as const]) {
      const said = { ...byDefault, code: '000', approvedAmountMinor } as const
      ledger.deliver({ event, slot, receivedAtMs: 2000, said }, pack)
    }
    expect(ledger.book('A1').account()).toMatchObject({ heldMinor: 0 })
  })

  it('does not book an advice of which a repetition waits in the list as well', () => {
    const ledger = openLedger()
    const event = { ...advice, currency: 'EUR' }
    ledger.deliver({ event, slot: 's1', receivedAtMs: 2000, said: null }, pack)
    const dollars: Operation = {
      type: 'book',
      event: advice,
      bookingKey: bookingKey('', 'E1'),
      sortKey: '',
    }
    expect(operate(ledger, dollars)).toMatch(/^the relay has sent it again/)
    expect(ledger.book('A1').account()).toMatchObject({ postedMinor: 100_000 })
    const booked = openLedger()
    booked.deliver({ event: advice, slot: 's1', receivedAtMs: 2000, said: null }, pack)
    const otherwise = { ...dollars, event: { ...advice, amountMinor: 9 } }
    expect(operate(booked, otherwise)).toMatch(/^event E1 is known there, with another/)
  })

  it('books an advice however old it is, and a Reversal in any currency', () => {
    const ledger = openLedger()
    const old = { ...advice, occurredAtMs: 1 }
    expect(operate(ledger, booking(old), 100 * dayMs)).toBe('')
    const euros = { ...advice, eventId: 'E2', currency: 'EUR' }
    expect(operate(ledger, booking(euros))).toMatch(/give the amount in USD/)
    expect(operate(ledger, booking({ ...euros, requestType: 'Reversal' }))).toBe('')
    expect(ledger.book('A1').transaction('C1', 'T1')).toMatchObject({ voided: true })
  })

  it('refuses to book what is no advice, for no card, or too large to be exact', () => {
    const ledger = openLedger()
    expect(operate(ledger, booking({ ...advice, requestType: 'Authorization' }))).toMatch(/advice/)
    expect(operate(ledger, booking({ ...advice, cardId: 'C9' }))).toBe('there is no card C9')
    const large = { ...advice, amountMinor: Number.MAX_SAFE_INTEGER }
    expect(operate(ledger, booking(large))).toBe('')
    expect(operate(ledger, booking({ ...large, eventId: 'E3' }))).toMatch(/kept exactly/)
  })

  it('fixes what an advice is booked as', () => {
    const ledger = openLedger()
    const assign = { type: 'assign', event: advice, bookingKey: 'book·B·E1' } as const
    expect(operate(ledger, assign)).toBe('')
    expect(operate(ledger, assign)).toBe('')
    expect(operate(ledger, { ...assign, event: { ...advice, cardId: 'C2' } })).toMatch(/begun/)
    expect(ledger.entries).toHaveLength(2)
  })

  it('adjusts once for a reference', () => {
    const ledger = openLedger()
    const adjust = { type: 'adjust', amountMinor: -500, reference: 'r' } as const
    expect([operate(ledger, adjust), operate(ledger, adjust)]).toEqual(['', ''])
    expect(operate(ledger, { ...adjust, amountMinor: 1 })).toMatch(/another amount/)
    const far = { ...adjust, amountMinor: Number.MAX_SAFE_INTEGER, reference: 's' }
    expect(operate(ledger, far)).toMatch(/kept exactly/)
    expect(ledger.book('A1').account()).toMatchObject({ postedMinor: 99_500 })
  })

  it('edits lists as they are then, within their bounds', () => {
    const ledger = openLedger()
    const edit = (add: readonly string[], remove: readonly string[], clears = false) =>
      operate(ledger, {
        type: 'editLists',
        cardId: 'C1',
        edits: [{ list: 'blockedMccs', clears, add, remove }],
      })
    edit(['1', '2', '2'], [])
    edit(['3'], ['1'])
    expect(ledger.book('A1').card('C1')).toMatchObject({ blockedMccs: ['2', '3'] })
    const entries = ledger.entries.length
    expect(edit(['2'], ['9'])).toBe('')
    expect(ledger.entries).toHaveLength(entries)
    expect(edit(Array.from(Array(1001).keys()).map(String), [])).toMatch(/at most 1000/)
    edit(['4'], [], true)
    expect(ledger.book('A1').card('C1')).toMatchObject({ blockedMccs: ['4'] })
  })

  it('unfreezes only what is frozen, and ends a card for good', () => {
    const ledger = openLedger()
    const status = () => ledger.book('A1').card('C1')?.status
    const set = (status: 'Frozen' | 'Terminated') =>
      operate(ledger, { type: 'changeCard', cardId: 'C1', set: { status } })
    const unfreeze = () => operate(ledger, { type: 'unfreeze', cardId: 'C1' })
    expect([set('Frozen'), status(), unfreeze(), status()]).toEqual(['', 'Frozen', '', 'Active'])
    expect([unfreeze(), ledger.entries.length]).toEqual(['', 3])
    expect([set('Terminated'), set('Terminated'), status()]).toEqual(['', '', 'Terminated'])
    expect([unfreeze(), set('Frozen')]).toEqual(
      Array(2).fill('card C1 is Terminated, which is final'),
    )
    expect(operate(ledger, { type: 'unfreeze', cardId: 'C9' })).toBe('there is no card C9')
  })

  it('ends a card for good that has ended by itself, once', () => {
    const ledger = openLedger()
    const end = (terminatedBy: 'swipes' | 'operator') =>
      operate(ledger, {
        type: 'changeCard',
        cardId: 'C1',
        set: { status: 'Terminated', terminatedBy },
      })
    end('swipes')
    expect(end('operator')).toBe('')
    expect(ledger.book('A1').card('C1')?.terminatedBy).toBe('operator')
    const entries = ledger.entries.length
    expect(end('operator')).toBe('')
    expect(ledger.entries).toHaveLength(entries)
  })

  it('replays byte for byte', () => {
    const ledger = openLedger()
    const edit = { list: 'blockedMids', clears: false, add: ['M'], remove: [] } as const
    const operations: Operation[] = [
      booking(),
      { type: 'adjust', amountMinor: 7, reference: 'r' },
      { type: 'editLists', cardId: 'C1', edits: [edit] },
      { type: 'assign', event: advice, bookingKey: 'book·B·E1' },
      { type: 'handle', list: 'anomalies', sortKey: 'k' },
      { type: 'changeCard', cardId: 'C1', set: { status: 'Frozen' } },
      { type: 'unfreeze', cardId: 'C1' },
    ]
    operations.forEach((operation, i) => {
      expect(operate(ledger, operation, 1000 * i)).toBe('')
    })
    const again = createLedger()
    for (const entry of ledger.entries) again.replay(entry)
    expect(again.entries).toHaveLength(8)
    expect(encodeBook(again.book('A1'))).toEqual(encodeBook(ledger.book('A1')))
  })
})
