import type { LogCursor, LogLine, Store } from '../store/port.ts'

/** Follows the log from a durable place, and misses nothing that becomes visible late. */
export interface LogWindow {
  /** All before it was told and is done; a follower that begins here misses nothing. */
  readonly anchor: string
  /** When the last line before it was written. */
  readonly anchorMs: number
  /** Whether everything that was there at the last look has been told. */
  readonly caughtUp: boolean
  /** Lines that were not told yet. They are told again until they are done. */
  next(): Promise<readonly LogLine[]>
  done(lines: readonly LogLine[]): void
  /** Moves the anchor as far as nothing can become visible any more before it. */
  settle(nowMs: number, settledAfterMs: number): Promise<readonly LogLine[]>
}

const linesPerTurn = 500
const perRead = 1_000
/** What is remembered of lines that are not settled; with more, the oldest count as settled. */
export const maxUnsettled = 50_000

/**
 * An entry is dated before its commit and becomes visible after it, so one may appear before a place that
 * was already read. So what was written lately is looked at once more, and what is new there is told. Mostly
 * nothing is, and where a store can count its lines that is seen by their number.
 */
export function createLogWindow(
  store: Pick<Store, 'readLog' | 'readCursors' | 'countLog'>,
  from: string,
  /** Lines that were written before are done, wherever they stand. */
  fromMs: number,
): LogWindow {
  let anchor = from
  let anchorMs = fromMs
  let head = from
  let caughtUp = false
  let newest: readonly LogLine[] = []
  let end = from
  /** What is done after the anchor, in the order of the log. */
  let known: LogCursor[] = []
  /** What is done of what was late: its place among the others is seen at the next look. */
  let late: readonly LogCursor[] = []
  const isOpen = ({ writtenMs }: LogCursor) => writtenMs >= fromMs

  /** Lines that were not told, and how many of the known ones stand before the first of them. */
  async function missed(): Promise<{ lines: readonly LogLine[]; before: number }> {
    const none = { lines: [], before: known.length }
    const counted = late.length > 0 ? undefined : await store.countLog?.(anchor, head)
    if (counted === known.length) return none
    const told = new Set([...known, ...late].map(({ cursor }) => cursor))
    const isNew = (place: LogCursor) => isOpen(place) && !told.has(place.cursor)
    const places = await between(store.readCursors, anchor, head)
    known = places.filter((place) => told.has(place.cursor))
    late = []
    const first = places.findIndex(isNew)
    if (first < 0) return { ...none, before: known.length }
    const last = places.findLast(isNew)!.cursor
    const lines = await between(store.readLog, places[first - 1]?.cursor ?? anchor, last)
    const before = places.slice(0, first).filter((place) => told.has(place.cursor)).length
    return { lines: lines.filter(isNew), before }
  }

  function settleFirst(count: number): void {
    anchor = known[count - 1]?.cursor ?? anchor
    anchorMs = known[count - 1]?.writtenMs ?? anchorMs
    if (count > 0) known = known.slice(count)
  }

  return {
    get anchor() {
      return anchor
    },
    get anchorMs() {
      return anchorMs
    },
    get caughtUp() {
      return caughtUp
    },
    async next() {
      for (;;) {
        const page = await store.readLog(head, linesPerTurn)
        caughtUp = page.length < linesPerTurn
        newest = page.filter(isOpen)
        end = page.at(-1)?.cursor ?? head
        if (newest.length > 0 || page.length === 0) return newest
        head = end
        anchor = head
        known = []
      }
    },
    done(lines) {
      const places = lines.map(({ cursor, writtenMs }) => ({ cursor, writtenMs }))
      if (lines !== newest) late = places
      else {
        known.push(...places)
        head = end
        settleFirst(Math.max(0, known.length - maxUnsettled))
      }
    },
    async settle(nowMs, settledAfterMs) {
      const { lines, before } = await missed()
      const isYoung = ({ writtenMs }: LogCursor) => nowMs - writtenMs < settledAfterMs
      const young = known.findIndex((place, i) => i >= before || isYoung(place))
      settleFirst(young < 0 ? known.length : young)
      return lines
    },
  }
}

/** All after one cursor, up to and including another. */
async function between<T extends LogCursor>(
  read: (after: string, limit: number) => Promise<readonly T[]>,
  from: string,
  to: string,
): Promise<T[]> {
  const found: T[] = []
  for (let after = from; after !== to; ) {
    const page = await read(after, perRead)
    const end = page.findIndex(({ cursor }) => cursor === to)
    found.push(...(end < 0 ? page : page.slice(0, end + 1)))
    if (end >= 0 || page.length < perRead) return found
    after = page.at(-1)!.cursor
  }
  return found
}
