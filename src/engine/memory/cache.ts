import type { Account } from '../../domain/record/account.ts'
import type { Card } from '../../domain/record/card.ts'
import type { EventRecord } from '../../domain/record/event-record.ts'
import type { Alias, Transaction } from '../../domain/record/transaction.ts'
import type { Damage } from '../quarantine/damage.ts'
import { bytesOf, type Kept } from './kept.ts'
import type { KeptCounts } from './kept-counts.ts'

/** What memory knows of one aggregate, all of it as of `version`. */
export interface CachedAccount {
  readonly aggregate: string
  /** False until the root was read. */
  loaded: boolean
  /** null when the aggregate does not exist. */
  version: string | null
  /** The account; null when the aggregate does not exist. */
  root: Kept<Account>
  readonly cards: Map<string, Kept<Card>>
  readonly transactions: Map<string, Kept<Transaction | Alias>>
  /** What root, cards and transactions count. */
  recordBytes: number
  /** null when there are none. */
  reads: BatchReads | null
  /** What the cache counts for it. */
  bytes: number
  /** Used since room was made last. */
  used: boolean
  /** The cache has forgotten it. */
  dropped: boolean
}

/** What was read for the batch that is being decided, and is not kept after it. */
interface BatchReads {
  /** A duplicate is rare. */
  readonly events: Map<string, EventRecord | null>
  /** Children that only changes know, by group and id. */
  readonly children: Map<string, string | null>
  /** Cards whose row was read, until what they counted at merchants is, too. */
  readonly cards: Map<string, { readonly row: string; readonly card: Card; counts: KeptCounts }>
  /** Transactions that were found missing. */
  readonly missing: string[]
  /** What could not be read, named by group and id. */
  readonly unreadable: Map<string, Damage>
}

export interface Cache {
  readonly size: number
  /** An estimate, from the lengths of the rows as they are stored. */
  readonly bytes: number
  readonly hits: number
  readonly misses: number
  /** The account, made empty when it is not there. */
  open(aggregate: string): CachedAccount
  /** What memory has, without making or renewing it. */
  find(aggregate: string): CachedAccount | undefined
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

/** Of an account with nothing in it, of a card beside its row, and of a transaction beside its row. */
const bytesBeside = { account: 1_000, card: 300, transaction: 100 } as const

export function keepRoot(cached: CachedAccount, kept: Kept<Account>): void {
  cached.recordBytes += bytesOf(kept) - bytesOf(cached.root)
  cached.root = kept
}

export function keepCard(cached: CachedAccount, cardId: string, kept: Kept<Card>): void {
  cached.recordBytes += bytesOf(kept) - bytesOf(cached.cards.get(cardId) ?? null)
  cached.cards.set(cardId, kept)
}

export function keepTransaction(
  cached: CachedAccount,
  name: string,
  kept: Kept<Transaction | Alias>,
): void {
  cached.recordBytes += bytesOf(kept) - bytesOf(cached.transactions.get(name) ?? null)
  cached.transactions.set(name, kept)
}

export function dropTransaction(cached: CachedAccount, name: string): void {
  cached.recordBytes -= bytesOf(cached.transactions.get(name) ?? null)
  cached.transactions.delete(name)
}

/** For what is read now. */
export function openReads(cached: CachedAccount): BatchReads {
  cached.reads ??= {
    events: new Map(),
    children: new Map(),
    cards: new Map(),
    missing: [],
    unreadable: new Map(),
  }
  return cached.reads
}

export function createCache(maxAccounts: number, maxBytes = Infinity): Cache {
  const accounts = new Map<string, CachedAccount>()
  const counts = { hits: 0, misses: 0 }
  let bytes = 0

  function weigh(cached: CachedAccount): void {
    const { cards, transactions, recordBytes } = cached
    const beside = cards.size * bytesBeside.card + transactions.size * bytesBeside.transaction
    const next = bytesBeside.account + beside + recordBytes
    // One that was dropped meanwhile counts for nothing.
    if (!cached.dropped) bytes += next - cached.bytes
    cached.bytes = next
  }

  function remove(aggregate: string): void {
    const cached = accounts.get(aggregate)
    if (cached === undefined) return
    bytes -= cached.bytes
    cached.dropped = true
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
    drop: remove,
    settle(cached) {
      const { transactions, reads } = cached
      for (const name of reads?.missing ?? []) {
        if (transactions.get(name) === null) dropTransaction(cached, name)
      }
      cached.reads = null
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

function emptyAccount(aggregate: string): CachedAccount {
  return {
    aggregate,
    loaded: false,
    version: null,
    root: null,
    cards: new Map(),
    transactions: new Map(),
    recordBytes: 0,
    reads: null,
    bytes: bytesBeside.account,
    used: false,
    dropped: false,
  }
}
