import type { LogLine, Store } from '../store/port.ts'

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

/** What is remembered of a line. */
type LogPlace = Omit<LogLine, 'entry'>

const linesPerTurn = 500
const linesPerRead = 1_000
/** What is remembered of lines that are not settled; with more, the oldest count as settled. */
export const maxUnsettled = 50_000

/**
 * An entry is dated before its commit and becomes visible after it, so one may appear before a place that
 * was already read. So what was written lately is read once more, and what is new there is told. Mostly
 * nothing is, and where a store can count its lines that is seen by their number.
 */
export function createLogWindow(
  store: Pick<Store, 'readLog' | 'countLog'>,
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
  let known: LogPlace[] = []
  /** What is done of what was late: its place among the others is seen at the next look. */
  let late: readonly LogPlace[] = []
  const isOpen = ({ writtenMs }: LogPlace) => writtenMs >= fromMs

  /** Lines that were not told, and how many of the known ones stand before the first of them. */
  async function missed(): Promise<{ lines: readonly LogLine[]; before: number }> {
    const counted = late.length > 0 ? undefined : await store.countLog?.(anchor, head)
    if (counted === known.length) return { lines: [], before: known.length }
    const told = new Set([...known, ...late].map(({ cursor }) => cursor))
    const isNew = (line: LogLine) => isOpen(line) && !told.has(line.cursor)
    const lines = await linesBetween(store, anchor, head)
    const first = lines.findIndex(isNew)
    const settling = first < 0 ? lines : lines.slice(0, first)
    const knownIn = (some: readonly LogLine[]) => some.filter(({ cursor }) => told.has(cursor))
    known = placesOf(knownIn(lines))
    late = []
    return { lines: lines.filter(isNew), before: knownIn(settling).length }
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
      const places = placesOf(lines)
      if (lines !== newest) late = places
      else {
        known.push(...places)
        head = end
        settleFirst(Math.max(0, known.length - maxUnsettled))
      }
    },
    async settle(nowMs, settledAfterMs) {
      const { lines, before } = await missed()
      const isYoung = ({ writtenMs }: LogPlace) => nowMs - writtenMs < settledAfterMs
      const young = known.findIndex((place, i) => i >= before || isYoung(place))
      settleFirst(young < 0 ? known.length : young)
      return lines
    },
  }
}

function placesOf(lines: readonly LogLine[]): LogPlace[] {
  return lines.map(({ cursor, writtenMs }) => ({ cursor, writtenMs }))
}

async function linesBetween(
  store: Pick<Store, 'readLog'>,
  from: string,
  to: string,
): Promise<LogLine[]> {
  const lines: LogLine[] = []
  for (let after = from; after !== to; ) {
    const page = await store.readLog(after, linesPerRead)
    const end = page.findIndex(({ cursor }) => cursor === to)
    lines.push(...(end < 0 ? page : page.slice(0, end + 1)))
    if (end >= 0 || page.length < linesPerRead) return lines
    after = page.at(-1)!.cursor
  }
  return lines
}
