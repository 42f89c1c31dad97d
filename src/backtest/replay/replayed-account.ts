import { stamp } from '../../domain/change/apply.ts'
import { type Book, gather, gatherDue, isAlias, touchedBy } from '../../domain/change/book.ts'
import type { EntryKind } from '../../domain/change/change.ts'
import type { Draft } from '../../domain/change/draft.ts'
import type { View } from '../../domain/change/view.ts'
import { answerDelivery, type Step } from '../../domain/decide/answer.ts'
import type { Delivery } from '../../domain/decide/delivery.ts'
import type { Pack } from '../../domain/decide/pack.ts'
import { sweepTransaction } from '../../domain/decide/sweep.ts'
import { type Entry, replay } from '../../domain/ledger/entry.ts'
import { operate } from '../../domain/operation/operation.ts'
import type { Transaction } from '../../domain/record/transaction.ts'
import { createReplayBook, type ReplayBook } from './replay-book.ts'

/** One account under one pack: its book, and the ways to change it. */
export interface ReplayedAccount {
  readonly book: ReplayBook
  /** Decides a delivery without booking it. */
  decide(delivery: Delivery, pack: Pack): Decision
  keep(decision: Decision): void
  sweepTransaction(cardId: string, transactionId: string, pack: Pack, nowMs: number): void
  /** Books the changes of a log entry as they are. */
  follow(entry: Entry): void
  /** Does again what people did, because this book is no longer the one that they did it on. */
  repeat(entry: Entry, pack: Pack): void
  copy(): ReplayedAccount
}

export interface Decision {
  readonly before: View
  readonly step: Step
}

export function createReplayedAccount(book = createReplayBook()): ReplayedAccount {
  function keepDraft(draft: Draft, kind: EntryKind): void {
    if (draft.changes.length === 0) return
    const after = stamp(draft.before, draft.view, draft.atMs, kind)
    book.put(touchedBy(draft.before, after))
  }

  function follow(entry: Entry): void {
    if (isClaimOfNothing(entry, book)) return
    const { before, after } = replay(entry, book)
    book.put(touchedBy(before, after))
  }

  return {
    book,
    decide(delivery, pack) {
      const before = gather(delivery.event, book)
      return { before, step: answerDelivery(delivery, before, pack) }
    },
    keep({ before, step }) {
      if (step.changes.length > 0) book.put(touchedBy(before, step.after))
    },
    sweepTransaction(cardId, transactionId, pack, nowMs) {
      const before = gatherDue(cardId, transactionId, book)
      if (before === null || before.transaction.dueAtMs > nowMs) return
      keepDraft(sweepTransaction(before, pack, nowMs), 'tended')
    },
    follow,
    repeat(entry, pack) {
      // This book has counted from the log itself.
      if (entry.changes.some(({ type }) => type === 'seeded')) return
      const operation = operationOf(entry) ?? cardChangeOf(entry)
      if (operation === null) {
        follow(entry)
        return
      }
      const draft = operate(operation, book, pack, entry.atMs)
      if (!('refused' in draft)) keepDraft(draft, entry.kind)
    },
    copy: () => createReplayedAccount(book.copy()),
  }
}

/** A claim of an event from before the log began has nothing to change. */
function isClaimOfNothing({ changes, eventKey }: Entry, book: Book): boolean {
  const claims = changes.some(
    ({ type }) => type === 'claimed' || type === 'unclaimed' || type === 'answerChanged',
  )
  return claims && book.event(eventKey) === null
}

/** The operation behind an entry, where its changes depend on the book; null where they do not. */
export function operationOf({ kind, event, eventKey, transaction, changes }: Entry) {
  if (kind === 'booked' && event !== null) {
    return { type: 'book', event, bookingKey: eventKey, sortKey: '' } as const
  }
  if (kind !== 'operated') return null
  const [cardId, transactionId] = transaction
  for (const [made, type] of deeds) {
    if (changes.some((change) => change.type === made)) return { type, cardId, transactionId }
  }
  return null
}

/** A card that has ended in this book is not thawed, as a server would refuse it. */
function cardChangeOf({ kind, cardId, changes }: Entry) {
  const [change] = changes
  if (kind !== 'operated' || change?.type !== 'cardChanged' || changes.length > 1) return null
  return { type: 'changeCard', cardId, set: change.set } as const
}

/** What people do to a transaction, by the change that tells it. */
const deeds = [
  ['expired', 'releaseHold'],
  ['granted', 'grantRefund'],
  ['chargeTaken', 'takeCharge'],
] as const

export function transactionIn(book: Book, cardId: string, id: string): Transaction | null {
  const found = book.transaction(cardId, id)
  return found === null || isAlias(found) ? null : found
}
