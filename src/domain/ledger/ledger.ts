import { stamp } from '../change/apply.ts'
import {
  type Book,
  gather,
  gatherDue,
  isAlias,
  setNames,
  type TouchedRecords,
  touchedBy,
} from '../change/book.ts'
import type { Draft } from '../change/draft.ts'
import type { View } from '../change/view.ts'
import { answerDelivery, type Step } from '../decide/answer.ts'
import type { Delivery } from '../decide/delivery.ts'
import type { Pack } from '../decide/pack.ts'
import { sweepTransaction } from '../decide/sweep.ts'
import {
  adviceOf,
  entryKindOf,
  type OperatedKind,
  type Operation,
  operate,
} from '../operation/operation.ts'
import type { OperationRefused } from '../operation/outcome.ts'
import type { Account } from '../record/account.ts'
import type { Card } from '../record/card.ts'
import type { EventRecord } from '../record/event-record.ts'
import type { Alias, Transaction } from '../record/transaction.ts'
import { type Entry, entryOfChanges, entryOfStep, replay, unexplained } from './entry.ts'

/** A book held whole in memory. */
export interface MemoryBook extends Book {
  readonly cards: ReadonlyMap<string, Card>
  readonly transactions: ReadonlyMap<string, Transaction | Alias>
  readonly events: ReadonlyMap<string, EventRecord>
  put(touched: TouchedRecords): void
  /** Dates events that a wrong clock put later than this back to it. */
  redate(latestMs: number): void
}

/** Does to a book what the entry did. */
export function applyEntry(entry: Entry, book: MemoryBook): void {
  const { before, after } = replay(entry, book)
  book.put(touchedBy(before, after))
  if (entry.changes.some(({ type }) => type === 'repaired')) book.redate(entry.atMs)
}

/** Ids are printable, so a line break can stand between them. */
export function transactionKey(cardId: string, transactionId: string): string {
  return `${cardId}\n${transactionId}`
}

/** Empty, or with all that another has: records never change, so the two share them. */
export function createMemoryBook(from?: MemoryBook): MemoryBook {
  let account: Account | null = from?.account() ?? null
  const cards = new Map<string, Card>(from?.cards)
  const transactions = new Map<string, Transaction | Alias>(from?.transactions)
  const events = new Map<string, EventRecord>(from?.events)
  return {
    cards,
    transactions,
    events,
    account: () => account,
    card: (cardId) => cards.get(cardId) ?? null,
    transaction: (cardId, id) => transactions.get(transactionKey(cardId, id)) ?? null,
    event: (eventKey) => events.get(eventKey) ?? null,
    put(touched) {
      account = touched.account
      for (const card of touched.cards) cards.set(card.cardId, card)
      setNames(touched, (cardId, name, found) => {
        if (found === null) transactions.delete(transactionKey(cardId, name))
        else transactions.set(transactionKey(cardId, name), found)
      })
      if (touched.event !== null) events.set(touched.event.key, touched.event.record)
    },
    redate(latestMs) {
      for (const [key, record] of events) {
        if (record.atMs > latestMs) events.set(key, { ...record, atMs: latestMs })
      }
    },
  }
}

/** All accounts in memory, without a store: for scenarios, replays and backtests. */
export interface Ledger {
  readonly entries: readonly Entry[]
  book(accountId: string): MemoryBook
  operate(
    accountId: string,
    operation: Operation,
    pack: Pack,
    nowMs: number,
  ): OperationRefused | null
  deliver(delivery: Delivery, pack: Pack): Step & { before: View }
  /** Sweeps every transaction whose time has come. */
  sweep(pack: Pack, nowMs: number): void
  replay(entry: Entry): void
}

export function createLedger(): Ledger {
  const books = new Map<string, MemoryBook>()
  const accountOfCard = new Map<string, string>()
  const entries: Entry[] = []

  function book(accountId: string): MemoryBook {
    let found = books.get(accountId)
    if (found === undefined) {
      found = createMemoryBook()
      books.set(accountId, found)
    }
    return found
  }

  function commit(into: MemoryBook, before: View, after: View, entry: Entry): void {
    into.put(touchedBy(before, after))
    entries.push(entry)
  }

  function commitDraft(
    into: MemoryBook,
    kind: 'tended' | OperatedKind,
    draft: Draft,
    motive = unexplained,
  ): void {
    const { before, changes, atMs } = draft
    if (changes.length === 0) return
    const after = stamp(before, draft.view, atMs, kind)
    commit(into, before, after, entryOfChanges(kind, before, after, changes, atMs, motive))
  }

  return {
    entries,
    book,
    operate(accountId, operation, pack, nowMs) {
      const into = book(accountId)
      const draft = operate(operation, into, pack, nowMs)
      if ('refused' in draft) return draft
      if (operation.type === 'open') accountOfCard.set(operation.card.cardId, accountId)
      commitDraft(into, entryKindOf(operation), draft, { reason: '', event: adviceOf(operation) })
      return null
    },
    deliver(delivery, pack) {
      const into = book(accountOfCard.get(delivery.event.cardId) ?? '')
      const before = gather(delivery.event, into)
      const step = answerDelivery(delivery, before, pack)
      if (step.changes.length > 0) {
        commit(into, before, step.after, entryOfStep(delivery, before, step))
      }
      return { ...step, before }
    },
    sweep(pack, nowMs) {
      for (const into of books.values()) {
        for (const t of [...into.transactions.values()]) {
          if (isAlias(t) || t.dueAtMs > nowMs) continue
          const before = gatherDue(t.cardId, t.transactionId, into)
          if (before === null) continue
          commitDraft(into, 'tended', sweepTransaction(before, pack, nowMs))
        }
      }
    },
    replay(entry) {
      applyEntry(entry, book(entry.accountId))
      entries.push(entry)
    },
  }
}
