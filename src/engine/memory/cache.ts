import type { Account } from '../../domain/record/account.ts'
import type { Card } from '../../domain/record/card.ts'
import type { EventRecord } from '../../domain/record/event-record.ts'
import type { Alias, Transaction } from '../../domain/record/transaction.ts'
import type { Damage } from '../quarantine/damage.ts'

/** What memory knows of one aggregate, all of it as of `version`. */
export interface CachedAccount {
  readonly aggregate: string
  /** False until the root was read. */
  loaded: boolean
  /** null when the aggregate does not exist. */
  version: string | null
  account: Account | null
  readonly cards: Map<string, Card | null>
  /**
   * As the store keeps them once they are written: one text costs the garbage collector far less than the
   * objects of a record that is perhaps never asked for again.
   */
  readonly transactions: Map<string, Transaction | Alias | string | null>
  /** What they count: see `keepTransaction`. */
  transactionBytes: number
  /** Transactions that the batch found missing; nothing of them is kept after it. */
  missing: string[]
  /** What was read for the batch that is being decided: a duplicate is rare. */
  readonly events: Map<string, EventRecord | null>
  /** Children that only changes know, by group and id, as they were read for the batch that is being decided. */
  readonly children: Map<string, string | null>
  /** Characters of the rows of its cards, and of the root under '': see `noteRow`. */
  readonly rowChars: Map<string, number>
  rowsChars: number
  /** What the cache counts for it. */
  bytes: number
  /** Used since room was made last. */
  used: boolean
  /** What could not be read for the batch that is being decided, named by group and id. */
  readonly unreadable: Map<string, Damage>
}

export interface Cache {
  readonly size: number
  /** An estimate, from the lengths of the rows as they are stored. */
  readonly bytes: number
  /** More than half of the bound is in use. */
  readonly isHalfFull: boolean
  readonly hits: number
  readonly misses: number
  /** The account, made empty when it is not there. */
  open(aggregate: string): CachedAccount
  /** What memory has, without making or renewing it. */
  find(aggregate: string): CachedAccount | undefined
  /** Takes in what was read beside the events of the moment; the account must not be there yet. */
  add(account: CachedAccount): void
  /** Forgets the root and all children: another version is in the store. */
  drop(aggregate: string): void
  /**
   * After a commit: what was only needed for the batch goes, what is likely to be asked again stays, and
   * that is weighed.
   */
  settle(cached: CachedAccount): void
  /**
   * Makes room down to the bound, of what was not used since the last time. An account that is being
   * decided on stays.
   */
  trim(isBusy: (aggregate: string) => boolean): void
}

/** Older transactions of one account are read again when they are needed. */
export const maxTransactionsPerAccount = 128

/** Of an account with nothing in it, of a card beside its row, and of a transaction beside its text. */
const bytesBeside = { account: 1_000, card: 300, transaction: 100 } as const
/** A transaction that was read and not written is there as its objects. */
const bytesOfRecord = 2_000
/** The objects of a record take so much more than its row. */
const bytesPerChar = 4

/** Tells the cache how long the row of a card is; '' is the root. */
export function noteRow(cached: CachedAccount, cardId: string, row: string): void {
  cached.rowsChars += row.length - (cached.rowChars.get(cardId) ?? 0)
  cached.rowChars.set(cardId, row.length)
}

export function keepTransaction(
  cached: CachedAccount,
  name: string,
  found: Transaction | Alias | string | null,
): void {
  const { transactions } = cached
  cached.transactionBytes += bytesOf(found) - bytesOf(transactions.get(name) ?? null)
  transactions.set(name, found)
  if (found === null) cached.missing.push(name)
}

function dropTransaction(cached: CachedAccount, name: string): void {
  cached.transactionBytes -= bytesOf(cached.transactions.get(name) ?? null)
  cached.transactions.delete(name)
}

function bytesOf(found: Transaction | Alias | string | null): number {
  if (found === null) return 0
  return typeof found === 'string' ? bytesBeside.transaction + found.length : bytesOfRecord
}

export function createCache(maxAccounts: number, maxBytes = Infinity): Cache {
  const accounts = new Map<string, CachedAccount>()
  const counts = { hits: 0, misses: 0 }
  let bytes = 0

  function weigh(cached: CachedAccount): void {
    const beside = bytesBeside.account + cached.cards.size * bytesBeside.card
    const next = beside + cached.rowsChars * bytesPerChar + cached.transactionBytes
    // One that was dropped meanwhile counts for nothing.
    if (accounts.get(cached.aggregate) === cached) bytes += next - cached.bytes
    cached.bytes = next
  }

  function remove(aggregate: string): void {
    bytes -= accounts.get(aggregate)?.bytes ?? 0
    accounts.delete(aggregate)
  }

  function isFull(): boolean {
    return accounts.size > maxAccounts || bytes > maxBytes
  }

  return {
    get size() {
      return accounts.size
    },
    get bytes() {
      return bytes
    },
    get isHalfFull() {
      return 2 * bytes > maxBytes
    },
    get hits() {
      return counts.hits
    },
    get misses() {
      return counts.misses
    },
    open(aggregate) {
      let found = accounts.get(aggregate)
      if (found === undefined) {
        counts.misses++
        found = emptyAccount(aggregate)
        bytes += found.bytes
      } else {
        counts.hits++
        // Only marked, and put behind the others when room is made: moving it in every decision costs 2 µs.
        found.used = true
        return found
      }
      accounts.set(aggregate, found)
      return found
    },
    find: (aggregate) => accounts.get(aggregate),
    add(account) {
      accounts.set(account.aggregate, account)
      bytes += account.bytes
      weigh(account)
    },
    drop: remove,
    settle(cached) {
      if (cached.events.size > 0) cached.events.clear()
      if (cached.children.size > 0) cached.children.clear()
      const { transactions, missing } = cached
      for (const name of missing) {
        if (transactions.get(name) === null) dropTransaction(cached, name)
      }
      if (missing.length > 0) cached.missing = []
      if (transactions.size > maxTransactionsPerAccount) dropOldest(cached)
      weigh(cached)
    },
    trim(isBusy) {
      if (!isFull()) return
      // One that is put behind the others comes again at the end, and is then no longer marked.
      for (const [aggregate, cached] of accounts) {
        if (!isFull()) return
        if (isBusy(aggregate)) continue
        if (!cached.used) {
          remove(aggregate)
          continue
        }
        cached.used = false
        accounts.delete(aggregate)
        accounts.set(aggregate, cached)
      }
    },
  }
}

function dropOldest(cached: CachedAccount): void {
  for (const name of cached.transactions.keys()) {
    if (cached.transactions.size <= maxTransactionsPerAccount) return
    dropTransaction(cached, name)
  }
}

export function emptyAccount(aggregate: string): CachedAccount {
  return {
    aggregate,
    loaded: false,
    version: null,
    account: null,
    cards: new Map(),
    transactions: new Map(),
    transactionBytes: 0,
    missing: [],
    events: new Map(),
    children: new Map(),
    rowChars: new Map(),
    rowsChars: 0,
    bytes: bytesBeside.account,
    used: false,
    unreadable: new Map(),
  }
}
