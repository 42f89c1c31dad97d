import { touchedBy } from '../domain/change/book.ts'
import type { View } from '../domain/change/view.ts'
import type { Pack } from '../domain/decide/pack.ts'
import type { Entry } from '../domain/ledger/entry.ts'
import type { Card } from '../domain/record/card.ts'
import type { Transaction } from '../domain/record/transaction.ts'
import { isPassed } from '../store/dated-group.ts'
import type { ChildKey, ChildPut, Command, IndexEntryPut, IndexKey } from '../store/port.ts'
import {
  decodeAccountCards,
  encodeAccountCards,
  negativeEntries,
  noCards,
  withCard,
} from './format/account-cards.ts'
import { cardEntryIn, cardIndexEntries } from './format/card-index.ts'
import { accountCodec, cardCodec, eventCodec, transactionCodec } from './format/codec.ts'
import { encodeEntry, encodeWork } from './format/entry-codec.ts'
import { accountCardsKey, chargeSortKey, indexes, timeSortKey } from './format/layout.ts'
import { takeOverWindows } from './format/window-text.ts'
import {
  type CachedAccount,
  dropTransaction,
  keepCard,
  keepRoot,
  keepTransaction,
} from './memory/cache.ts'
import { countsIn, keep, keepWithCounts, objectsOf } from './memory/kept.ts'
import { writeCounts } from './memory/kept-counts.ts'
import { eventPlace, type WorkingBook } from './memory/working-book.ts'

interface IndexWrite extends IndexKey {
  readonly value: string | null
}

/** What a batch writes besides the records. */
export interface Writes {
  readonly log: Entry[]
  /** In order; the last word on an index entry wins, and null removes it. */
  readonly index: IndexWrite[]
  forced: boolean
  /** An item is being put down: should that fail, the working copy is worth nothing. */
  recording: boolean
  setIndex(index: string, sortKey: string, value: string | null): void
}

export function createWrites(): Writes {
  const writes: IndexWrite[] = []
  return {
    log: [],
    index: writes,
    forced: false,
    recording: false,
    setIndex(index, sortKey, value) {
      writes.push({ index, sortKey, value })
    },
  }
}

/** Most batches write one entry, which needs no comparing. */
function lastWords(writes: readonly IndexWrite[]): Iterable<IndexWrite> {
  if (writes.length < 2) return writes
  return new Map(writes.map((write) => [`${write.index}\n${write.sortKey}`, write])).values()
}

/** Puts nothing while it lacks a record, which is wanted then. */
export function record(
  before: View,
  after: View,
  entry: Entry,
  book: WorkingBook,
  writes: Writes,
): void {
  if (lacksCards(before, after, entry, book)) return
  writes.recording = true
  book.put(touchedBy(before, after))
  writes.log.push(entry)
  const { accountId } = after.account
  moveDue(accountId, before.transaction, after.forgotten ? null : after.transaction, writes)
  if (after.linked !== null) {
    moveDue(accountId, before.linked ?? after.linked, after.linked, writes)
  }
  movePending(before, after, entry.atMs, writes)
  if (entry.unmatched !== '') addWork(indexes.unmatched, entry, writes)
  if (entry.anomalies.length > 0) addWork(indexes.anomalies, entry, writes)
  for (const change of entry.changes) {
    if (change.type === 'handled') writes.setIndex(indexes[change.list], change.sortKey, null)
    if (change.type === 'cardIssued') {
      for (const one of cardIndexEntries(after.account, change.card)) {
        writes.setIndex(one.index, one.sortKey, one.value)
      }
    }
  }
  if (before.card.status !== after.card.status) moveStatus(before, after, writes)
  if (needsCards(before, after, entry)) moveNegative(before, after, book, writes)
  writes.recording = false
}

/** The card stands in the list of its status. */
function moveStatus({ card: was }: View, { card: is, account }: View, writes: Writes): void {
  const entryOf = (card: Card) => cardEntryIn(account.organizationId, card.status, card)
  const joined = entryOf(is)
  if (was.cardId !== '') writes.setIndex(joined.index, entryOf(was).sortKey, null)
  writes.setIndex(joined.index, joined.sortKey, joined.value)
}

/** Whether it must know all cards of the account: a card joins, or they join or leave what is negative. */
function needsCards({ account: was }: View, { account: is }: View, { changes }: Entry): boolean {
  return (
    was.postedMinor < 0 !== is.postedMinor < 0 || changes.some(({ type }) => type === 'cardIssued')
  )
}

export function lacksCards(before: View, after: View, entry: Entry, book: WorkingBook): boolean {
  if (!needsCards(before, after, entry)) return false
  book.child(accountCardsKey)
  return book.wanted.length > 0
}

/** All cards of an account stand in the lists of what is negative while it has less than nothing. */
function moveNegative(before: View, after: View, book: WorkingBook, writes: Writes): void {
  const { account, card } = after
  const found = decodeAccountCards(book.child(accountCardsKey))
  // An account of before may have cards that nobody wrote down.
  const known = found ?? { ...noCards, more: before.account.accountId !== '' }
  const cards = withCard(known, card)
  if (cards !== found) book.setChild(accountCardsKey, encodeAccountCards(cards))
  if (before.account.postedMinor >= 0 && account.postedMinor >= 0) return
  for (const one of negativeEntries(account.organizationId, account, cards)) {
    writes.setIndex(one.index, one.sortKey, account.postedMinor < 0 ? one.value : null)
  }
}

function addWork(list: string, entry: Entry, writes: Writes): void {
  const { atMs, accountId, n, eventKey } = entry
  writes.setIndex(list, timeSortKey(atMs, accountId, String(n), eventKey), encodeWork(entry))
}

export function dueSortKey(
  accountId: string,
  { dueAtMs, cardId, transactionId }: Transaction,
): string {
  return timeSortKey(dueAtMs, accountId, cardId, transactionId)
}

function moveDue(
  accountId: string,
  before: Transaction,
  after: Transaction | null,
  writes: Writes,
): void {
  if (after !== null && before.dueAtMs === after.dueAtMs) return
  if (before.dueAtMs !== 0) writes.setIndex(indexes.due, dueSortKey(accountId, before), null)
  if (after !== null) writes.setIndex(indexes.due, dueSortKey(accountId, after), '')
}

/** A transaction is listed while a part of its charge is pending; its time is when that began. */
function movePending(before: View, after: View, atMs: number, writes: Writes): void {
  const was = before.transaction.chargePendingMinor > 0
  const is = after.transaction.chargePendingMinor > 0 && !after.forgotten
  if (was === is) return
  const sortKey = chargeSortKey(after.account.accountId, after.transaction)
  writes.setIndex(indexes.charges, sortKey, is ? String(atMs) : null)
}

interface CommandContext {
  readonly pack: Pick<Pack, 'retentionMs'>
  readonly nowMs: number
  newVersion(): string
}

export function commandOf(
  cached: CachedAccount,
  book: WorkingBook,
  writes: Writes,
  /** How many of the book's guesses the decided items made. */
  guesses: number,
  { pack, nowMs, newVersion }: CommandContext,
): Command | null {
  const { cards, transactions, events, children } = book.dirty
  if (writes.log.length === 0 && writes.index.length === 0 && !writes.forced) return null
  const account = book.account()
  // A stray event's aggregate may be empty: then there is nothing to close.
  if (account === null) return null
  const put: ChildPut[] = []
  const remove: ChildKey[] = []
  for (const [id, card] of cards) {
    const before = cached.cards.get(id)
    const counts = countsIn(before)
    writeCounts(counts, id, card.merchantCounts, put, remove)
    takeOverWindows(card.windows, objectsOf(before)?.windows ?? {})
    const value = cardCodec.encode(card)
    put.push({ group: 'c', id, value })
    keepCard(cached, id, keepWithCounts(value, card, counts))
  }
  for (const [name, { key, record }] of transactions) {
    if (record === null) {
      remove.push(key)
      dropTransaction(cached, name)
      continue
    }
    const value = transactionCodec.encode(record)
    put.push({ group: key.group, id: key.id, value })
    keepTransaction(cached, name, keep(value, record))
  }
  for (const [eventKey, event] of events) {
    const { group, id } = eventPlace(eventKey, event, pack.retentionMs)
    // What was said so long ago that nobody remembers such events any more is booked, and not remembered.
    if (!isPassed(group, nowMs)) put.push({ group, id, value: eventCodec.encode(event) })
  }
  for (const { key, value } of children.values()) {
    if (value === null) remove.push(key)
    else put.push({ ...key, value })
  }
  const index: IndexEntryPut[] = []
  const unindex: IndexKey[] = []
  for (const { index: name, sortKey, value } of lastWords(writes.index)) {
    if (value === null) unindex.push({ index: name, sortKey })
    else index.push({ index: name, sortKey, value })
  }
  takeOverWindows(account.windows, objectsOf(cached.root)?.windows ?? {})
  const root = accountCodec.encode(account)
  keepRoot(cached, keep(root, account))
  return {
    aggregate: cached.aggregate,
    expectedVersion: cached.version,
    newVersion: newVersion(),
    root,
    mustBeAbsent: book.assumedAbsent.slice(0, guesses),
    put,
    remove,
    index,
    unindex,
    log: writes.log.map(encodeEntry),
  }
}
