import { describe, expect, it } from 'vitest'
import { remembersNothing } from '../../../src/domain/decide/ask-memory.ts'
import type { Delivery } from '../../../src/domain/decide/delivery.ts'
import { withDisabled } from '../../../src/domain/decide/pack.ts'
import { countShared, createSharedTally } from '../../../src/domain/decide/shared-window.ts'
import { createLedger, createMemoryBook } from '../../../src/domain/ledger/ledger.ts'
import { bookingKey } from '../../../src/domain/operation/handling.ts'
import type { CardEvent } from '../../../src/domain/record/event.ts'
import { decodeEntry, encodeEntry } from '../../../src/engine/format/entry-codec.ts'
import { windowFile } from '../../../src/rules/pack/window-file.ts'
import { eventOf, cardOf as naiveCard } from '../../support/event-generator.ts'
import { byDefault } from '../../support/ledger-walk.ts'
import { accountOf, cardOf, defaultSwitches, packOf } from '../../support/world.ts'

const pack = packOf(defaultSwitches)
const accountId = 'A1'

/** A ledger with one account of an organization, '' for none. */
function openLedger(
  organizationId: string,
  country = 'US',
  status: 'Active' | 'Frozen' = 'Active',
) {
  const ledger = createLedger()
  const opening = { accountId, currency: 'USD', country, openingMinor: 100_000 }
  const account = { ...accountOf(opening as Parameters<typeof accountOf>[0]), organizationId }
  const card = cardOf(naiveCard({ status }))
  ledger.operate(accountId, { type: 'open', account, card, givesBalance: true }, pack, 0)
  return ledger
}

let events = 0
function deliver(
  ledger: ReturnType<typeof openLedger>,
  given: Partial<CardEvent>,
  used = pack,
  said: Delivery['said'] = null,
) {
  const event = eventOf({ eventId: `E${events}`, transactionId: `T${events++}`, ...given })
  const slot = `s${events}`
  return ledger.deliver({ event, slot, receivedAtMs: 1_000, said }, used)
}

describe('the address of an organization', () => {
  it.each([
    ['org-1', undefined, '000'],
    ['org-1', 'org-1', '000'],
    ['org-1', 'org-2', '148'],
    ['', undefined, '000'],
    ['', 'org-1', '148'],
  ])('a card of "%s" at that of %s gets %s', (owner, organizationId, code) => {
    const ledger = openLedger(owner)
    const at = organizationId === undefined ? {} : { organizationId }
    const { answer } = deliver(ledger, at)
    expect(answer.code).toBe(code)
    expect(ledger.book(accountId).account()?.heldMinor).toBe(code === '000' ? 100 : 0)
    const advice = deliver(ledger, { ...at, requestType: 'Settlement' })
    expect(advice.answer.code).toBe('000')
    expect(advice.unmatched).toBe(code === '000' ? '' : 'other organization')
  })

  it('is in the log, and a person may book what came to the wrong one', () => {
    const ledger = openLedger('org-1')
    deliver(ledger, { organizationId: 'org-2', requestType: 'Settlement' })
    const entry = ledger.entries.at(-1)!
    expect(decodeEntry(encodeEntry(entry))).toEqual(entry)
    const { event } = entry
    expect(event).toMatchObject({ organizationId: 'org-2' })
    const key = bookingKey(accountId, event!.eventId)
    const book = { type: 'book', event: event!, bookingKey: key, sortKey: '' } as const
    expect(ledger.operate(accountId, book, pack, 2_000)?.refused).toBeUndefined()
    expect(ledger.book(accountId).account()?.postedMinor).toBe(99_900)
  })

  it('holds nothing for an approval by default of a card that is not its own', () => {
    const ledger = openLedger('org-1')
    const said = { ...byDefault, code: '000' } as const
    const step = deliver(ledger, { organizationId: 'org-2' }, pack, said)
    expect(step.unmatched).toBe('other organization')
    expect(ledger.book(accountId).account()?.heldMinor).toBe(0)
  })
})

describe('an ask that came to the address of another organization', () => {
  const over = (name: string, kind: 'asks' | 'declines') =>
    windowFile.parse({ name, scope: 'card', over: kind, period: 'day' })
  const remembers = { ...remembersNothing, lastAsk: true, declines: true }
  const windows = [
    over('tries', 'asks'),
    { ...over('failures', 'declines'), scope: 'account' as const },
    { ...over('all', 'asks'), scope: 'organization' as const },
  ]

  it.each([
    ['is declined', null],
    ['is declined by default', { ...byDefault, code: '176' } as const],
  ])('changes nothing of a card that it does not know when it %s', (_, said) => {
    const shared = createSharedTally()
    const watching = { ...packOf(defaultSwitches, 45, { windows, remembers }), shared }
    const ledger = openLedger('org-1')
    deliver(ledger, { transactionId: 'P1', requestType: 'PreAuthorization' }, watching)
    const book = ledger.book(accountId)
    const was = { ...createMemoryBook(book), windows: book.account()!.windows }
    const at = { organizationId: 'org-2', transactionId: 'X1', originalTransactionId: 'P1' }
    const event = eventOf({ eventId: 'X', ...at, amountMinor: 70 })
    const step = ledger.deliver({ event, slot: 's', receivedAtMs: 2_000, said }, watching)
    countShared(watching, event, step)
    expect(step.anomalies).toEqual([])
    expect(book.card('C1')).toEqual(was.cards.get('C1'))
    expect([...book.transactions]).toEqual([...was.transactions])
    expect(book.account()!.windows).toEqual(was.windows)
    expect(shared.statesOf('organization org-1')).toEqual({})
    const again = ledger.deliver({ event, slot: 's2', receivedAtMs: 2_000, said: null }, watching)
    expect(again.answer).toEqual(step.answer)
  })
})

describe('a disabled organization', () => {
  const disabled = withDisabled(pack, new Set(['org-1']))

  it('has its asks declined by 115, right after an unknown card, and its advices booked', () => {
    const ledger = openLedger('org-1', 'US', 'Frozen')
    expect(deliver(ledger, {}, disabled).answer.code).toBe('115')
    expect(deliver(ledger, { amountMinor: 0 }, disabled).answer.code).toBe('115')
    expect(deliver(ledger, { organizationId: 'org-2' }, disabled).answer.code).toBe('148')
    const settled = deliver(ledger, { requestType: 'Settlement' }, disabled)
    expect(settled.unmatched).toBe('')
    expect(ledger.book(accountId).account()?.postedMinor).toBe(99_900)
    expect(deliver(ledger, {}).answer.code).toBe('117')
  })

  it('is no matter to cards of others', () => {
    expect(deliver(openLedger('org-2'), {}, disabled).answer.code).toBe('000')
    expect(deliver(openLedger(''), {}, disabled).answer.code).toBe('000')
  })
})

describe('an account without an organization', () => {
  const adopt = { type: 'adopt', organizationId: 'org-1', country: 'NG' } as const

  it.each([
    ['', '', 'NG'],
    ['', 'US', 'US'],
    ['org-1', '', 'NG'],
    ['org-1', 'US', 'US'],
  ])('of "%s" in "%s" is adopted once, and is then in %s', (owner, country, then) => {
    const ledger = openLedger(owner, country)
    const before = ledger.entries.length
    for (let i = 0; i < 2; i++) ledger.operate(accountId, adopt, pack, 1_000)
    const account = ledger.book(accountId).account()
    expect(account).toMatchObject({ organizationId: 'org-1', country: then })
    expect(ledger.entries.length - before).toBe(owner === 'org-1' && country === 'US' ? 0 : 1)
    const entry = ledger.entries.at(-1)!
    expect(decodeEntry(encodeEntry(entry))).toEqual(entry)
  })

  it('is not taken from another', () => {
    const ledger = openLedger('org-2')
    expect(ledger.operate(accountId, adopt, pack, 1_000)?.refused).toBe('it belongs to org-2')
  })
})
