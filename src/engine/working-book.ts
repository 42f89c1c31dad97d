import type { Book, Touched } from '../domain/book.ts'
import type { Card } from '../domain/card.ts'
import type { EventRecord } from '../domain/event-record.ts'
import { transactionKey } from '../domain/ledger.ts'
import type { Alias, Transaction } from '../domain/transaction.ts'
import type { ChildKey, Key, Loaded } from '../store/port.ts'
import { type CachedAccount, noteRow } from './cache.ts'
import { accountCodec, cardCodec, eventCodec, transactionCodec } from './codec.ts'
import { cardKey, eventKeyAt, eventKeys, transactionChild } from './layout.ts'

/** What a batch must read before it can go on: a key of the store, or all places of an event. */
export interface Wanted {
  readonly keys: readonly Key[]
  readonly fill: (loaded: readonly (Loaded | undefined)[]) => void
}

/**
 * The cached records of one account as a book to decide on. What is not in memory is either assumed
 * not to exist, and then checked by the commit, or wanted, and then read before deciding.
 */
export interface WorkingBook extends Book {
  readonly wanted: readonly Wanted[]
  readonly assumedAbsent: readonly ChildKey[]
  readonly dirty: {
    readonly cards: ReadonlyMap<string, Card>
    readonly transactions: ReadonlyMap<
      string,
      { key: ChildKey; record: Transaction | Alias | null }
    >
    readonly events: ReadonlyMap<string, EventRecord>
  }
  /** How the next item is read: arrival for the events' places, and whether new ids are guessed so. */
  next(atMs: number, guess: { readonly event: boolean; readonly transaction: boolean }): void
  put(touched: Touched): void
}

export function openWorkingBook(cached: CachedAccount, retentionMs: number): WorkingBook {
  const wanted: Wanted[] = []
  const assumedAbsent: ChildKey[] = []
  const cards = new Map<string, Card>()
  const transactions = new Map<string, { key: ChildKey; record: Transaction | Alias | null }>()
  const events = new Map<string, EventRecord>()
  // Guesses live with the batch whose commit checks them, never in the cache.
  const guessed = new Set<string>()
  let arrivalMs = 0
  let guess = { event: false, transaction: false }

  function want(children: readonly ChildKey[], fill: Wanted['fill']): null {
    const { aggregate } = cached
    wanted.push({ keys: children.map((child) => ({ aggregate, ...child })), fill })
    return null
  }

  function setTransaction(cardId: string, id: string, record: Transaction | Alias | null): void {
    const name = transactionKey(cardId, id)
    cached.transactions.set(name, record)
    transactions.set(name, { key: transactionChild(cardId, id), record })
  }

  return {
    wanted,
    assumedAbsent,
    dirty: { cards, transactions, events },
    next(atMs, guessed) {
      arrivalMs = atMs
      guess = guessed
    },
    account: () => cached.account,
    card(cardId) {
      const known = cached.cards.get(cardId)
      if (known !== undefined) return known
      return want([cardKey(cardId)], ([found]) => {
        cached.cards.set(cardId, found ? cardCodec.decode(found.value) : null)
        if (found) noteRow(cached, cardId, found.value)
      })
    },
    transaction(cardId, id) {
      const name = transactionKey(cardId, id)
      const known = cached.transactions.get(name)
      if (typeof known === 'string') {
        const record = transactionCodec.decode(known)
        cached.transactions.set(name, record)
        return record
      }
      if (known !== undefined) return known
      if (guessed.has(name)) return null
      const key = transactionChild(cardId, id)
      if (guess.transaction) {
        assumedAbsent.push(key)
        guessed.add(name)
        return null
      }
      return want([key], ([found]) => {
        cached.transactions.set(name, found ? transactionCodec.decode(found.value) : null)
      })
    },
    event(eventKey) {
      const known = events.get(eventKey) ?? cached.events.get(eventKey)
      if (known !== undefined) return known
      if (guessed.has(eventKey)) return null
      const openedAtMs = cached.account?.openedAtMs ?? arrivalMs
      const keys = eventKeys(eventKey, arrivalMs, openedAtMs, retentionMs)
      if (guess.event) {
        assumedAbsent.push(...keys)
        guessed.add(eventKey)
        return null
      }
      return want(keys, (loaded) => {
        const found = loaded.find((place) => place !== undefined)
        cached.events.set(eventKey, found ? eventCodec.decode(found.value) : null)
      })
    },
    put(touched) {
      cached.account = touched.account
      for (const card of touched.cards) {
        cached.cards.set(card.cardId, card)
        cards.set(card.cardId, card)
      }
      for (const t of touched.transactions) setTransaction(t.cardId, t.transactionId, t)
      for (const { name, ...alias } of touched.aliases) setTransaction(alias.cardId, name, alias)
      if (touched.forgotten !== null) {
        const { cardId, transactionId, names } = touched.forgotten
        for (const name of [transactionId, ...names]) setTransaction(cardId, name, null)
      }
      if (touched.event !== null) {
        events.set(touched.event.key, touched.event.record)
      }
    },
  }
}

/** The root, read before all else under it. */
export function wantRoot(cached: CachedAccount): Wanted {
  return {
    keys: [{ aggregate: cached.aggregate, group: '', id: '' }],
    fill([root]) {
      cached.loaded = true
      cached.version = root?.version ?? null
      cached.account = root ? accountCodec.decode(root.value) : null
      if (root) noteRow(cached, '', root.value)
    },
  }
}

/**
 * A store that can lose what it acknowledged may answer from another server than before: what is read
 * later belongs to the root in memory only when that server has the same root.
 */
export function checkRoot(cached: CachedAccount, onOther: () => void): Wanted {
  return {
    keys: [{ aggregate: cached.aggregate, group: '', id: '' }],
    fill([root]) {
      if ((root?.version ?? null) !== cached.version) onOther()
    },
  }
}

export function eventPlace(eventKey: string, record: EventRecord, retentionMs: number): ChildKey {
  return eventKeyAt(eventKey, record.atMs, retentionMs)
}
