import { getHeapStatistics } from 'node:v8'
import { isAlias } from '../domain/change/book.ts'
import { applyEntry, createMemoryBook, type MemoryBook } from '../domain/ledger/ledger.ts'
import { accountCardsOf, encodeAccountCards } from '../engine/format/account-cards.ts'
import { accountCodec, cardCodec, eventCodec, transactionCodec } from '../engine/format/codec.ts'
import {
  accountAggregate,
  accountCardsKey,
  cardKey,
  directoryKey,
  eventKeyAt,
  merchantCountsKey,
} from '../engine/format/layout.ts'
import { unlessUnreadable } from '../engine/format/row-codec.ts'
import { encodeMerchantCounts } from '../engine/format/window-codec.ts'
import { entryIn, logPages, partOfLine } from '../engine/log-reading.ts'
import { isPassed } from '../store/dated-group.ts'
import type { ChildKey, Store } from '../store/port.ts'
import { lostDues } from './store-check.ts'

/** A record that the log does not lead to. */
interface Difference {
  readonly accountId: string
  readonly record: string
  readonly expected: string
  readonly found: string
}

export interface Verification {
  readonly entries: number
  readonly accounts: number
  readonly records: number
  /** Accounts whose first entries the log no longer has: only how many entries they have can be compared. */
  readonly tooShort: readonly string[]
  /** How many accounts of the log are in the store: of further ones there is nothing to compare. */
  readonly stored: number
  /** The first thousand of them. */
  readonly differences: readonly Difference[]
  /** How many there are. */
  readonly differing: number
}

const maxDifferences = 1000

/** Of the records that an entry leads to, twice what was measured where each is a card. */
const bytesPerEntry = 4_000
/** More entries than this are replayed in parts, each with a look at the whole log, so that a long log fits as well. */
const maxAtOnce = Math.floor(getHeapStatistics().heap_size_limit / 2 / bytesPerEntry)

export interface VerifyOptions {
  /** What is past its time by then is not missed; without it nothing is. */
  readonly nowMs?: number
  readonly onProgress?: (entries: number) => void
  /** How many entries are replayed at once. */
  readonly atOnce?: number
}

/**
 * Recomputes every account from the log and compares each record with the store, byte for byte. Run
 * it while nothing writes: what is committed meanwhile counts as a difference.
 */
export async function verifyStore(
  store: Store,
  retentionMs: number,
  { nowMs = 0, onProgress = () => {}, atOnce = maxAtOnce }: VerifyOptions = {},
): Promise<Verification> {
  const differences: Differences = { told: [], count: 0 }
  const tooShort: string[] = []
  let [entries, accounts, records, stored] = [0, 0, 0, 0]
  const parts = Math.ceil((await countEntries(store)) / atOnce) || 1
  for (let part = 0; part < parts; part++) {
    const replayed = await replayLog(store, { part, parts }, differences, (more) => {
      onProgress(entries + more)
    })
    entries += replayed.entries
    accounts += replayed.books.size
    for (const accountId of replayed.ends.keys()) tooShort.push(accountId)
    stored += await compareEnds(replayed.ends, store, differences)
    for (const [accountId, book] of replayed.books) {
      const expected = recordsOf(book, retentionMs, nowMs)
      records += expected.length
      stored += await compare(accountId, expected, store, differences)
      await comparePlaces(accountId, book, store, differences)
    }
    for (const { accountId, record } of await lostDues(store, replayed.books)) {
      tell(differences, { accountId, record, expected: 'a place', found: 'nothing' })
    }
  }
  const { told, count: differing } = differences
  return { entries, accounts, records, tooShort, stored, differences: told, differing }
}

async function countEntries(store: Store): Promise<number> {
  const [last] = await store.tailLog(1)
  if (last === undefined) return 0
  if (store.countLog !== undefined) return store.countLog('', last.cursor)
  let entries = 0
  for await (const page of logPages(store)) entries += page.length
  return entries
}

/** Resolves to 1 where the store has the account, else to 0. */
async function compare(
  accountId: string,
  expected: ReturnType<typeof recordsOf>,
  store: Store,
  differences: Differences,
): Promise<number> {
  const aggregate = accountAggregate(accountId)
  const found = await store.load(expected.map(({ key }) => ({ aggregate, ...key })))
  expected.forEach(({ key, value }, i) => {
    const kept = found[i]?.value ?? 'nothing'
    if (kept === value || isOfEarlier(key, kept, value)) return
    const record = key.group === '' ? 'account' : `${key.group} ${key.id.replace('\n', ' ')}`
    tell(differences, { accountId, record, expected: value, found: kept })
  })
  return found[0] === undefined ? 0 : 1
}

const rootsPerRead = 500

/**
 * An account that cannot be computed must at least have been written together with its last entry. Resolves to how many
 * of them the store has.
 */
async function compareEnds(
  ends: ReadonlyMap<string, number>,
  store: Store,
  differences: Differences,
): Promise<number> {
  const all = [...ends]
  let stored = 0
  for (let at = 0; at < all.length; at += rootsPerRead) {
    const some = all.slice(at, at + rootsPerRead)
    const keys = some.map(([id]) => ({ aggregate: accountAggregate(id), group: '', id: '' }))
    const found = await store.load(keys)
    some.forEach(([accountId, end], i) => {
      const value = found[i]?.value
      if (value !== undefined) stored++
      const count = unlessUnreadable(() => accountCodec.decode(value ?? '').entryCount)
      if (count === end) return
      const kept = value === undefined ? 'nothing' : `one with ${count ?? 'unknown'} entries`
      const expected = `one with ${end} entries`
      tell(differences, { accountId, record: 'account', expected, found: kept })
    })
  }
  return stored
}

/** A card whose place names another account is unknown to the engine, though all of its records are right. */
async function comparePlaces(
  accountId: string,
  book: MemoryBook,
  store: Store,
  differences: Differences,
): Promise<void> {
  const cardIds = [...book.cards.keys()]
  const found = await store.load(cardIds.map(directoryKey))
  cardIds.forEach((cardId, i) => {
    const kept = found[i]?.value ?? 'nothing'
    if (kept === accountId) return
    tell(differences, {
      accountId,
      record: `place of card ${cardId}`,
      expected: accountId,
      found: kept,
    })
  })
}

/** Whether only columns are missing that 0.2.0 did not have: what they say was not kept then. */
function isOfEarlier({ group }: ChildKey, kept: string, value: string): boolean {
  if (group === 'c') {
    return kept === cardCodec.encode({ ...cardCodec.decode(value), endedFrozen: false })
  }
  if (group !== 't') return false
  const found = transactionCodec.decode(value)
  if (isAlias(found)) return false
  const asks = found.asks.map((ask) => ({ ...ask, totalMinor: null, cash: null }))
  return kept === transactionCodec.encode({ ...found, linkedCardId: '', asks })
}

interface Replayed {
  readonly books: ReadonlyMap<string, MemoryBook>
  /** Of accounts without a book, as their log begins later, the number of the entry that comes next. */
  readonly ends: ReadonlyMap<string, number>
  readonly entries: number
}

/** A gap before an account's first entry is the log's retention; a later one is a loss. */
async function replayLog(
  store: Store,
  { part, parts }: { readonly part: number; readonly parts: number },
  differences: Differences,
  onProgress: (entries: number) => void,
): Promise<Replayed> {
  const books = new Map<string, MemoryBook>()
  const next = new Map<string, number>()
  const tooShort = new Set<string>()
  let entries = 0

  function giveUp(accountId: string): void {
    tooShort.add(accountId)
    books.delete(accountId)
  }

  for await (const page of logPages(store)) {
    for (const line of page) {
      if (partOf(line.entry, parts) !== part) continue
      const entry = entryIn(line)
      entries++
      if (entry === null) {
        tell(differences, unreadableAt(line.cursor))
        continue
      }
      // Events of unknown cards stand under aggregates of their own, which hold no money.
      const { accountId, n } = entry
      if (accountId === '') continue
      const expected = next.get(accountId)
      next.set(accountId, n + 1)
      if (n !== (expected ?? 0)) {
        giveUp(accountId)
        if (expected !== undefined) tell(differences, gapOf(accountId, expected, n))
      }
      if (tooShort.has(accountId)) continue
      const book = books.get(accountId) ?? createMemoryBook()
      books.set(accountId, book)
      try {
        applyEntry(entry, book)
      } catch {
        // Written by a release that meant something else, or not by us.
        giveUp(accountId)
        tell(differences, unreadableAt(line.cursor, accountId))
      }
    }
    onProgress(entries)
  }
  const ends = new Map(Array.from(tooShort, (accountId) => [accountId, next.get(accountId)!]))
  return { books, ends, entries }
}

/** What cannot be read is told once, with the first part. */
function partOf(line: string, parts: number): number {
  return unlessUnreadable(() => partOfLine(line, parts)) ?? 0
}

interface Differences {
  readonly told: Difference[]
  count: number
}

/** Beyond a thousand nobody reads them. */
function tell(differences: Differences, one: Difference): void {
  differences.count++
  if (differences.told.length < maxDifferences) differences.told.push(one)
}

function unreadableAt(cursor: string, accountId = '-'): Difference {
  return { accountId, record: `log ${cursor}`, expected: 'an entry', found: 'what cannot be read' }
}

function gapOf(accountId: string, expected: number, found: number): Difference {
  return { accountId, record: 'log', expected: `entry ${expected}`, found: `entry ${found}` }
}

/** All that a book makes the store hold: a long log knows events that are no longer remembered. */
export function recordsOf(
  book: MemoryBook,
  retentionMs: number,
  nowMs: number,
): { readonly key: ChildKey; readonly value: string }[] {
  const account = book.account()
  if (account === null) return []
  return [
    { key: { group: '', id: '' }, value: accountCodec.encode(account) },
    ...Array.from(book.cards, ([cardId, card]) => ({
      key: cardKey(cardId),
      value: cardCodec.encode(card),
    })),
    ...[...book.cards].flatMap(([cardId, { merchantCounts }]) =>
      merchantCounts.map((counts) => ({
        key: merchantCountsKey(cardId, counts.mid),
        value: encodeMerchantCounts(counts),
      })),
    ),
    ...(book.cards.size === 0
      ? []
      : [{ key: accountCardsKey, value: encodeAccountCards(accountCardsOf(book.cards.values())) }]),
    ...Array.from(book.transactions, ([id, record]) => ({
      key: { group: 't', id },
      value: transactionCodec.encode(record),
    })),
    ...Array.from(book.events, ([eventKey, record]) => ({
      key: eventKeyAt(eventKey, record.atMs, retentionMs),
      value: eventCodec.encode(record),
    })).filter(({ key }) => !isPassed(key.group, nowMs)),
  ]
}
