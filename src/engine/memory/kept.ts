import type { Codec } from '../format/row-codec.ts'
import { createKeptCounts, type KeptCounts } from './kept-counts.ts'

/**
 * A record in memory, as the store keeps it: one text. The objects of a record, renewed by each decision,
 * lived just long enough to be copied by the garbage collector twice, which cost more than reading the text
 * (bench/README.md). A long text, of a card with long lists, would cost more to read: its objects are kept.
 */
export type Kept<T> = string | Whole<T> | null

interface Whole<T> {
  readonly record: T
  readonly chars: number
  /** Of a card with windows per merchant, which are no part of its row. */
  readonly counts?: KeptCounts
}

const maxTextChars = 4_096
/** The objects of a record, with the texts of its windows, take so much more than its row. */
const bytesPerChar = 5

export function keep<T>(row: string, record: T): Kept<T> {
  return row.length > maxTextChars ? { record, chars: row.length } : row
}

/** A card whose windows have counted at merchants: its objects are kept, because its row has not all of it. */
export function keepWithCounts<T>(row: string, record: T, counts: KeptCounts): Kept<T> {
  if (counts.byMid.size === 0) return keep(row, record)
  return { record, chars: row.length + counts.chars, counts }
}

export function countsIn(kept: Kept<unknown> | undefined): KeptCounts {
  const whole = typeof kept === 'object' ? kept : null
  return whole?.counts ?? createKeptCounts()
}

export function recordOf<T>(kept: string | Whole<T>, codec: Codec<T>): T {
  return typeof kept === 'string' ? codec.decode(kept) : kept.record
}

/** The objects, where they are kept. */
export function objectsOf<T>(kept: Kept<T> | undefined): T | null {
  return typeof kept === 'object' ? (kept?.record ?? null) : null
}

export function bytesOf(kept: Kept<unknown>): number {
  if (kept === null) return 0
  return typeof kept === 'string' ? kept.length : kept.chars * bytesPerChar
}
