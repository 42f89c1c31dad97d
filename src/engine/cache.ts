import type { Account } from '../domain/account.ts'
import type { Card } from '../domain/card.ts'
import type { EventRecord } from '../domain/event-record.ts'
import type { Alias, Transaction } from '../domain/transaction.ts'

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
  /** What was read for the batch that is being decided: a duplicate is rare. */
  readonly events: Map<string, EventRecord | null>
}

export interface Cache {
  readonly size: number
  readonly hits: number
  readonly misses: number
  /** The account, made empty when it is not there; the newest used is the last to go. */
  open(aggregate: string): CachedAccount
  /** What memory has, without making or renewing it. */
  find(aggregate: string): CachedAccount | undefined
  /** Takes in what was read beside the events of the moment; the account must not be there yet. */
  add(account: CachedAccount): void
  /** Forgets the root and all children: another version is in the store. */
  drop(aggregate: string): void
  /** Makes room down to the bound; an account that is being decided on stays. */
  trim(isBusy: (aggregate: string) => boolean): void
}

/** Older transactions of one account are read again when they are needed. */
const maxTransactionsPerAccount = 128

export function createCache(maxAccounts: number): Cache {
  const accounts = new Map<string, CachedAccount>()
  const counts = { hits: 0, misses: 0 }

  return {
    get size() {
      return accounts.size
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
      } else {
        counts.hits++
        accounts.delete(aggregate)
      }
      accounts.set(aggregate, found)
      return found
    },
    find: (aggregate) => accounts.get(aggregate),
    add(account) {
      accounts.set(account.aggregate, account)
    },
    drop(aggregate) {
      accounts.delete(aggregate)
    },
    trim(isBusy) {
      if (accounts.size <= maxAccounts) return
      for (const aggregate of accounts.keys()) {
        if (accounts.size <= maxAccounts) return
        if (!isBusy(aggregate)) accounts.delete(aggregate)
      }
    },
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
    events: new Map(),
  }
}

/** After a commit: what was only needed for the batch goes, what is likely to be asked again stays. */
export function settle(cached: CachedAccount): void {
  if (cached.events.size > 0) cached.events.clear()
  for (const [key, found] of cached.transactions) {
    const surplus = cached.transactions.size > maxTransactionsPerAccount
    if (found === null || surplus) cached.transactions.delete(key)
  }
}
