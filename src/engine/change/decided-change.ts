import { stamp } from '../../domain/change/apply.ts'
import { isAlias, touchedBy } from '../../domain/change/book.ts'
import type { View } from '../../domain/change/view.ts'
import type { Pack } from '../../domain/decide/pack.ts'
import { type Entry, entryOfChanges } from '../../domain/ledger/entry.ts'
import { adviceOf, entryKindOf, operate } from '../../domain/operation/operation.ts'
import type { WorkingBook } from '../memory/working-book.ts'
import { RecordDamaged } from '../quarantine/damage.ts'
import type { AccountDecision, AccountView, AccountWrite, ChangeItem } from './account-change.ts'
import { stageOn } from './staged-book.ts'

/** What a change writes: the entries of its operations in order, and what it puts beside them. */
export interface DecidedChange {
  readonly steps: readonly ChangeStep[]
  readonly write: AccountWrite | null
}

interface ChangeStep {
  readonly before: View
  readonly after: View
  readonly entry: Entry
}

/** Thrown out of a change that needs a record which is not in memory. */
const wanting = new Error('a change waits for a read')

/**
 * Decides a change on a copy of the book, so that nothing is put when it lacks a record or fails. Its result
 * is kept in the item; null when something is wanted first. A bug in the change fails it alone.
 */
export function decideChange(
  item: ChangeItem,
  book: WorkingBook,
  pack: Pack,
  nowMs: number,
): DecidedChange | null {
  const { change } = item
  const { guesses = [] } = change
  const isGuessing = guesses.length > 0 && !item.mayExist
  for (const key of change.reads ?? []) book.child(key)
  for (const key of guesses) book.child(key, isGuessing)
  if (book.wanted.length > 0) return null
  const steps: ChangeStep[] = []
  const view = viewOf(item, book, pack, nowMs, steps)
  let decision: AccountDecision<unknown>
  try {
    decision = change.decide(view)
  } catch (error) {
    if (error === wanting) return null
    if (error instanceof RecordDamaged) throw error
    item.outcome = { error }
    // What seems impossible may only be so in an old copy: the commit shows it, and it is decided again.
    return { steps: [], write: {} }
  }
  const { result } = decision
  // What rests on a guess is said by a commit, which checks it.
  const write = decision.write ?? (isGuessing ? {} : null)
  if (view.account === null && write !== null && Object.keys(write).length > 0) {
    item.outcome = { error: new Error('a change writes to an account that is not opened') }
    return { steps: [], write: null }
  }
  item.outcome = { result }
  return { steps: decision.write === null ? [] : steps, write }
}

function viewOf(
  { change }: ChangeItem,
  book: WorkingBook,
  pack: Pack,
  nowMs: number,
  steps: ChangeStep[],
): AccountView {
  const staged = stageOn(book)
  const children = [...(change.reads ?? []), ...(change.guesses ?? [])]
  const known = new Set(children.map(({ group, id }) => `${group}\n${id}`))

  function found<T>(value: T): T {
    if (book.wanted.length > 0) throw wanting
    return value
  }

  // No getter: see `openAggregateCopy`.
  const view: { -readonly [K in keyof AccountView]: AccountView[K] } = {
    account: staged.account(),
    card: (cardId) => found(staged.card(cardId)),
    cards: (cardIds) => found(cardIds.map((cardId) => staged.card(cardId))),
    transaction(cardId, id) {
      const record = found(staged.transaction(cardId, id))
      return record === null || isAlias(record) ? null : record
    },
    readTransactions(named) {
      for (const { cardId, transactionId } of named) staged.transaction(cardId, transactionId)
      found(null)
    },
    child(key) {
      if (known.has(`${key.group}\n${key.id}`)) return found(book.child(key))
      throw new Error('a change looks at a child that it does not read')
    },
    operate(operation, reason = '') {
      const draft = found(operate(operation, staged, pack, nowMs))
      if ('refused' in draft) return draft.refused
      const { before, changes, atMs } = draft
      if (changes.length === 0) return ''
      const kind = entryKindOf(operation)
      const after = stamp(before, draft.view, atMs, kind)
      const motive = { reason, origin: change.origin, event: adviceOf(operation) }
      const entry = entryOfChanges(kind, before, after, changes, atMs, motive)
      steps.push({ before, after, entry })
      staged.put(touchedBy(before, after))
      view.account = staged.account()
      return ''
    },
  }
  return view
}
