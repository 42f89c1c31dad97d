import { type LogLine, StoreError } from '../port.ts'

/** A place in the log: the id of a stream's entry, and which partition's stream it is. */
export interface LogPlace {
  readonly ms: number
  readonly sequence: number
  readonly partition: number
}

export interface PlacedLine extends LogPlace {
  readonly entry: string
}

/**
 * Ids are given by the writer, so that the entries of one writer are in order across all streams; a
 * stream puts an id that comes too late right behind its newest. Who follows the log waits a little for what is
 * late, so no writer's clock may be far behind the others'.
 */
export interface LogClock {
  next(): string
  /** After what others wrote, so that what is decided on it is also logged after it. */
  observe(ms: number, sequence: number): void
  /** What the clocks of the servers show now. A writer behind all of them goes by the last of them. */
  follow(serverTimesMs: readonly number[]): void
}

/** One id for each microsecond. */
const sequencesPerMs = 1_000

/** Less is no difference, and with more nobody goes on as if nothing were. */
const [minBehindMs, maxBehindMs] = [1_000, 60_000]

export function createLogClock(nowMs: () => number): LogClock {
  let lastMicros = 0
  let behindMs = 0
  return {
    next() {
      lastMicros = Math.max(lastMicros + 1, Math.floor((nowMs() + behindMs) * sequencesPerMs))
      return idOfMicros(lastMicros)
    },
    follow(serverTimesMs) {
      const differenceMs = Math.min(...serverTimesMs) - nowMs()
      behindMs = differenceMs >= minBehindMs && differenceMs <= maxBehindMs ? differenceMs : 0
    },
    observe(ms, sequence) {
      const micros = ms * sequencesPerMs + sequence
      if (Number.isSafeInteger(micros)) lastMicros = Math.max(lastMicros, micros)
    },
  }
}

export function idOfMicros(micros: number): string {
  return `${Math.floor(micros / sequencesPerMs)}-${micros % sequencesPerMs}`
}

export function placeOf(id: string, partition: number): LogPlace {
  const [ms = '', sequence = ''] = id.split('-')
  return { ms: Number(ms), sequence: Number(sequence), partition }
}

export function idOf({ ms, sequence }: LogPlace): string {
  return `${ms}-${sequence}`
}

export function comparePlaces(a: LogPlace, b: LogPlace): number {
  return a.ms - b.ms || a.sequence - b.sequence || a.partition - b.partition
}

const cursorPattern = /^\d{1,16}-\d{1,16}-\d{1,2}$/

export function parseCursor(cursor: string): LogPlace | undefined {
  if (cursor === '') return undefined
  if (!cursorPattern.test(cursor)) throw new StoreError('that is no cursor of this log', 'no')
  return placeOf(cursor, Number(cursor.slice(cursor.lastIndexOf('-') + 1)))
}

export function toLogLine(line: PlacedLine): LogLine {
  const { ms: writtenMs, entry } = line
  return { cursor: `${idOf(line)}-${line.partition}`, writtenMs, entry }
}

/** Where to begin in a partition so that all that follows comes after a place. */
export function startAfter(place: LogPlace | undefined, partition: number): string {
  if (place === undefined) return '-'
  return partition > place.partition ? idOf(place) : `(${idOf(place)}`
}

/** Where to end, going back, so that all comes before a place. */
export function endBefore(place: LogPlace | undefined, partition: number): string {
  if (place === undefined) return '+'
  return partition < place.partition ? idOf(place) : `(${idOf(place)}`
}

/** The reply of XRANGE and XREVRANGE. */
export function readEntries(reply: unknown, partition: number): PlacedLine[] {
  return (reply as [string, string[]][]).map(([id, fields]) => ({
    ...placeOf(id, partition),
    entry: fields[1] ?? '',
  }))
}
