import type { Operation } from '../../domain/operation/operation.ts'
import type { Account } from '../../domain/record/account.ts'
import type { Card } from '../../domain/record/card.ts'
import type { Transaction } from '../../domain/record/transaction.ts'
import { type ChildKey, StoreError } from '../../store/port.ts'
import type { AggregateWrite } from '../aggregate-copy.ts'

/** One change of one account, beside its events. It may be decided several times. */
export interface AccountChange<T> {
  readonly accountId: string
  /** Who asked for it, in the log: `api CLIENT REFERENCE`. */
  readonly origin: string
  /** Children that only this change knows: the engine's own records are read when they are asked for. */
  readonly reads?: readonly ChildKey[]
  /** Such children that are hardly ever there: guessed to be absent, which the commit checks. */
  readonly guesses?: readonly ChildKey[]
  /**
   * `write: null` answers from what was read: only for what can never change. Whatever a command that is
   * still on its way could contradict, a refusal too, is said by a write.
   */
  decide(view: AccountView): AccountDecision<T>
}

export interface AccountDecision<T> {
  readonly result: T
  readonly write: AccountWrite | null
}

/** An account as one change finds it, with what its own operations have made of it. */
export interface AccountView {
  /** null while it is not opened. */
  readonly account: Account | null
  card(cardId: string): Card | null
  /** In the order given: what is not in memory is read together. */
  cards(cardIds: readonly string[]): readonly (Card | null)[]
  /** By its first name. */
  transaction(cardId: string, transactionId: string): Transaction | null
  /** Makes sure that these are in memory: what is not is read together. */
  readTransactions(named: readonly Pick<Transaction, 'cardId' | 'transactionId'>[]): void
  /** One of the children that the change reads; null when there is none. */
  child(key: ChildKey): string | null
  /**
   * '' or why it was refused. What it did is written with the change, and dropped where `write` is null. The
   * reason is what a person gave.
   */
  operate(operation: Operation, reason?: string): string
}

/** What is written besides the operations; an empty one only renews the version. */
export type AccountWrite = Omit<AggregateWrite, 'root' | 'log'>

/** A change on its way through the engine. */
export interface ChangeItem {
  readonly kind: 'change'
  readonly change: AccountChange<unknown>
  /** A command with it may still be executed. */
  mayStillCommit: boolean
  /** What it guesses to be absent may be there: it is read. */
  mayExist: boolean
  outcome: { readonly result: unknown } | { readonly error: unknown }
  readonly done: (result: unknown) => void
  readonly fail: (error: unknown) => void
}

const undecided = { error: new Error('a change was not decided') }

/** A change as an item of the queue, and what becomes of it. */
export function newChange<T>(change: AccountChange<T>): { item: ChangeItem; settled: Promise<T> } {
  let item: ChangeItem | null = null
  const settled = new Promise<T>((resolve, fail) => {
    const done = (result: unknown) => resolve(result as T)
    const fresh = { mayStillCommit: false, mayExist: false, outcome: undecided }
    item = { kind: 'change', change, ...fresh, done, fail }
  })
  return { item: item!, settled }
}

/** After the commit, or when nothing had to be written. */
export function settle({ outcome, done, fail }: ChangeItem): void {
  if ('error' in outcome) fail(outcome.error)
  else done(outcome.result)
}

/** A record that a change needs cannot be read, or deciding on it fails. */
export class ChangeDamaged extends StoreError {}

/** Nobody decides it any more. */
export function abandon(
  { mayStillCommit, fail }: ChangeItem,
  why: string,
  Kind: typeof StoreError = StoreError,
): void {
  fail(new Kind(why, mayStillCommit ? 'unknown' : 'no'))
}
