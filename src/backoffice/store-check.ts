import { isAlias } from '../domain/change/book.ts'
import type { MemoryBook } from '../domain/ledger/ledger.ts'
import type { Transaction } from '../domain/record/transaction.ts'
import { transactionCodec } from '../engine/format/codec.ts'
import { decodeEntry } from '../engine/format/entry-codec.ts'
import {
  blocksAggregate,
  indexes,
  memoriesAggregate,
  metaAggregate,
  organizationsAggregate,
  trippedAggregate,
} from '../engine/format/layout.ts'
import { unlessUnreadable } from '../engine/format/row-codec.ts'
import { messageOf, nameOfDamage, rootOf } from '../engine/quarantine/damage.ts'
import { dueSortKey } from '../engine/writes.ts'
import { rowGroup } from '../projection/row-place.ts'
import {
  type ChildRecord,
  type IndexRecord,
  type Key,
  type RootRecord,
  type Store,
  type StoreRecord,
  StoreRefused,
} from '../store/port.ts'
import { indexKindOf, listPlacesOf, workIndexes } from './index-kind.ts'
import { readRecord } from './record-kind.ts'

/** A record that cannot be read. */
export interface FoundDamage {
  readonly name: string
  readonly problem: string
  /** What to give to `arbiter repair`; '' where it does not help. */
  readonly repair: string
}

const noProblem = ''
const entriesPerRead = 1_000

/** Reads everything that the store holds, and tells what this release cannot read. */
export async function* findDamage(
  store: Store,
  onProgress: (records: number) => void,
): AsyncGenerator<FoundDamage> {
  const lostCards = new Set<string>()
  let records = 0
  for await (const page of store.scan()) {
    for (const record of page) {
      const found = look(record)
      if (found === null) continue
      if (record.kind === 'child' && record.group === 'd') lostCards.add(record.id)
      else yield found
    }
    records += page.length
    onProgress(records)
  }
  if (lostCards.size > 0) yield* findPlaces(store, lostCards)
}

/** Which accounts the cards belong to that the directory has lost: the list of all cards says so, too. */
async function* findPlaces(store: Store, lost: Set<string>): AsyncGenerator<FoundDamage> {
  const problem = 'it names no account'
  for (let after = ''; ; ) {
    const entries = await store.range(indexes.cards, after, entriesPerRead)
    for (const { sortKey, value } of entries) {
      if (lost.delete(sortKey)) yield { name: `place of card ${sortKey}`, problem, repair: value }
    }
    if (entries.length < entriesPerRead) break
    after = entries.at(-1)!.sortKey
  }
  for (const cardId of lost) yield { name: `place of card ${cardId}`, problem, repair: '' }
}

interface LostDue {
  readonly accountId: string
  readonly record: string
}

/** Transactions that nobody would look at again: their holds would never expire, though all of their records are right. */
export async function lostDues(
  store: Store,
  books: ReadonlyMap<string, MemoryBook>,
): Promise<LostDue[]> {
  const lost = new Map<string, LostDue>()
  for (const [accountId, book] of books) {
    for (const one of book.transactions.values()) {
      if (isAlias(one) || one.dueAtMs === 0) continue
      const record = `due of transaction ${one.cardId} ${one.transactionId}`
      lost.set(dueSortKey(accountId, one), { accountId, record })
    }
  }
  const wanted = [...lost.keys()].sort()
  for (let next = 0, last = ''; next < wanted.length; ) {
    // From the next one that is looked for on: what is due of other accounts lies between.
    const before = wanted[next]!.slice(0, -1)
    const found = await store.range(indexes.due, last > before ? last : before, entriesPerRead)
    for (const { sortKey } of found) lost.delete(sortKey)
    if (found.length < entriesPerRead) break
    last = found.at(-1)!.sortKey
    while (next < wanted.length && wanted[next]! <= last) next++
  }
  return [...lost.values()]
}

/** A transaction of an account; null where it is none, or cannot be read. */
export function transactionOfRecord(record: StoreRecord): Transaction | null {
  if (record.kind !== 'child' || record.group !== 't' || !record.aggregate.startsWith('a:')) {
    return null
  }
  const found = unlessUnreadable(() => transactionCodec.decode(record.value))
  return found === null || isAlias(found) ? null : found
}

/** What has lost its place in a list: nobody would go on with it, or find it. */
export interface PlaceCheck {
  /** Is given each record of a scan. */
  look(record: StoreRecord): void
  /** What is not where it belongs, a sentence each. */
  lost(store: Store): Promise<string[]>
}

export function createPlaceCheck(): PlaceCheck {
  const missing = new Map(workIndexes.map((index) => [index, new Map<string, string>()]))
  let [cards, due, charges] = [0, 0, 0]
  return {
    look(record) {
      if (record.kind !== 'root' && record.kind !== 'child') return
      const key = keyOf(record)
      if (key.group === 'c') cards++
      const transaction = transactionOfRecord(record)
      if (transaction !== null && transaction.dueAtMs !== 0) due++
      if (transaction !== null && transaction.chargePendingMinor > 0) charges++
      // What cannot be read is told as that, by whoever looks for it.
      for (const { index, sortKey } of unlessUnreadable(() => listPlacesOf(key, record.value)) ??
        []) {
        missing.get(index)?.set(sortKey, `${nameOf(key)}: it is not among what is to be done`)
      }
    },
    async lost(store) {
      for (const [index, places] of missing) {
        for (let after = ''; places.size > 0; ) {
          const found = await store.range(index, after, entriesPerRead)
          for (const { sortKey } of found) places.delete(sortKey)
          if (found.length < entriesPerRead) break
          after = found.at(-1)!.sortKey
        }
      }
      // An event may have lost its places for several receivers.
      const lost = new Set([...missing.values()].flatMap((places) => [...places.values()]))
      // There may be too many of these to keep their names.
      for (const [index, name, count] of [
        [indexes.cards, 'all cards', cards],
        [indexes.due, 'transactions that are due', due],
        [indexes.charges, 'pending charges', charges],
      ] as const) {
        const listed = await store.count(index, '')
        if (listed < count) lost.add(`the list of ${name} has ${listed} of ${count}`)
      }
      return [...lost]
    },
  }
}

function look(record: StoreRecord): FoundDamage | null {
  if (record.kind === 'log') {
    const problem = problemIn(() => decodeEntry(record.entry))
    return told(`log entry written at ${timeText(record.writtenMicros / 1_000)}`, problem, '')
  }
  if (record.kind === 'index') return lookAtIndex(record)
  const key = keyOf(record)
  const problem = problemIn(() => readRecord(key, record.value))
  return told(nameOf(key), problem, repairOf(key))
}

function keyOf(record: RootRecord | ChildRecord): Key {
  return record.kind === 'root' ? { aggregate: record.aggregate, ...rootOf } : record
}

function nameOf(key: Key): string {
  if (key.group.startsWith(rowGroup)) return `row ${key.id.replaceAll('\n', ' ')}`
  return nameOfDamage({ aggregate: key.aggregate, key, problem: '' })
}

const repairable = [
  blocksAggregate,
  trippedAggregate,
  memoriesAggregate,
  metaAggregate,
  organizationsAggregate,
]

/** What is rebuilt from the log, or set anew; for all else there is a backup. */
function repairOf({ aggregate, group }: Key): string {
  const isShared = group === '' && repairable.includes(aggregate)
  if (isShared || aggregate.startsWith('u:')) return `--record ${aggregate}`
  const ofAccount = aggregate.startsWith('a:') && /^(?:|c|cm|cs|t|e@.*)$/.test(group)
  return ofAccount ? aggregate.slice(2) : ''
}

/** The key of a damaged entry may be damaged, too. */
function timeText(ms: number): string {
  return Number.isNaN(new Date(ms).valueOf()) ? 'no time' : new Date(ms).toISOString()
}

function lookAtIndex(record: IndexRecord): FoundDamage | null {
  const { index, sortKey } = record
  const kind = indexKindOf(index)
  const problem =
    kind === null
      ? 'it is of an index that this release does not know'
      : problemIn(() => kind.check(record))
  return told(`index ${index}, entry ${sortKey.replaceAll('\n', ' ')}`, problem, '')
}

function problemIn(read: () => unknown): string {
  try {
    read()
    return noProblem
  } catch (error) {
    return error instanceof StoreRefused ? error.message : messageOf(error)
  }
}

function told(name: string, problem: string, repair: string): FoundDamage | null {
  return problem === noProblem ? null : { name, problem, repair }
}
