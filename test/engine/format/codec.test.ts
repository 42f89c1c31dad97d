import { describe, expect, it } from 'vitest'
import { lineOfEntry } from '../../../src/cli/log/entry-line.ts'
import type { Entry } from '../../../src/domain/ledger/entry.ts'
import { createLedger } from '../../../src/domain/ledger/ledger.ts'
import { noAccount } from '../../../src/domain/record/account.ts'
import { noCard } from '../../../src/domain/record/card.ts'
import type { EventRecord } from '../../../src/domain/record/event-record.ts'
import { newTransaction, openHold } from '../../../src/domain/record/transaction.ts'
import { partsOf } from '../../../src/domain/record/window-state.ts'
import {
  accountCodec,
  cardCodec,
  customerIn,
  eventCodec,
  ownerIn,
  transactionCodec,
} from '../../../src/engine/format/codec.ts'
import { decodeEntry, encodeEntry, openEntry } from '../../../src/engine/format/entry-codec.ts'
import { RecordUnreadable, unlessUnreadable } from '../../../src/engine/format/row-codec.ts'
import { eventOf } from '../../support/event-generator.ts'
import { defaultSwitches, packOf } from '../../support/world.ts'

/** As they were written before 0.2.0. */
const rows = {
  account:
    '[1,"A1","USD",1000,200,1000,1700000000000,1700000002000,3,"NG","",0,0,[["ours",19675,200,1]]]',
  card: '[1,"C1","customer","A1","retail","Active","",1700000001000,[["daily",19675,200,1]],[[1700000001000,"M1",300]]]',
  transaction:
    '[1,"C1","T1",0,0,[["E1",300,1,"",0]],1702592001000,1700000002000,1702592001000,[[200,"","daily",0,19675,"ours",1,19675]],0,0,0,300,100]',
}

describe('records of an earlier release', () => {
  it('are read, and written as they were while nothing new is used', () => {
    expect(accountCodec.encode(accountCodec.decode(rows.account))).toBe(rows.account)
    expect(cardCodec.encode(cardCodec.decode(rows.card))).toBe(rows.card)
    const transaction = transactionCodec.decode(rows.transaction)
    expect(transactionCodec.encode(transaction)).toBe(rows.transaction)
    expect(transaction).toMatchObject({ adjustment: null, asks: [{ adjustment: null }] })
    expect(cardCodec.decode(rows.card)).toMatchObject({ seenMerchants: '', seenCountries: '' })
  })
})

it('a place that the one of a transaction has moved to is read as it was written', () => {
  const places = (['card', 'account', 'merchant'] as const).flatMap((scope) => [
    { window: 'w', scope, bucket: 7 },
    { window: 'w v\nM1', scope, bucket: 8, moved: true as const },
  ])
  const t = newTransaction('C1', 'T1')
  const transaction = { ...t, spend: [{ amountMinor: 5, cardId: '', at: places }] }
  const text = transactionCodec.encode(transaction)
  expect(transactionCodec.decode(text)).toEqual(transaction)
  // 0.2.0 reads a scope by its number alone, and gives back in each window that is named.
  const [[, , ...cells]] = JSON.parse(text)[9]
  expect(cells.filter((_: unknown, i: number) => i % 3 === 1)).toEqual([0, 0, 1, 1, 2, 2])
  expect(partsOf(cells[3])).toEqual({ names: ['w', 'v', ''], mid: 'M1' })
})

describe('the owner of a record', () => {
  it('is read without the rest of it, whatever stands in its names', () => {
    for (const name of ['', 'plain', 'a,"b"', '\\', '"],[', 'é\n,']) {
      const account = { ...noAccount, accountId: `A,${name}`, country: name, organizationId: name }
      for (const one of [account, { ...account, currency: 'USD', withheldMinor: 5 }]) {
        const { organizationId, currency } = one
        expect(ownerIn(accountCodec.encode(one))).toEqual({ organizationId, currency })
      }
      const card = { ...noCard, cardId: `C"${name}`, customerId: name }
      expect(customerIn(cardCodec.encode(card))).toBe(name)
      expect(customerIn(cardCodec.encode({ ...card, expiry: '2030-01' }))).toBe(name)
    }
    expect(ownerIn(rows.account)).toEqual({ organizationId: '', currency: 'USD' })
    expect(customerIn(rows.card)).toBe('customer')
  })

  it('is not read from what is no such record', () => {
    for (const text of ['', '[', '[2,"A1","USD"]', '[1]', '[1,"A1",5,6]', '{"a":1}', 'null']) {
      expect(() => ownerIn(text)).toThrow(RecordUnreadable)
      expect(() => customerIn(text)).toThrow(RecordUnreadable)
    }
  })

  it('is not read where its currency is none: no list and no webhook went on behind its entries', () => {
    const text = accountCodec.encode({ ...noAccount, accountId: 'A1', currency: 'USD' })
    expect(() => ownerIn(text.replace('USD', 'UXD'))).toThrow(RecordUnreadable)
  })
})

describe('a record of which one bit is flipped', () => {
  it('is not read where an amount is no whole number of minor units, nor a flag 1 or 0', () => {
    // A comma is one bit from a point.
    const pending = accountCodec.encode({ ...noAccount, accountId: 'A1', chargesPendingMinor: 150 })
    expect(() => accountCodec.decode(pending.replace('0,150', '0.150'))).toThrow(RecordUnreadable)
    const sums = rows.transaction.replace(',300,100]', ',300.100]')
    expect(() => transactionCodec.decode(sums)).toThrow('its column preauthorizedMinor')
    const limit = { ...noCard, cardId: 'C1', dailyLimitMinor: 20, contactlessPayment: true }
    const card = cardCodec.encode(limit)
    expect(cardCodec.decode(card).contactlessPayment).toBe(true)
    expect(() => cardCodec.decode(card.replace(',20,', ',2.5,'))).toThrow(RecordUnreadable)
    const closed = rows.transaction.replace(',0,0,0,300', ',5,0,0,300')
    expect(() => transactionCodec.decode(closed)).toThrow('its column closed')
    const adjusted = { fixedMinor: 1, plusMillionths: 250_000, plusMinor: 0 }
    const hold = { ...newTransaction('C1', 'T1'), adjustment: adjusted }
    const adjustment = transactionCodec.encode(hold).replace('[1,250000,0]', '[1.250000,0]')
    expect(() => transactionCodec.decode(adjustment)).toThrow('its column adjustment')
  })
})

describe('a log entry of a former format', () => {
  it('is refused by its number', () => {
    expect(() => decodeEntry('[2,0,0,0,"A1","C1"]')).toThrow(
      'a log entry has format 2, and this release reads format 3',
    )
    expect(() => decodeEntry('{"kind":"event"}')).toThrow('a log entry is no row')
  })
})

describe('a record in which no field is at its default', () => {
  const lists = {
    windows: {
      daily: {
        buckets: [{ index: 1, sumMinor: 2, count: 3 }],
        merchants: [{ mid: '77', buckets: [{ index: 4, sumMinor: 5, count: 6 }] }],
      },
    },
    merchantCounts: [{ mid: 'M1', windows: {} }],
    recentAsks: [{ atMs: 1, mid: 'M1', amountMinor: 2 }],
    asks: [
      {
        eventKey: 'E1',
        preauthorized: true,
        addedMinor: 3,
        unblockedMid: 'M1',
        reopened: true,
        abroad: true,
        adjustment: { fixedMinor: 1, plusMillionths: 2, plusMinor: 3 },
        expiresAtMs: 4,
        totalMinor: 5,
        cash: 'posted',
      },
    ],
    spend: [
      {
        amountMinor: 4,
        cardId: 'C9',
        at: [
          { window: 'daily', scope: 'card', bucket: 5 },
          { window: 'ours', scope: 'account', bucket: 6 },
        ],
      },
    ],
    adjustment: { fixedMinor: 4, plusMillionths: 5, plusMinor: 6 },
  } as Record<string, unknown>

  /** Every plain field has a value of its own, so that one in the place of another is seen. */
  function filled<T extends object>(blank: T): T {
    const entries = Object.entries(blank).map(([name, value], i) => {
      if (name in lists) return [name, lists[name]]
      if (typeof value === 'boolean') return [name, !value]
      if (typeof value === 'string') return [name, `text ${i}`]
      return [name, Array.isArray(value) ? [`item ${i}`] : 1000 + i]
    })
    return Object.fromEntries(entries) as T
  }

  it('is the same text for a card with many merchants, of which most were written before', () => {
    const bucket = (index: number) => ({ index, sumMinor: 5, count: 1 })
    const state = (from: number) => ({
      buckets: [bucket(from)],
      merchants: Array.from({ length: 64 }, (_, i) => {
        return { mid: `"M${i}`, buckets: [bucket(from), bucket(from + 1)] }
      }),
    })
    const windows = { a: state(1), b: state(2), c: state(3) }
    const card = { ...noCard, cardId: 'C1', windows, lastCity: 'Bonn' }
    const first = cardCodec.encode(card)
    const [changed, ...rest] = windows.b.merchants
    const merchants = [...rest, { ...changed!, buckets: [bucket(9)] }]
    const next = { ...card, windows: { ...windows, b: { ...windows.b, merchants } } }
    for (const one of [card, next, { ...next, lastCity: '' }]) {
      const text = cardCodec.encode(one)
      expect(cardCodec.decode(text)).toEqual(one)
      expect(JSON.stringify(JSON.parse(text))).toBe(text)
      expect(text).toBe(cardCodec.encode(structuredClone(one)))
    }
    expect(cardCodec.encode(next)).not.toBe(first)
  })

  it('comes back as it was', () => {
    const account = filled(noAccount)
    expect(accountCodec.decode(accountCodec.encode(account))).toEqual(account)
    const card = filled(noCard)
    expect(cardCodec.decode(cardCodec.encode(card))).toEqual(card)
    const transaction = filled(newTransaction('C1', 'T1'))
    expect(transactionCodec.decode(transactionCodec.encode(transaction))).toEqual(transaction)
    const record: EventRecord = {
      contentHash: 'hash',
      answer: {
        code: '127',
        decidedBy: 'default',
        cause: 'deadline',
        ruleId: 'rule',
        approvedAmountMinor: 7,
        rulesVersion: 'version',
      },
      claims: ['slot'],
      absorbed: true,
      unmatched: 'other content',
      atMs: 8,
    }
    expect(eventCodec.decode(eventCodec.encode(record))).toEqual(record)
  })
})

describe('a transaction with an adjusted hold and cash abroad', () => {
  it('comes back as it was', () => {
    const adjustment = { fixedMinor: 10_000, plusMillionths: 0, plusMinor: 5 }
    const plain = { eventKey: 'E1', preauthorized: false, addedMinor: 100, unblockedMid: '' }
    const share = { ...plain, totalMinor: null, cash: null }
    const total = { ...plain, totalMinor: 80, cash: null }
    const other = { ...plain, totalMinor: null, cash: '' as const }
    const transaction = {
      ...newTransaction('C1', 'T1'),
      authorizedMinor: 100,
      adjustment,
      asks: [
        { ...share, reopened: false, abroad: false, adjustment, expiresAtMs: null },
        { ...share, reopened: true, abroad: false, adjustment: null, expiresAtMs: null },
        { ...share, reopened: false, abroad: true, adjustment: null, expiresAtMs: 5 },
        { ...share, reopened: true, abroad: true, adjustment, expiresAtMs: 0 },
        { ...total, reopened: false, abroad: false, adjustment: null, expiresAtMs: null },
        { ...total, reopened: false, abroad: false, adjustment, expiresAtMs: 7 },
        { ...other, reopened: false, abroad: false, adjustment: null, expiresAtMs: null },
      ],
    }
    const decoded = transactionCodec.decode(transactionCodec.encode(transaction))
    expect(decoded).toEqual(transaction)
    expect(openHold(transaction)).toBe(10_000)
  })
})

describe('an entry whose changes are read later', () => {
  const names = ['Shop', 'a,[[1', '],[["]]]', '\\",[[\\"', '']

  it.each(names)('is the same entry at a merchant with the name %j', (name) => {
    const ledger = createLedger()
    const merchant = { mid: 'M1', mcc: '5411', name, city: name, country: 'NG' }
    const event = eventOf({ eventId: 'E1', merchant })
    const delivery = { event, slot: 's/1', receivedAtMs: 1_790_000_000_000, said: null }
    ledger.deliver(delivery, packOf(defaultSwitches))
    const [decided] = ledger.entries
    const nothing = { ...decided!, changes: [] }
    for (const entry of [decided!, nothing]) {
      const text = encodeEntry(entry)
      const opened = openEntry(text)
      expect(opened.head).toMatchObject({ eventKey: 'E1', event: { merchant }, slot: 's/1' })
      expect(opened.whole()).toEqual(decodeEntry(text))
      expect(opened.whole()).toEqual(entry)
    }
  })

  it('is refused when it is of a later release', () => {
    expect(() => openEntry('[4,0,1,[["x"]]]')).toThrow('format 4')
  })
})

describe('a log entry in which one bit has turned', () => {
  const ledger = createLedger()
  const event = eventOf({ eventId: 'E1', currency: 'USD', merchantCurrency: 'EUR' })
  const delivery = { event, slot: 's/1', receivedAtMs: 1_790_000_000_000, said: null }
  ledger.deliver(delivery, packOf(defaultSwitches))
  const [decided] = ledger.entries
  const blocked = {
    type: 'blocked',
    kind: 'mcc',
    value: '7995',
    untilMs: 1_790_000_000_000,
  } as const
  const told: Entry = { ...decided!, kind: 'notice', event: null, changes: [], notice: blocked }

  it.each([
    ['an event', decided!],
    ['a notice', { ...told, eventKey: 'E1', transaction: ['C1', 'T1'] }],
  ] as const)('of %s is refused, or can be shown', (_, entry) => {
    const text = encodeEntry(entry)
    for (let at = 0; at < text.length; at++) {
      for (let bit = 1; bit < 128; bit *= 2) {
        const turned = String.fromCharCode(text.charCodeAt(at) ^ bit)
        const found = unlessUnreadable(() => {
          return decodeEntry(text.slice(0, at) + turned + text.slice(at + 1))
        })
        if (found !== null) lineOfEntry(found)
      }
    }
  })
})
