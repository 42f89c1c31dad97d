import { touchedBy } from '../domain/change/book.ts'
import type { View } from '../domain/change/view.ts'
import type { Entry } from '../domain/ledger/entry.ts'
import type { Transaction } from '../domain/record/transaction.ts'
import type { Command, IndexEntryPut, IndexKey } from '../store/port.ts'
import { cardIndexEntries, cardStatusEntry } from './format/card-index.ts'
import { accountCodec, cardCodec, eventCodec, transactionCodec } from './format/codec.ts'
import { encodeEntry, encodeWork } from './format/entry-codec.ts'
import { chargeSortKey, indexes, timeSortKey } from './format/layout.ts'
import {
  type CachedAccount,
  dropTransaction,
  keepCard,
  keepRoot,
  keepTransaction,
} from './memory/cache.ts'
import { keep } from './memory/kept.ts'
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

export function record(
  before: View,
  after: View,
  entry: Entry,
  book: WorkingBook,
  writes: Writes,
): void {
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
      for (const one of cardIndexEntries(after.account.organizationId, change.card)) {
        writes.setIndex(one.index, one.sortKey, one.value)
      }
    }
  }
  if (before.card.status !== after.card.status) moveStatus(before, after, writes)
  writes.recording = false
}

/** The card stands in the list of its status. */
function moveStatus({ card: was }: View, { card: is, account }: View, writes: Writes): void {
  const left = was.cardId === '' ? null : cardStatusEntry(account.organizationId, was)
  const joined = cardStatusEntry(account.organizationId, is)
  if (left !== null) writes.setIndex(left.index, left.sortKey, null)
  if (joined !== null) writes.setIndex(joined.index, joined.sortKey, joined.value)
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

export function commandOf(
  cached: CachedAccount,
  book: WorkingBook,
  writes: Writes,
  retentionMs: number,
  newVersion: () => string,
): Command | null {
  const { cards, transactions, events, children } = book.dirty
  if (writes.log.length === 0 && writes.index.length === 0 && !writes.forced) return null
  const account = book.account()
  // A stray event's aggregate may be empty: then there is nothing to close.
  if (account === null) return null
  const put = []
  const remove = []
  for (const [id, card] of cards) {
    const value = cardCodec.encode(card)
    put.push({ group: 'c', id, value })
    keepCard(cached, id, keep(value, card))
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
    const { group, id } = eventPlace(eventKey, event, retentionMs)
    put.push({ group, id, value: eventCodec.encode(event) })
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
  const root = accountCodec.encode(account)
  keepRoot(cached, keep(root, account))
  return {
    aggregate: cached.aggregate,
    expectedVersion: cached.version,
    newVersion: newVersion(),
    root,
    mustBeAbsent: book.assumedAbsent,
    put,
    remove,
    index,
    unindex,
    log: writes.log.map(encodeEntry),
  }
}
