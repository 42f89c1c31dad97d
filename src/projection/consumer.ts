import type { Entry } from '../domain/ledger/entry.ts'
import type { TransactionRow } from './row.ts'

/** An entry of the log, and when it was written there. */
export interface LoggedEntry {
  readonly entry: Entry
  readonly writtenMs: number
}

/** An entry of the log with what it meant for the lists. */
export interface ProjectedEntry extends LoggedEntry {
  /** The owner of its account; '' when it has none, or belongs to no account. */
  readonly organizationId: string
  /** That of its account; '' when there is none. */
  readonly currency: string
  /** The rows that it made, or changed as a whole: its own, or that of an ask whose answer was taken back. */
  readonly rows: readonly TransactionRow[]
}

/** Somebody who makes something of every entry of the log, such as rows of a list or webhooks. */
export interface Consumer {
  /** For messages. */
  readonly name: string
  /**
   * Resolves when all that follows from the entries is durable. They come in the order of the log, which
   * is that of the numbers within an account; only an entry whose commit took long may come after later
   * ones of other accounts. After a crash, or while two instances both believe that it is their turn,
   * entries come again: what is written under an entry's account and number must stay as it is.
   */
  take(entries: readonly ProjectedEntry[]): Promise<void>
}
