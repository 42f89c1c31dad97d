import { stamp } from '../domain/change/apply.ts'
import { gather, gatherDue, touchedBy } from '../domain/change/book.ts'
import type { Draft } from '../domain/change/draft.ts'
import type { View } from '../domain/change/view.ts'
import type { answerDelivery } from '../domain/decide/answer.ts'
import type { Pack } from '../domain/decide/pack.ts'
import { sweepTransaction } from '../domain/decide/sweep.ts'
import {
  type Entry,
  entryOfChanges,
  entryOfStep,
  type Motive,
  unexplained,
} from '../domain/ledger/entry.ts'
import { adviceOf, entryKindOf, type OperatedKind, operate } from '../domain/operation/operation.ts'
import { isAsk } from '../domain/record/event.ts'
import type { Transaction } from '../domain/record/transaction.ts'
import type { Command, IndexEntryPut, IndexKey } from '../store/port.ts'
import type { ChangeItem } from './change/account-change.ts'
import { decideChange } from './change/decided-change.ts'
import { cardIndexEntries, cardStatusEntry } from './format/card-index.ts'
import { accountCodec, cardCodec, eventCodec, transactionCodec } from './format/codec.ts'
import { encodeEntry, encodeWork } from './format/entry-codec.ts'
import { chargeSortKey, indexes, timeSortKey } from './format/layout.ts'
import type { DeliveryItem, Item, OperationItem, SweepItem } from './item.ts'
import {
  type CachedAccount,
  dropTransaction,
  keepCard,
  keepRoot,
  keepTransaction,
} from './memory/cache.ts'
import { keep } from './memory/kept.ts'
import {
  eventPlace,
  openWorkingBook,
  rootDamage,
  type Wanted,
  type WorkingBook,
  wantRoot,
} from './memory/working-book.ts'
import { type Damage, messageOf, RecordDamaged } from './quarantine/damage.ts'

/** What became of a batch: items that were decided, and what must be read before the rest can be. */
export interface Batch {
  readonly decided: readonly Item[]
  /** null when nothing needs to be written. */
  readonly command: Command | null
  readonly wanted: readonly Wanted[]
  /** What cannot be decided now; nothing of it is in the command. */
  readonly failed: readonly FailedItem[]
}

interface FailedItem {
  readonly item: Item
  readonly damage: Damage
}

export interface BatchContext {
  readonly pack: Pack
  readonly nowMs: number
  readonly newVersion: () => string
  readonly answerDelivery: typeof answerDelivery
  /** The store can lose what it acknowledged. */
  readonly mayLose: boolean
}

/**
 * Decides items in order on one working copy, as far as memory reaches. An item that fails is left out,
 * and the others go on. It throws when that would leave the working copy half changed.
 */
export function decideBatch(
  cached: CachedAccount,
  items: readonly Item[],
  context: BatchContext,
): Batch {
  const damage = rootDamage(cached)
  if (damage !== undefined) return { ...nothing, failed: items.map((item) => ({ item, damage })) }
  const book = openWorkingBook(cached, context.pack.retentionMs)
  if (!cached.loaded) return { ...nothing, wanted: wantedFirst(cached, items, book) }
  const writes = createWrites()
  const decided: Item[] = []
  const failed: FailedItem[] = []
  for (const item of items) {
    const before = book.account()
    try {
      decideItem(item, book, writes, context)
    } catch (error) {
      if (writes.recording) throw error
      failed.push({ item, damage: damageOf(error, cached.aggregate) })
      continue
    }
    if (book.wanted.length > 0) {
      // Nothing was put for this item: reading comes before deciding.
      if (book.account() !== before) throw new Error('an item was decided on missing records')
      break
    }
    decided.push(item)
  }
  if (decided.length === 0) return { ...nothing, failed, wanted: wantedBy(items, book) }
  return { decided, failed, command: commandOf(cached, book, writes, context), wanted: [] }
}

const nothing: Batch = { decided: [], command: null, wanted: [], failed: [] }

export function damageOf(error: unknown, aggregate: string): Damage {
  if (error instanceof RecordDamaged) return error.damage
  return { aggregate, key: null, problem: messageOf(error) }
}

/** The root before all else; with it, in the same read, what will be needed whatever it says. */
function wantedFirst(
  cached: CachedAccount,
  items: readonly Item[],
  book: WorkingBook,
): readonly Wanted[] {
  for (const cardId of new Set(items.map(cardIdOf))) if (cardId !== '') book.card(cardId)
  for (const item of items) {
    if (item.kind === 'delivery' && !isAsk(item.event) && item.event.transactionId !== '') {
      book.transaction(item.event.cardId, item.event.transactionId)
    }
    if (item.kind === 'change') for (const key of item.change.reads ?? []) book.child(key)
  }
  return [wantRoot(cached), ...book.wanted]
}

function cardIdOf(item: Item): string {
  if (item.kind === 'delivery') return item.event.cardId
  return item.kind === 'sweep' ? item.cardId : ''
}

/** When the first item must wait for a read, the others' reads go with it. */
function wantedBy(items: readonly Item[], book: WorkingBook): readonly Wanted[] {
  if (book.wanted.length === 0) return book.wanted
  for (const item of items.slice(1)) {
    if (item.kind === 'change') for (const key of item.change.reads ?? []) book.child(key)
    if (item.kind !== 'delivery') continue
    readFor(item, book)
    try {
      gather(item.event, book)
    } catch {
      // It fails when its turn comes.
    }
  }
  return book.wanted
}

interface IndexWrite extends IndexKey {
  readonly value: string | null
}

/** What a batch writes besides the records. */
interface Writes {
  readonly log: Entry[]
  /** In order; the last word on an index entry wins, and null removes it. */
  readonly index: IndexWrite[]
  forced: boolean
  /** An item is being put down: should that fail, the working copy is worth nothing. */
  recording: boolean
  setIndex(index: string, sortKey: string, value: string | null): void
}

function createWrites(): Writes {
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

function decideItem(item: Item, book: WorkingBook, writes: Writes, context: BatchContext): void {
  if (item.kind === 'delivery') decideDelivery(item, book, writes, context)
  else if (item.kind === 'sweep') decideSweep(item, book, writes, context)
  else if (item.kind === 'change') writeChange(item, book, writes, context)
  else decideOperation(item, book, writes, context)
}

/**
 * The fast path reads nothing before it writes: a new event, and the transaction of a new ask, are
 * guessed not to exist and the commit checks it. An advice mostly finds its transaction in the store.
 */
function readFor(item: DeliveryItem, book: WorkingBook): void {
  const fresh = item.said === null && !item.mayExist
  const arrivalMs = Math.max(item.receivedAtMs, book.account()?.lastArrivalMs ?? 0)
  book.next(arrivalMs, { event: fresh, transaction: fresh && isAsk(item.event) })
}

function decideDelivery(
  item: DeliveryItem,
  book: WorkingBook,
  writes: Writes,
  context: BatchContext,
): void {
  readFor(item, book)
  const before = gather(item.event, book)
  if (book.wanted.length > 0) return
  const step = context.answerDelivery(item, before, context.pack)
  item.step = step
  if (step.changes.length > 0) {
    record(before, step.after, entryOfStep(item, before, step), book, writes)
  } else if (item.mayStillCommit || (context.mayLose && item.said !== null)) {
    // A command of this item may still be on its way: a new version makes it fail. And what an engine
    // before us wrote for the slot, unanswered, can be lost unnoticed until we have committed after it.
    writes.forced = true
  }
}

function decideSweep(
  item: SweepItem,
  book: WorkingBook,
  writes: Writes,
  context: BatchContext,
): void {
  book.next(context.nowMs, { event: false, transaction: false })
  const before = gatherDue(item.cardId, item.transactionId, book)
  if (book.wanted.length > 0) return
  if (before !== null && before.transaction.dueAtMs <= context.nowMs) {
    const draft = sweepTransaction(before, context.pack, context.nowMs)
    recordDraft('tended', draft, unexplained, book, writes)
  }
  const due = before === null ? '' : dueKey(before.account.accountId, before.transaction)
  // An entry that names no transaction, or one at another time, is a leftover.
  if (due !== item.sortKey) writes.setIndex(indexes.due, item.sortKey, null)
}

function decideOperation(
  item: OperationItem,
  book: WorkingBook,
  writes: Writes,
  context: BatchContext,
): void {
  const { operation, reason, origin } = item
  const arrivalMs = Math.max(context.nowMs, book.account()?.lastArrivalMs ?? 0)
  book.next(arrivalMs, { event: false, transaction: false })
  const draft = operate(operation, book, context.pack, context.nowMs)
  if (book.wanted.length > 0) return
  const refused = 'refused' in draft ? draft.refused : ''
  item.outcome = { refused, changed: !('refused' in draft) && draft.changes.length > 0 }
  if ('refused' in draft) return
  const motive = { reason, origin, event: adviceOf(operation) }
  recordDraft(entryKindOf(operation), draft, motive, book, writes)
}

function writeChange(
  item: ChangeItem,
  book: WorkingBook,
  writes: Writes,
  { pack, nowMs }: BatchContext,
): void {
  const arrivalMs = Math.max(nowMs, book.account()?.lastArrivalMs ?? 0)
  book.next(arrivalMs, { event: false, transaction: false })
  const decided = decideChange(item, book, pack, nowMs)
  if (decided === null) return
  for (const { before, after, entry } of decided.steps) record(before, after, entry, book, writes)
  const { write } = decided
  if (write !== null || item.mayStillCommit) writes.forced = true
  for (const key of write?.remove ?? []) book.setChild(key, null)
  for (const { value, ...key } of write?.put ?? []) book.setChild(key, value)
  for (const { index, sortKey } of write?.unindex ?? []) writes.setIndex(index, sortKey, null)
  for (const { index, sortKey, value } of write?.index ?? []) {
    writes.setIndex(index, sortKey, value)
  }
}

function recordDraft(
  kind: 'tended' | OperatedKind,
  draft: Draft,
  motive: Motive,
  book: WorkingBook,
  writes: Writes,
): void {
  const { before, changes, atMs } = draft
  if (changes.length === 0) return
  const after = stamp(before, draft.view, atMs, kind)
  const entry = entryOfChanges(kind, before, after, changes, atMs, motive)
  record(before, after, entry, book, writes)
}

function record(before: View, after: View, entry: Entry, book: WorkingBook, writes: Writes): void {
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

function dueKey(accountId: string, { dueAtMs, cardId, transactionId }: Transaction): string {
  return timeSortKey(dueAtMs, accountId, cardId, transactionId)
}

function moveDue(
  accountId: string,
  before: Transaction,
  after: Transaction | null,
  writes: Writes,
): void {
  if (after !== null && before.dueAtMs === after.dueAtMs) return
  if (before.dueAtMs !== 0) writes.setIndex(indexes.due, dueKey(accountId, before), null)
  if (after !== null) writes.setIndex(indexes.due, dueKey(accountId, after), '')
}

/** A transaction is listed while a part of its charge is pending; its time is when that began. */
function movePending(before: View, after: View, atMs: number, writes: Writes): void {
  const was = before.transaction.chargePendingMinor > 0
  const is = after.transaction.chargePendingMinor > 0 && !after.forgotten
  if (was === is) return
  const sortKey = chargeSortKey(after.account.accountId, after.transaction)
  writes.setIndex(indexes.charges, sortKey, is ? String(atMs) : null)
}

function commandOf(
  cached: CachedAccount,
  book: WorkingBook,
  writes: Writes,
  { pack, newVersion }: BatchContext,
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
    const { group, id } = eventPlace(eventKey, event, pack.retentionMs)
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
