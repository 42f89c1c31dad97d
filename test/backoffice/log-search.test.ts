import { describe, expect, it } from 'vitest'
import {
  createFilter,
  entriesIn,
  type Filters,
  findSpan,
  followLog,
  searchBack,
  searchPage,
} from '../../src/backoffice/log-search.ts'
import { entryOfChanges } from '../../src/domain/ledger/entry.ts'
import { noAccount } from '../../src/domain/record/account.ts'
import { noCard } from '../../src/domain/record/card.ts'
import type { CardEvent } from '../../src/domain/record/event.ts'
import { newTransaction } from '../../src/domain/record/transaction.ts'
import { encodeEntry } from '../../src/engine/format/entry-codec.ts'
import type { LogLine, Store } from '../../src/store/port.ts'
import { createMemoryStore } from '../support/memory-store.ts'

const noView = {
  account: noAccount,
  card: noCard,
  others: [],
  transaction: newTransaction('', ''),
  linked: null,
  joining: '',
  linking: '',
  forgotten: false,
  eventKey: '',
  otherContent: false,
  contentHash: '',
  event: null,
}
const blank = entryOfChanges('operated', noView, noView, [], 0)

function entryAt(atMs: number): string {
  return encodeEntry({ ...blank, atMs })
}

/** A log whose lines appear in any order, as those of several writers do. */
function createLog(): { store: Store; lines: LogLine[]; write(...cursors: string[]): void } {
  const lines: LogLine[] = []
  const store: Store = {
    ...createMemoryStore(),
    readLog: async (after, limit) => lines.filter(({ cursor }) => cursor > after).slice(0, limit),
    tailLog: async (limit, before = '') =>
      lines.filter(({ cursor }) => before === '' || cursor < before).slice(-limit),
  }
  return {
    store,
    lines,
    write(...cursors) {
      for (const cursor of cursors) {
        const writtenMs = Number(cursor)
        lines.push({ cursor, writtenMs, entry: entryAt(writtenMs) })
      }
      lines.sort((a, b) => (a.cursor < b.cursor ? -1 : 1))
    },
  }
}

const cursorsOf = (lines: readonly { cursor: string }[]) => lines.map(({ cursor }) => cursor)
const padded = (n: number) => String(n).padStart(6, '0')

describe('following the log', () => {
  it('tells every entry once, also one that lands behind the newest', async () => {
    const { store, write } = createLog()
    let nowMs = 0
    write('000010', '000020')
    const follower = await followLog(store, () => nowMs)
    expect(await follower.next()).toEqual([])
    write('000040')
    expect(cursorsOf(await follower.next())).toEqual(['000040'])
    nowMs += 1000
    write('000030', '000050')
    expect(cursorsOf(await follower.next())).toEqual(['000030', '000050'])
    nowMs += 10_000
    expect(await follower.next()).toEqual([])
    write('000060')
    expect(cursorsOf(await follower.next())).toEqual(['000060'])
  })

  it('reads on through more than a page, and leaves out what was told', async () => {
    const { store, write } = createLog()
    const follower = await followLog(store, () => 0)
    follower.leaveOut([padded(3)])
    write(...Array.from({ length: 2500 }, (_, i) => padded(i + 1)))
    const told = await follower.next()
    expect(told).toHaveLength(2499)
    expect(cursorsOf(told)).not.toContain(padded(3))
    expect(await follower.next()).toEqual([])
  })
})

describe('a page of the log', () => {
  it('ends at its bounds, says how far it looked, and goes on from there without a gap', async () => {
    const { store, write } = createLog()
    write(...Array.from({ length: 5_000 }, (_, i) => padded(i + 1)))
    const bounds = { limit: 100, maxLooked: 2_000, sinceMs: 0, mayGoOn: () => true }
    const nothing = createFilter({ card: 'nobody' })
    const far = await searchPage(store, nothing, '', bounds)
    expect(far).toEqual({ found: [], next: padded(3_001), looked: 2_000, lookedToMs: 3_001 })
    const brief = await searchPage(store, nothing, '', { ...bounds, mayGoOn: () => false })
    expect(brief.looked).toBe(1_000)
    const all = createFilter({})
    const first = await searchPage(store, all, '', bounds)
    const second = await searchPage(store, all, first.next, bounds)
    expect(cursorsOf([...first.found, ...second.found])).toEqual(
      Array.from({ length: 200 }, (_, i) => padded(5_000 - i)),
    )
    const last = await searchPage(store, nothing, padded(500), bounds)
    expect([last.next, last.looked]).toEqual(['', 499])
  })
})

describe('a filter', () => {
  const event: CardEvent = {
    eventId: 'evt-1',
    requestType: 'Authorization',
    transactionId: 'txn-1',
    originalTransactionId: '',
    cardId: 'card-1',
    amountMinor: 1_250,
    currency: 'USD',
    final: null,
    partialApprovalSupported: false,
    merchant: { mid: 'MID1', mcc: '5411', name: 'Shop', city: '', country: 'NG' },
    channel: '',
    entryMode: '',
    merchantAmountMinor: 0,
    merchantCurrency: '',
    occurredAtMs: 0,
  }
  const passes = (filters: Filters, given: Partial<CardEvent>) => {
    const entry = encodeEntry({ ...blank, event: { ...event, ...given } })
    return createFilter(filters)({ cursor: '1', entry }) !== null
  }

  it('finds a merchant by its name however its letters are put together', () => {
    const names = ['Caf\u00e9 \u00dc', 'Cafe\u0301 U\u0308']
    for (const name of names) {
      const merchant = { ...event.merchant, name }
      for (const typed of [...names, 'CAF\u00c9', 'cafe\u0301']) {
        expect(passes({ merchant: typed }, { merchant })).toBe(true)
      }
      expect(passes({ merchant: 'shop' }, { merchant })).toBe(false)
    }
  })

  it('keeps its bounds in every currency, whatever decimals these have', () => {
    const found = (filters: Filters) => [
      passes(filters, { amountMinor: 1_250, currency: 'USD' }),
      passes(filters, { amountMinor: 50_000, currency: 'JPY' }),
    ]
    expect(found({ minAmount: '12.50' })).toEqual([true, true])
    expect(found({ minAmount: '12.501' })).toEqual([false, true])
    expect(found({ maxAmount: '12.50' })).toEqual([true, false])
    expect(found({ maxAmount: '9.99' })).toEqual([false, false])
    expect(found({ minAmount: '012', maxAmount: '013' })).toEqual([true, false])
  })
})

describe('searching the log', () => {
  it('goes back page by page until enough is found, oldest first', async () => {
    const { store, write } = createLog()
    write(...Array.from({ length: 3500 }, (_, i) => padded(i + 1)))
    const all = createFilter({})
    const newest = await searchBack(store, all, 1200)
    expect(newest.complete).toBe(true)
    expect(cursorsOf(newest.found)).toEqual(
      Array.from({ length: 1200 }, (_, i) => padded(2301 + i)),
    )
    const since = await searchBack(store, createFilter({ since: 3400 }), 500, 3400)
    expect(since.found).toHaveLength(101)
    const nothing = await searchBack(store, createFilter({ card: 'nobody' }), 1)
    expect(nothing).toEqual({ found: [], complete: true })
  })

  it('of many holds a page at a time, and finds the same', async () => {
    const { store, write } = createLog()
    write(...Array.from({ length: 3500 }, (_, i) => padded(i + 1)))
    for (const [filters, limit] of [
      [{}, 2200],
      [{}, 9000],
      [{}, 0],
      [{ since: 1200, until: 2400 }, 1150],
      [{ card: 'nobody' }, 1],
    ] as const) {
      const filter = createFilter(filters)
      const { found, complete } = await searchBack(store, filter, limit)
      const span = await findSpan(store, filter, limit)
      const streamed: { cursor: string }[] = []
      for await (const one of entriesIn(store, filter, span)) streamed.push(one)
      expect([cursorsOf(streamed), span.complete]).toEqual([cursorsOf(found), complete])
    }
  })
})
