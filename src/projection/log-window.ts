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

const linesPerTurn = 500
const linesPerRead = 1_000
/** What is remembered of lines that are not settled; with more, the oldest count as settled. */
const maxUnsettled = 50_000

/**
 * An entry is dated before its commit and becomes visible after it, so one may appear before a place that
 * was already read. So what was written lately is read once more, and what is new there is told.
 */
export function createLogWindow(
  store: Pick<Store, 'readLog'>,
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
  let told = new Set<string>()
  const isOpen = ({ writtenMs }: LogLine) => writtenMs >= fromMs

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
      }
    },
    done(lines) {
      for (const { cursor } of lines) told.add(cursor)
      if (lines === newest) head = end
    },
    async settle(nowMs, settledAfterMs) {
      const lines = (await linesBetween(store, anchor, head)).filter(isOpen)
      const isOld = ({ writtenMs }: LogLine, i: number) =>
        nowMs - writtenMs >= settledAfterMs || lines.length - i > maxUnsettled
      const young = lines.findIndex((line, i) => !told.has(line.cursor) || !isOld(line, i))
      const settled = young < 0 ? lines.length : young
      anchor = lines[settled - 1]?.cursor ?? anchor
      anchorMs = lines[settled - 1]?.writtenMs ?? anchorMs
      const unsettled = lines.slice(settled)
      const late = unsettled.filter(({ cursor }) => !told.has(cursor))
      // What is late now is remembered once it is done.
      told = new Set(unsettled.map(({ cursor }) => cursor).filter((cursor) => told.has(cursor)))
      return late
    },
  }
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
