import type { EntryKind } from '../domain/change/change.ts'
import type { Entry } from '../domain/ledger/entry.ts'
import { majorOf } from '../domain/record/money.ts'
import { foldedName } from '../engine/format/customer-index.ts'
import { entryIn } from '../engine/log-reading.ts'
import type { LogLine, Store } from '../store/port.ts'

/** How far back a search goes. */
export const maxSearched = 500_000
const linesPerRead = 1000

export interface Filters {
  readonly card?: string
  readonly account?: string
  readonly event?: string
  readonly transaction?: string
  readonly code?: string
  readonly kind?: EntryKind
  readonly since?: number
  readonly until?: number
  /** A MID, or a part of a merchant's name in any case and any form of its letters. */
  readonly merchant?: string
  readonly mcc?: string
  readonly country?: string
  /** Enforced, in shadow, or the one that declined. */
  readonly rule?: string
  readonly decidedBy?: 'engine' | 'default'
  /** In major units, whatever the currency. */
  readonly minAmount?: string
  readonly maxAmount?: string
}

export interface FoundEntry {
  readonly cursor: string
  readonly entry: Entry
}

/** The entry of a log line, or null when it is not among those that are asked for. */
export type Filter = (line: Pick<LogLine, 'cursor' | 'entry'>) => FoundEntry | null

export function createFilter(filters: Filters): Filter {
  const { card, account, event, transaction, code, kind, mcc, country, rule, decidedBy } = filters
  const { since = 0, until = Number.POSITIVE_INFINITY } = filters
  // What is not in the text of a line is not in its entry: this saves most of the decoding.
  const needles = [card, account, event, transaction, code, mcc, country, rule]
    .filter((id) => id !== undefined)
    .map((id) => JSON.stringify(id))

  function matches(entry: Entry): boolean {
    const ids = entry.event
    const checks: readonly (readonly [string | undefined, readonly (string | undefined)[]])[] = [
      [card, [entry.cardId, entry.transaction[0], ids?.cardId]],
      [account, [entry.accountId]],
      [event, [entry.eventKey, ids?.eventId]],
      [transaction, [entry.transaction[1], ids?.transactionId, ids?.originalTransactionId]],
      [code, [entry.answer?.code]],
      [kind, [entry.kind]],
      [mcc, [ids?.merchant.mcc]],
      [country, [ids?.merchant.country]],
      [rule, [entry.answer?.ruleId, ...entry.matchedRules, ...entry.shadowRules]],
      [decidedBy, [entry.answer?.decidedBy]],
    ]
    const timely = entry.atMs >= since && entry.atMs <= until
    return (
      timely &&
      isAt(entry, filters) &&
      isWithin(entry, filters) &&
      checks.every(([wanted, has]) => wanted === undefined || has.includes(wanted))
    )
  }

  return ({ cursor, entry: text }) => {
    if (!needles.every((needle) => text.includes(needle))) return null
    const entry = entryIn({ entry: text })
    return entry !== null && matches(entry) ? { cursor, entry } : null
  }
}

function isAt({ event }: Entry, { merchant }: Filters): boolean {
  if (merchant === undefined) return true
  const { mid = '', name = '' } = event?.merchant ?? {}
  return mid === merchant || foldedName(name).includes(foldedName(merchant))
}

function isWithin({ event }: Entry, { minAmount, maxAmount }: Filters): boolean {
  if (minAmount === undefined && maxAmount === undefined) return true
  if (event === null || event.amountMinor === null) return false
  // In major units, for a bound may have more decimals than the currency.
  const amount = majorOf(event.amountMinor, event.currency)
  return amount >= Number(minAmount ?? 0) && amount <= Number(maxAmount ?? Infinity)
}

export interface LogSearch {
  /** Oldest first. */
  readonly found: readonly FoundEntry[]
  /** False when there may be more, further back than a search goes. */
  readonly complete: boolean
}

export interface LogPage {
  /** Newest first. */
  readonly found: readonly FoundEntry[]
  /** Where to go on; '' when the log has no more. */
  readonly next: string
  /** How many entries were looked at. */
  readonly looked: number
  /** When the last one of them was written; 0 when there was none. */
  readonly lookedToMs: number
}

export interface PageBounds {
  readonly limit: number
  readonly maxLooked: number
  /** Nothing written before is wanted. */
  readonly sinceMs: number
  /** Asked after each read, for those who have only so much time. */
  readonly mayGoOn: () => boolean
}

/** Reads the log backwards from a cursor ('' for its end) until enough is found or looked at. */
export async function searchPage(
  store: Pick<Store, 'tailLog'>,
  filter: Filter,
  before: string,
  { limit, maxLooked, sinceMs, mayGoOn }: PageBounds,
): Promise<LogPage> {
  const found: FoundEntry[] = []
  let next = before
  let looked = 0
  let lookedToMs = 0
  while (found.length < limit && looked < maxLooked && (looked === 0 || mayGoOn())) {
    const lines = await store.tailLog(linesPerRead, next)
    for (const line of lines.toReversed()) {
      looked++
      next = line.cursor
      const match = filter(line)
      if (match === null) continue
      found.push(match)
      if (found.length === limit) break
    }
    const oldest = lines.find(({ cursor }) => cursor === next)
    if (oldest !== undefined) lookedToMs = entryIn(oldest)?.atMs ?? lookedToMs
    // The log is in order of writing, which arrivals follow only roughly: one old entry ends nothing.
    const old = lines.every((line) => (entryIn(line)?.atMs ?? 0) < sinceMs)
    if ((lines.length < linesPerRead || old) && found.length < limit) {
      return { found, next: '', looked, lookedToMs }
    }
  }
  return { found, next, looked, lookedToMs }
}

/** Reads the log backwards until enough is found. */
export async function searchBack(
  store: Store,
  filter: Filter,
  limit: number,
  sinceMs = 0,
): Promise<LogSearch> {
  const bounds = { limit, maxLooked: maxSearched, sinceMs, mayGoOn: () => true }
  const { found, next } = await searchPage(store, filter, '', bounds)
  return { found: found.toReversed(), complete: next === '' || found.length >= limit }
}

/** Where the newest entries that were asked for lie: from the first to the last of them. */
export interface LogSpan {
  /** Cursors; both '' when there are none. */
  readonly first: string
  readonly last: string
  readonly complete: boolean
}

/** As searchBack, and holds no more than a page: an entry takes more memory than a terminal has lines for. */
export async function findSpan(
  store: Pick<Store, 'tailLog'>,
  filter: Filter,
  limit: number,
  sinceMs = 0,
): Promise<LogSpan> {
  let [first, last, next] = ['', '', '']
  let [count, looked] = [0, 0]
  do {
    const atMost = Math.min(limit - count, linesPerRead)
    const bounds = { limit: atMost, maxLooked: maxSearched - looked, sinceMs, mayGoOn: () => true }
    const page = await searchPage(store, filter, next, bounds)
    if (last === '') last = page.found[0]?.cursor ?? ''
    first = page.found.at(-1)?.cursor ?? first
    count += page.found.length
    looked += page.looked
    next = page.next
  } while (next !== '' && count < limit && looked < maxSearched)
  return { first, last, complete: next === '' || count >= limit }
}

/** What is asked for within a span, oldest first; also what appeared there since it was found. */
export async function* entriesIn(
  store: Pick<Store, 'readLog' | 'tailLog'>,
  filter: Filter,
  { first, last }: LogSpan,
): AsyncGenerator<FoundEntry> {
  if (first === '') return
  const [before] = await store.tailLog(1, first)
  let after = before?.cursor ?? ''
  for (;;) {
    const lines = await store.readLog(after, linesPerRead)
    for (const line of lines) {
      const match = filter(line)
      if (match !== null) yield match
      if (line.cursor === last) return
    }
    if (lines.length < linesPerRead) return
    after = lines.at(-1)!.cursor
  }
}

export interface Follower {
  /** These were told already by somebody else. */
  leaveOut(cursors: readonly string[]): void
  /** What was written since the last call, each entry once. */
  next(): Promise<readonly LogLine[]>
}

const overlapMs = 3000
const maxOverlap = 100_000

/**
 * Follows the log from now on. When two processes write at once an entry may appear behind one that
 * was already read, so what was read in the last seconds is read again, and what was told is left out.
 */
export async function followLog(store: Store, monoMs: () => number): Promise<Follower> {
  const tail = await store.tailLog(linesPerRead)
  let anchor = tail[0]?.cursor ?? ''
  const startedMs = monoMs()
  let seen = new Map(tail.map(({ cursor }) => [cursor, startedMs]))

  return {
    leaveOut(cursors) {
      for (const cursor of cursors) if (!seen.has(cursor)) seen.set(cursor, monoMs())
    },
    async next() {
      const lines: LogLine[] = []
      for (let after = anchor; ; after = lines.at(-1)!.cursor) {
        const page = await store.readLog(after, linesPerRead)
        lines.push(...page)
        if (page.length < linesPerRead || lines.length >= maxOverlap) break
      }
      const nowMs = monoMs()
      const fresh = lines.filter(({ cursor }) => !seen.has(cursor))
      const readAt = new Map(lines.map(({ cursor }) => [cursor, seen.get(cursor) ?? nowMs]))
      const isOld = ({ cursor }: LogLine) => nowMs - readAt.get(cursor)! >= overlapMs
      const young = lines.findIndex((line) => !isOld(line))
      const bounded = lines.length >= maxOverlap ? lines.length : young < 0 ? lines.length : young
      if (bounded > 0) anchor = lines[bounded - 1]!.cursor
      seen = new Map(lines.slice(bounded).map(({ cursor }) => [cursor, readAt.get(cursor)!]))
      return fresh
    },
  }
}
