import { describe, expect, it } from 'vitest'
import { windowValue } from '../../../src/domain/decide/window.ts'
import { createLedger } from '../../../src/domain/ledger/ledger.ts'
import type { CardEvent } from '../../../src/domain/record/event.ts'
import { countsAt, maxCountedMerchants } from '../../../src/domain/record/merchant-counts.ts'
import type { Transaction } from '../../../src/domain/record/transaction.ts'
import { maxWindowMerchants, partsOf } from '../../../src/domain/record/window-state.ts'
import { cardCodec } from '../../../src/engine/format/codec.ts'
import {
  decodeMerchantCounts,
  encodeMerchantCounts,
} from '../../../src/engine/format/window-codec.ts'
import { type WindowFile, windowFile } from '../../../src/rules/pack/window-file.ts'
import { encodeBook } from '../../support/book-text.ts'
import { eventOf, cardOf as naiveCard } from '../../support/event-generator.ts'
import { accountOf, cardOf, defaultSwitches, packOf } from '../../support/world.ts'

const startMs = Date.UTC(2026, 10, 14, 9)

/** One card, one event a second; `value` is what a window says of it at a merchant. */
function world(...files: WindowFile[]) {
  const pack = packOf(defaultSwitches, 45, { windows: files })
  const ledger = createLedger()
  const naive = { accountId: 'A1', currency: 'USD', country: 'NG', openingMinor: 1_000_000 }
  const card = cardOf(naiveCard({}))
  const account = accountOf(naive)
  ledger.operate('A1', { type: 'open', account, card, givesBalance: true }, pack, startMs)
  let sent = 0
  let nowMs = startMs
  return {
    ledger,
    wait(ms: number) {
      nowMs += ms
    },
    send(mid: string, said: Partial<CardEvent> = {}): string {
      nowMs += 1000
      const eventId = `E${sent++}`
      const merchant = { mid, mcc: '5411', name: '', city: '', country: 'NG' }
      const event = eventOf({ eventId, transactionId: eventId, merchant, ...said })
      ledger.deliver({ event, slot: eventId, receivedAtMs: nowMs, said: null }, pack)
      return event.transactionId
    },
    value(name: string, mid = '') {
      const definition = pack.windows.find((window) => window.name === name)!
      const { windows, merchantCounts } = ledger.book('A1').card('C1')!
      const perMerchant = definition.scope === 'card-and-merchant'
      const states = perMerchant ? countsAt(merchantCounts, mid) : windows
      return windowValue(states, definition, nowMs)
    },
    states: () => ledger.book('A1').card('C1')!.windows,
    merchants: () => ledger.book('A1').card('C1')!.merchantCounts,
  }
}

const perMerchant = windowFile.parse({ name: 'each', scope: 'card-and-merchant', period: 'day' })
const distinct = windowFile.parse({ name: 'shops', scope: 'card', period: 'day', distinct: true })
const tried = windowFile.parse({
  name: 'tried',
  scope: 'card',
  over: 'asks',
  period: { trailing: '1h' },
  distinct: true,
})

describe('a window per card and merchant', () => {
  it('counts each merchant apart, and gives back where it was counted', () => {
    const { send, value } = world(perMerchant)
    send('M1')
    const second = send('M2', { amountMinor: 30 })
    send('M1', { amountMinor: 50 })
    expect(value('each', 'M1')).toEqual({ sumMinor: 150, count: 2, distinct: 0 })
    expect(value('each', 'M2')).toEqual({ sumMinor: 30, count: 1, distinct: 0 })
    send('M9', { requestType: 'Reversal', transactionId: second })
    expect(value('each', 'M1')).toMatchObject({ sumMinor: 150 })
    expect(value('each', 'M2')).toMatchObject({ sumMinor: 0, count: 0 })
    expect(value('each', 'M9')).toMatchObject({ sumMinor: 0, count: 0 })
  })

  it('forgets the merchant that was changed longest ago when there are too many', () => {
    const { send, value, merchants } = world(perMerchant)
    for (let i = 0; i < maxCountedMerchants; i++) send(`M${i}`)
    send('M0')
    send('another')
    expect(merchants()).toHaveLength(maxCountedMerchants)
    expect(value('each', 'M0')).toMatchObject({ sumMinor: 200, count: 2 })
    expect(value('each', 'M1')).toMatchObject({ sumMinor: 0, count: 0 })
    expect(value('each', 'another')).toMatchObject({ sumMinor: 100, count: 1 })
  })

  it('never falls below zero by what a forgotten merchant gives back', () => {
    const { send, value } = world(perMerchant)
    const first = send('M0')
    for (let i = 1; i <= maxCountedMerchants; i++) send(`M${i}`)
    send('M0', { amountMinor: 40 })
    send('M0', { requestType: 'Reversal', transactionId: first })
    expect(value('each', 'M0')).toMatchObject({ sumMinor: 0, count: 0 })
  })

  it('replays byte for byte, also beyond its bound', () => {
    const { send, ledger } = world(perMerchant, distinct, tried)
    const random = [7, 3, 90, 12, 55, 3, 71, 28, 64, 5]
    for (let i = 0; i < 400; i++) send(`M${(i * random[i % random.length]!) % 197}`)
    const again = createLedger()
    for (const entry of ledger.entries) again.replay(JSON.parse(JSON.stringify(entry)))
    expect(encodeBook(again.book('A1'))).toEqual(encodeBook(ledger.book('A1')))
  })
})

describe('distinct merchants', () => {
  it('are counted once each, and leave with the last transaction that stands there', () => {
    const { send, value } = world(distinct)
    const first = send('M1')
    const again = send('M1')
    send('M2')
    expect(value('shops')).toEqual({ sumMinor: 300, count: 3, distinct: 2 })
    send('M1', { requestType: 'Reversal', transactionId: first })
    expect(value('shops')).toMatchObject({ count: 2, distinct: 2 })
    send('M1', { requestType: 'Reversal', transactionId: again })
    expect(value('shops')).toMatchObject({ count: 1, distinct: 1 })
  })

  it('do not count a merchant that has no MID', () => {
    const { send, value } = world(distinct)
    send('')
    expect(value('shops')).toEqual({ sumMinor: 100, count: 1, distinct: 0 })
  })

  it('are told apart up to the bound, and estimated beyond', () => {
    const { send, value, states } = world(distinct)
    for (let i = 0; i < maxWindowMerchants; i++) send(`M${i}`)
    expect(value('shops')).toMatchObject({ count: 64, distinct: 64 })
    expect(states().shops!.sketch).toBeUndefined()
    send('one more')
    expect(value('shops')).toMatchObject({ count: 65, distinct: 65 })
    for (let i = 0; i < 19; i++) send(`N${i}`)
    expect(value('shops').count).toBe(84)
    expect(Math.abs(value('shops').distinct - 84)).toBeLessThanOrEqual(3)
    expect(states().shops!.merchants).toHaveLength(maxWindowMerchants)
  })

  it('move to the sketch in each of several windows, whose places stand together in the log', () => {
    const also = windowFile.parse({ ...distinct, name: 'also' })
    const { send, value, states, ledger } = world(distinct, also)
    send('M0')
    for (let i = 1; i <= maxWindowMerchants; i++) send(`M${i}`)
    expect([value('shops'), value('also')].map((found) => found.distinct)).toEqual([65, 65])
    expect(states().also!.merchants[0]!.mid).toBe('M1')
    const { changes } = ledger.entries.at(-1)!
    expect(changes.some(({ type }) => type === 'windowsDropped')).toBe(false)
    const crowded = changes.find(({ type }) => type === 'windowsCrowded')
    expect(crowded).toMatchObject({ by: [{ window: 'shops also\nM0' }] })
    const counted = changes.find(({ type }) => type === 'spendCounted')
    const at = [{ window: 'daily shops also' }, { window: `shops also\nM${maxWindowMerchants}` }]
    expect(counted).toMatchObject({ at })
  })

  it('of attempts keep one bucket a merchant, and forget it with the time', () => {
    const { send, value, states, wait } = world(tried)
    for (let i = 0; i < 5; i++) {
      send('M1')
      wait(120_000)
    }
    send('M2', { amountMinor: 10 ** 9 })
    expect(value('tried')).toMatchObject({ count: 6, distinct: 2 })
    expect(states().tried!.merchants.map(({ buckets }) => buckets.length)).toEqual([1, 1])
    wait(3_500_000)
    expect(value('tried')).toMatchObject({ count: 1, distinct: 1 })
  })
})

describe('the records', () => {
  it('of a release that kept a place for each window are given back with those of now', () => {
    const also = windowFile.parse({ ...perMerchant, name: 'also' })
    const { send, value, ledger } = world(perMerchant, also)
    const id = send('M1')
    const book = ledger.book('A1')
    const now = book.transaction('C1', id) as Transaction
    const alone = now.spend.map((entry) => ({
      ...entry,
      at: entry.at.flatMap((place) => {
        const { names, mid } = partsOf(place.window)
        return names.map((name) => ({ ...place, window: mid === null ? name : `${name}\n${mid}` }))
      }),
    }))
    expect(alone[0]!.at.length).toBe(now.spend[0]!.at.length + 1)
    const account = book.account()!
    const none = { cards: [], aliases: [], forgotten: null, event: null }
    book.put({ ...none, account, transactions: [{ ...now, spend: alone }] })
    send('M1', { transactionId: id, amountMinor: 150 })
    const both = ['each', 'also'].map((name) => value(name, 'M1'))
    expect(both.map(({ sumMinor, count }) => [sumMinor, count])).toEqual([
      [250, 1],
      [250, 1],
    ])
    send('M1', { requestType: 'Reversal', transactionId: id, amountMinor: 250 })
    expect(ledger.book('A1').card('C1')!.merchantCounts).toEqual([])
    expect(value('daily')).toMatchObject({ sumMinor: 0, count: 0 })
  })

  it('are written as before by packs without such windows', () => {
    const { send, ledger } = world(windowFile.parse({ name: 'day', scope: 'card', period: 'day' }))
    send('M1')
    const card = ledger.book('A1').card('C1')!
    const [, , , , , , , , windows] = JSON.parse(cardCodec.encode(card))
    expect(windows).toEqual([
      ['daily', 20771, 100, 1],
      ['day', 20771, 100, 1],
    ])
  })

  it('come back as they were with such windows', () => {
    const { send, ledger } = world(perMerchant, distinct)
    send('M1')
    send('M2')
    const card = ledger.book('A1').card('C1')!
    const decoded = cardCodec.decode(cardCodec.encode(card))
    const merchantCounts = card.merchantCounts.map((counts) =>
      decodeMerchantCounts(counts.mid, encodeMerchantCounts(counts)),
    )
    expect({ ...decoded, merchantCounts }).toEqual(card)
    expect(decoded.merchantCounts.map(({ mid }) => mid)).toEqual(['M1', 'M2'])
    expect(Object.keys(decoded.windows)).toEqual(Object.keys(card.windows))
  })
})

describe('windows.yaml', () => {
  it('refuses a name that every object has', () => {
    const parsed = windowFile.safeParse({ ...perMerchant, name: 'constructor' })
    expect(parsed.error?.issues).toMatchObject([{ path: ['name'] }])
  })

  it('refuses distinct merchants of one merchant', () => {
    const parsed = windowFile.safeParse({ ...perMerchant, distinct: true })
    expect(parsed.error?.issues).toMatchObject([{ path: ['distinct'] }])
  })
})
