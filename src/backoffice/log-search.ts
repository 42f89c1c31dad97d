import type { EntryKind } from '../domain/change/change.ts'
import type { Entry } from '../domain/ledger/entry.ts'
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
}

export interface FoundEntry {
  readonly cursor: string
  readonly entry: Entry
}

/** The entry of a log line, or null when it is not among those that are asked for. */
export type Filter = (line: Pick<LogLine, 'cursor' | 'entry'>) => FoundEntry | null

export function createFilter(filters: Filters): Filter {
  const { card, account, event, transaction, code, kind, since } = filters
  // What is not in the text of a line is not in its entry: this saves most of the decoding.
  const needles = [card, account, event, transaction, code]
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
    ]
    const old = since !== undefined && entry.atMs < since
    return !old && checks.every(([wanted, has]) => wanted === undefined || has.includes(wanted))
  }

  return ({ cursor, entry: text }) => {
    if (!needles.every((needle) => text.includes(needle))) return null
    const entry = entryIn({ entry: text })
    return entry !== null && matches(entry) ? { cursor, entry } : null
  }
}

export interface LogSearch {
  /** Oldest first. */
  readonly found: readonly FoundEntry[]
  /** False when there may be more, further back than a search goes. */
  readonly complete: boolean
}

/** Reads the log backwards until enough is found. */
export async function searchBack(
  store: Store,
  filter: Filter,
  limit: number,
  sinceMs = 0,
): Promise<LogSearch> {
  const found: FoundEntry[] = []
  let before = ''
  for (let searched = 0; searched < maxSearched; searched += linesPerRead) {
    if (found.length >= limit) break
    const lines = await store.tailLog(linesPerRead, before)
    for (const line of lines.toReversed()) {
      const match = found.length < limit ? filter(line) : null
      if (match !== null) found.push(match)
    }
    // The log is in order of writing, which arrivals follow only roughly: one old entry ends nothing.
    const old = lines.every((line) => (entryIn(line)?.atMs ?? 0) < sinceMs)
    if (lines.length < linesPerRead || old) return { found: found.reverse(), complete: true }
    before = lines[0]!.cursor
  }
  return { complete: found.length >= limit, found: found.reverse() }
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
