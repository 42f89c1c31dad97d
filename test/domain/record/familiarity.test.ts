import { describe, expect, it } from 'vitest'
import { type Remembers, remembersNothing } from '../../../src/domain/decide/ask-memory.ts'
import { createLedger } from '../../../src/domain/ledger/ledger.ts'
import type { CardEvent } from '../../../src/domain/record/event.ts'
import type { Answer } from '../../../src/domain/record/event-record.ts'
import {
  hasSeenCountry,
  hasSeenCurrency,
  hasSeenMcc,
  hasSeenMerchant,
  maxDeclinesInRow,
  maxSeenCountries,
  maxSeenCurrencies,
  maxSeenMccs,
  maxSeenMerchants,
  minutesSinceLastAsk,
} from '../../../src/domain/record/familiarity.ts'
import { cardCodec } from '../../../src/engine/format/codec.ts'
import { encodeBook } from '../../support/book-text.ts'
import { eventOf, cardOf as naiveCard } from '../../support/event-generator.ts'
import { accountOf, cardOf, defaultSwitches, packOf } from '../../support/world.ts'

const startMs = Date.UTC(2026, 10, 14, 9)
const all: Remembers = {
  ...{ merchants: true, countries: true, lastAsk: true },
  ...{ mccs: true, currencies: true, declines: true, place: true, location: true },
}

/** One card with 1000, one event a second. */
function world(remembers: Remembers) {
  const pack = packOf(defaultSwitches, 45, { remembers })
  const ledger = createLedger()
  const naive = { accountId: 'A1', currency: 'USD', country: 'NG', openingMinor: 1000 }
  const operation = { type: 'open', givesBalance: true } as const
  const opened = { account: accountOf(naive), card: cardOf(naiveCard({})) }
  ledger.operate('A1', { ...operation, ...opened }, pack, startMs)
  let sent = 0
  let nowMs = startMs
  const card = () => ledger.book('A1').card('C1')!
  return {
    ledger,
    card,
    send(mid: string, country: string, said: Partial<CardEvent> = {}, answer?: Answer) {
      nowMs += 1000
      const eventId = said.eventId ?? `E${sent++}`
      const merchant = { mid, mcc: '5411', name: '', city: '', country }
      const event = eventOf({ eventId, transactionId: eventId, amountMinor: 1, merchant, ...said })
      const delivery = { event, slot: 's', receivedAtMs: nowMs, said: answer ?? null }
      return ledger.deliver(delivery, pack).answer.code
    },
    seen: (mid: string, country: string) => [
      hasSeenMerchant(card(), mid),
      hasSeenCountry(card(), country),
    ],
    minutes: (afterMs: number) => minutesSinceLastAsk(card(), nowMs + afterMs),
    bytes: () => cardCodec.encode(card()).length,
  }
}

function byDefault(code: '000' | '176'): Answer {
  const approvedAmountMinor = null
  const [decidedBy, cause, ruleId] = ['default', 'deadline', ''] as const
  return { code, decidedBy, cause, ruleId, approvedAmountMinor, rulesVersion: '' }
}

describe('what a card has seen', () => {
  it('is where an ask above zero was approved', () => {
    const { send, seen } = world(all)
    expect(seen('M1', 'NG')).toEqual([false, false])
    expect(send('M1', 'NG')).toBe('000')
    expect(seen('M1', 'NG')).toEqual([true, true])
    expect(seen('M2', 'GB')).toEqual([false, false])
  })

  it('is nothing of a declined ask, a zero amount, or a settlement', () => {
    const { send, seen } = world(all)
    expect(send('M1', 'NG', { amountMinor: 5000 })).toBe('116')
    expect(send('M1', 'NG', { amountMinor: 0 })).toBe('000')
    expect(send('M1', 'NG', { requestType: 'Settlement' })).toBe('000')
    expect(seen('M1', 'NG')).toEqual([false, false])
  })

  it('is never a merchant or a country that has no name', () => {
    const { send, seen, bytes } = world(all)
    send('', '')
    expect(seen('', '')).toEqual([false, false])
    expect(bytes()).toBeLessThan(200)
  })

  it('stays when the ask is reversed, or the default declined it', () => {
    const { send, seen } = world(all)
    send('M1', 'NG', { eventId: 'first' })
    send('M1', 'NG', { requestType: 'Reversal', transactionId: 'first' })
    send('M2', 'GB', { eventId: 'second' })
    send('M2', 'GB', { eventId: 'second' }, byDefault('176'))
    expect([...seen('M1', 'NG'), ...seen('M2', 'GB')]).toEqual([true, true, true, true])
  })

  it('is also where the default approved', () => {
    const { send, seen } = world(all)
    send('M1', 'NG', {}, byDefault('000'))
    send('M2', 'GB', {}, byDefault('176'))
    expect(seen('M1', 'NG')).toEqual([true, true])
    expect(seen('M2', 'GB')).toEqual([false, false])
  })

  it('is bounded, and forgets what was used longest ago', () => {
    const { send, seen, card } = world(all)
    const country = (i: number) => String.fromCharCode(65 + (i % 26), 65 + Math.floor(i / 26))
    for (let i = 0; i < 400; i++) {
      send(`M${i}`, country(i))
      send('often', 'NG')
    }
    expect(card().seenMerchants).toHaveLength(8 * maxSeenMerchants)
    expect(card().seenCountries).toHaveLength(2 * maxSeenCountries)
    expect(seen('often', 'NG')).toEqual([true, true])
    expect(seen('M399', country(399))).toEqual([true, true])
    expect(seen('M350', country(350))).toEqual([true, true])
    expect(seen('M0', country(0))).toEqual([false, false])
  })

  it('is bounded of MCCs, currencies and declined asks in a row, too', () => {
    const { send, card } = world(all)
    const mcc = (i: number) => String(5000 + i)
    const currency = (i: number) =>
      `X${String.fromCharCode(65 + (i % 26), 65 + Math.floor(i / 26))}`
    for (let i = 0; i < 100; i++) {
      const merchant = { mid: 'M1', mcc: mcc(i), name: '', city: '', country: 'NG' }
      send('M1', 'NG', { merchant, merchantCurrency: currency(i) })
    }
    expect(card().seenMccs).toHaveLength(4 * maxSeenMccs)
    expect(card().seenCurrencies).toHaveLength(3 * maxSeenCurrencies)
    expect([36, 35].map((i) => hasSeenMcc(card(), mcc(i)))).toEqual([true, false])
    expect([68, 67].map((i) => hasSeenCurrency(card(), currency(i)))).toEqual([true, false])
    for (let i = 0; i <= maxDeclinesInRow; i++) send('M1', 'NG', { amountMinor: 5000 })
    expect(card().declinesInRow).toBe(maxDeclinesInRow)
  })

  it('costs a few tens of bytes, and nothing for a pack that does not look at it', () => {
    const nothing = world(remembersNothing)
    const everything = world(all)
    for (const { send } of [nothing, everything]) for (const mid of ['M1', 'M2']) send(mid, 'NG')
    expect(everything.bytes() - nothing.bytes()).toBeGreaterThan(0)
    expect(everything.bytes() - nothing.bytes()).toBeLessThan(80)
    expect(nothing.card()).toMatchObject({ seenMerchants: '', seenCountries: '' })
    const changes = nothing.ledger.entries.flatMap((entry) => entry.changes.map(({ type }) => type))
    expect(changes.filter((type) => type.endsWith('Seen'))).toEqual([])
  })

  it('replays byte for byte', () => {
    const { send, ledger } = world(all)
    for (let i = 0; i < 200; i++) send(`M${(i * 7) % 90}`, 'NG', { amountMinor: i % 3 })
    const again = createLedger()
    for (const entry of ledger.entries) again.replay(JSON.parse(JSON.stringify(entry)))
    expect(encodeBook(again.book('A1'))).toEqual(encodeBook(ledger.book('A1')))
  })
})

describe('the minutes since the last ask', () => {
  it('are a year when there was none, and when it was longer ago', () => {
    const { send, minutes } = world(all)
    expect(minutes(0)).toBe(525_600)
    send('M1', 'NG')
    expect(minutes(2 * 365 * 86_400_000)).toBe(525_600)
  })

  it('are whole minutes, from any ask, approved or declined, zero or more', () => {
    const { send, minutes } = world(all)
    send('M1', 'NG')
    expect([minutes(59_999), minutes(60_000), minutes(150_000)]).toEqual([0, 1, 2])
    const asks = [{ amountMinor: 5000 }, { amountMinor: 0 }, { currency: 'EUR' }]
    for (const said of asks) {
      send('M1', 'NG', said)
      expect([minutes(59_500), minutes(60_000)], JSON.stringify(said)).toEqual([0, 1])
    }
    send('M1', 'NG', {}, byDefault('176'))
    expect([minutes(59_500), minutes(60_000)]).toEqual([0, 1])
  })

  it('are those since the last approved ask above zero for a pack that does not look at them', () => {
    const { send, minutes } = world(remembersNothing)
    send('M1', 'NG')
    send('M1', 'NG', { amountMinor: 5000 })
    expect([minutes(58_999), minutes(59_000)]).toEqual([0, 1])
  })
})
