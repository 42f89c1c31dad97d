import { stamp } from '../domain/change/apply.ts'
import { gather, gatherDue } from '../domain/change/book.ts'
import type { Draft } from '../domain/change/draft.ts'
import type { View } from '../domain/change/view.ts'
import type { answerDelivery } from '../domain/decide/answer.ts'
import type { Pack } from '../domain/decide/pack.ts'
import { sweepTransaction } from '../domain/decide/sweep.ts'
import { entryOfChanges, entryOfStep, type Motive, unexplained } from '../domain/ledger/entry.ts'
import { adviceOf, entryKindOf, type OperatedKind, operate } from '../domain/operation/operation.ts'
import { isAsk } from '../domain/record/event.ts'
import type { Command } from '../store/port.ts'
import type { ChangeItem } from './change/account-change.ts'
import { decideChange } from './change/decided-change.ts'
import { indexes } from './format/layout.ts'
import type { DeliveryItem, Item, OperationItem, SweepItem } from './item.ts'
import type { CachedAccount } from './memory/cache.ts'
import {
  openWorkingBook,
  rootDamage,
  type Wanted,
  type WorkingBook,
  wantRoot,
} from './memory/working-book.ts'
import { type Damage, messageOf, RecordDamaged } from './quarantine/damage.ts'
import type { SharedDesk } from './shared/desk.ts'
import { commandOf, createWrites, dueSortKey, lacksCards, record, type Writes } from './writes.ts'

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
  /** Where the pack has windows over several cards. */
  readonly shared?: Pick<SharedDesk, 'missing'> | undefined
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
  // Those of decided items: what an item guessed that must still read is nothing that others rest on.
  let guesses = 0
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
    guesses = book.assumedAbsent.length
  }
  if (decided.length === 0) return { ...nothing, failed, wanted: wantedBy(items, book) }
  return {
    decided,
    failed,
    command: commandOf(cached, book, writes, guesses, context),
    wanted: [],
  }
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
  if (context.pack.sharedWindows !== undefined) wantShared(item, before, book, context)
  if (book.wanted.length > 0) return
  const step = context.answerDelivery(item, before, context.pack)
  item.step = step
  if (step.changes.length > 0) {
    record(before, step.after, entryOfStep(item, before, step), book, writes)
  } else if (item.mayStillCommit || context.mayLose) {
    // A command of this item may still be on its way: a new version makes it fail. And what another server, or an
    // engine before us, wrote for the event can be lost unnoticed until we have committed after it.
    writes.forced = true
  }
}

/** Only what is asked for the first time looks at the counts. */
function wantShared(
  { event, said, receivedAtMs: atMs }: DeliveryItem,
  before: View,
  book: WorkingBook,
  { pack, shared }: BatchContext,
): void {
  if (said !== null || before.event !== null || !isAsk(event)) return
  const { account, card, transaction } = before
  const missing = shared?.missing(pack, { event, account, card, transaction, atMs }) ?? null
  if (missing !== null) book.wantOther(missing)
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
  const due = before === null ? '' : dueSortKey(before.account.accountId, before.transaction)
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
  const changed = !('refused' in draft) && draft.changes.length > 0
  item.outcome = { refused, changed }
  // Another server may have changed the account since it was read: only a commit shows that it has not.
  if (!changed) writes.forced = true
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
  // All of them or none: a step that lacks a record must not follow one that was put.
  if (decided.steps.some(({ before, after, entry }) => lacksCards(before, after, entry, book))) {
    return
  }
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
