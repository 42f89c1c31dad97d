import { type Book, setNames, type TouchedRecords } from '../../domain/change/book.ts'
import { transactionKey } from '../../domain/ledger/ledger.ts'
import type { Account } from '../../domain/record/account.ts'
import type { Card } from '../../domain/record/card.ts'
import type { EventRecord } from '../../domain/record/event-record.ts'
import type { Alias, Transaction } from '../../domain/record/transaction.ts'
import type { ChildKey, Key, Loaded } from '../../store/port.ts'
import { accountCodec, cardCodec, eventCodec, transactionCodec } from '../format/codec.ts'
import {
  cardKey,
  eventKeyAt,
  eventKeys,
  merchantCountsKey,
  namedTransaction,
} from '../format/layout.ts'
import { decodeMerchantCounts } from '../format/window-codec.ts'
import {
  type Damage,
  decodeAccount,
  decodeCard,
  decodeTransaction,
  messageOf,
  RecordDamaged,
  rootOf,
} from '../quarantine/damage.ts'
import { type CachedAccount, keepCard, keepRoot, keepTransaction, openReads } from './cache.ts'
import { type Kept, keep, recordOf } from './kept.ts'
import { createKeptCounts, keepCounts } from './kept-counts.ts'

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
    /** A value of null removes it. */
    readonly children: ReadonlyMap<string, { key: ChildKey; value: string | null }>
  }
  /** How the next item is read: arrival for the events' places, and whether new ids are guessed so. */
  next(atMs: number, guess: { readonly event: boolean; readonly transaction: boolean }): void
  put(touched: TouchedRecords): void
  /** Something of no account that must be read before deciding. */
  wantOther(wanted: Wanted): void
  /** A child that is no record of the engine's; null when there is none, it is wanted, or guessed to be absent. */
  child(key: ChildKey, guessAbsent?: boolean): string | null
  setChild(key: ChildKey, value: string | null): void
}

export function openWorkingBook(cached: CachedAccount, retentionMs: number): WorkingBook {
  const wanted: Wanted[] = []
  const assumedAbsent: ChildKey[] = []
  const cards = new Map<string, Card>()
  const transactions = new Map<string, { key: ChildKey; record: Transaction | Alias | null }>()
  const events = new Map<string, EventRecord>()
  const children: Map<string, { key: ChildKey; value: string | null }> = new Map()
  // Guesses live with the batch whose commit checks them, never in the cache.
  const guessed = new Set<string>()
  const guessedChildren = new Set<string>()
  /** undefined until somebody asks for it. */
  let account: Account | null | undefined
  /** As they were read, so that one record is one object for all that a batch does. */
  let shown: Map<string, Transaction | Alias> | null = null
  let arrivalMs = 0
  let guess = { event: false, transaction: false }

  /** Reads it, unless it was just read and cannot be: then whatever needs it cannot be decided. */
  function want(children: readonly ChildKey[], fill: Wanted['fill']): null {
    const damage = cached.reads === null ? undefined : damageIn(cached, children)
    if (damage !== undefined) throw new RecordDamaged(damage)
    const { aggregate } = cached
    const keys = children.map((child) => ({ aggregate, ...child }))
    wanted.push({ keys, fill: (loaded) => fillOr(cached, children, loaded, fill) })
    return null
  }

  /** Mostly that of the transaction that was asked for last: a text is made, and hashed, once. */
  let named = { cardId: '', id: '', name: '' }

  function nameOf(cardId: string, id: string): string {
    if (named.id !== id || named.cardId !== cardId) {
      named = { cardId, id, name: transactionKey(cardId, id) }
    }
    return named.name
  }

  function setTransaction(cardId: string, id: string, record: Transaction | Alias | null): void {
    const name = nameOf(cardId, id)
    transactions.set(name, { key: namedTransaction(name), record })
  }

  function openAccount(): Account | null {
    if (account === undefined) {
      account = cached.root === null ? null : recordOf(cached.root, accountCodec)
    }
    return account
  }

  /** A card whose row was read, with what it has counted at merchants. */
  function countedCard(cardId: string): Card | null {
    const { row, card, counts } = cached.reads!.cards.get(cardId)!
    const before = wanted.length
    const merchantCounts = card.merchantCounts.map((merchant) => {
      const { mid, windows } = merchant
      const found = counts.byMid.get(mid)
      if (found !== undefined) return found.counts
      // A row of an earlier release has them in it.
      if (Object.keys(windows).length > 0) return merchant
      want([merchantCountsKey(cardId, mid)], ([loaded]) => {
        const known = loaded ? decodeMerchantCounts(mid, loaded.value) : merchant
        keepCounts(counts, known, loaded?.value ?? '')
      })
      return merchant
    })
    if (wanted.length > before) return null
    const whole = { ...card, merchantCounts }
    keepCard(cached, cardId, { record: whole, chars: row.length + counts.chars, counts })
    cached.reads!.cards.delete(cardId)
    return whole
  }

  function show(name: string, kept: NonNullable<Kept<Transaction | Alias>>): Transaction | Alias {
    shown ??= new Map()
    const record = shown.get(name) ?? recordOf(kept, transactionCodec)
    shown.set(name, record)
    return record
  }

  return {
    wanted,
    assumedAbsent,
    dirty: { cards, transactions, events, children },
    next(atMs, guessed) {
      arrivalMs = atMs
      guess = guessed
    },
    wantOther: (other) => void wanted.push(other),
    account: openAccount,
    card(cardId) {
      const changed = cards.get(cardId)
      if (changed !== undefined) return changed
      const kept = cached.cards.get(cardId)
      if (kept !== undefined) return kept === null ? null : recordOf(kept, cardCodec)
      if (cached.reads?.cards.has(cardId) === true) return countedCard(cardId)
      return want([cardKey(cardId)], ([found]) => {
        const card = found ? decodeCard(cardId, found.value) : null
        if (!found || !card) keepCard(cached, cardId, null)
        else if (card.merchantCounts.length === 0) keepCard(cached, cardId, keep(found.value, card))
        else {
          const read = { row: found.value, card, counts: createKeptCounts() }
          openReads(cached).cards.set(cardId, read)
        }
      })
    },
    transaction(cardId, id) {
      const name = nameOf(cardId, id)
      const changed = transactions.get(name)
      if (changed !== undefined) return changed.record
      const kept = cached.transactions.get(name)
      if (kept !== undefined) return kept === null ? null : show(name, kept)
      if (guessed.has(name)) return null
      const key = namedTransaction(name)
      if (guess.transaction) {
        assumedAbsent.push(key)
        guessed.add(name)
        return null
      }
      return want([key], ([found]) => {
        if (found === undefined) openReads(cached).missing.push(name)
        const record = found ? decodeTransaction(cardId, id, found.value) : null
        keepTransaction(cached, name, found && record ? keep(found.value, record) : null)
      })
    },
    event(eventKey) {
      const known = events.get(eventKey) ?? cached.reads?.events.get(eventKey)
      if (known !== undefined) return known
      if (guessed.has(eventKey)) return null
      const openedAtMs = openAccount()?.openedAtMs ?? arrivalMs
      const keys = eventKeys(eventKey, arrivalMs, openedAtMs, retentionMs)
      if (guess.event) {
        assumedAbsent.push(...keys)
        guessed.add(eventKey)
        return null
      }
      return want(keys, (loaded) => {
        const found = loaded.find((place) => place !== undefined)
        openReads(cached).events.set(eventKey, found ? eventCodec.decode(found.value) : null)
      })
    },
    put(touched) {
      account = touched.account
      for (const card of touched.cards) cards.set(card.cardId, card)
      setNames(touched, setTransaction)
      if (touched.event !== null) {
        events.set(touched.event.key, touched.event.record)
      }
    },
    child(key, guessAbsent = false) {
      const name = nameIn(key)
      const known = cached.reads?.children.get(name)
      if (known !== undefined) return known
      if (cached.loaded && cached.version === null) return null
      if (guessedChildren.has(name)) return null
      if (guessAbsent) {
        assumedAbsent.push(key)
        guessedChildren.add(name)
        return null
      }
      return want([key], ([found]) => openReads(cached).children.set(name, found?.value ?? null))
    },
    setChild(key, value) {
      openReads(cached).children.set(nameIn(key), value)
      children.set(nameIn(key), { key, value })
    },
  }
}

/** The root, read before all else under it. */
export function wantRoot(cached: CachedAccount): Wanted {
  const { aggregate } = cached
  return {
    keys: [{ aggregate, ...rootOf }],
    fill: (loaded) =>
      fillOr(cached, [rootOf], loaded, ([root]) => {
        keepRoot(cached, root ? keep(root.value, decodeAccount(aggregate, root.value)) : null)
        cached.version = root?.version ?? null
        cached.loaded = true
      }),
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

export function rootDamage({ reads }: CachedAccount): Damage | undefined {
  return reads?.unreadable.get(nameIn(rootOf))
}

/** What cannot be read is noted: the read was for others, too. */
function fillOr(
  cached: CachedAccount,
  children: readonly ChildKey[],
  loaded: readonly (Loaded | undefined)[],
  fill: Wanted['fill'],
): void {
  try {
    fill(loaded)
  } catch (error) {
    const at = Math.max(
      0,
      loaded.findIndex((place) => place !== undefined),
    )
    const key = children[at]!
    const { aggregate } = cached
    const problem = messageOf(error)
    openReads(cached).unreadable.set(nameIn(key), { aggregate, key, problem })
  }
}

function damageIn({ reads }: CachedAccount, keys: readonly ChildKey[]): Damage | undefined {
  for (const key of keys) {
    const damage = reads?.unreadable.get(nameIn(key))
    if (damage !== undefined) return damage
  }
  return undefined
}

function nameIn({ group, id }: ChildKey): string {
  return `${group}\n${id}`
}

export function eventPlace(eventKey: string, record: EventRecord, retentionMs: number): ChildKey {
  return eventKeyAt(eventKey, record.atMs, retentionMs)
}
