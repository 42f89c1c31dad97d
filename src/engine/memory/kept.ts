import type { Codec } from '../format/row-codec.ts'

/**
 * A record in memory, as the store keeps it: one text. The objects of a record, renewed by each decision,
 * lived just long enough to be copied by the garbage collector twice, which cost more than reading the text
 * (bench/README.md). A long text, of a card with long lists, would cost more to read: its objects are kept.
 */
export type Kept<T> = string | Whole<T> | null

interface Whole<T> {
  readonly record: T
  readonly chars: number
}

const maxTextChars = 4_096
/** The objects of a record, with the texts of its windows, take so much more than its row. */
const bytesPerChar = 5

export function keep<T>(row: string, record: T): Kept<T> {
  return row.length > maxTextChars ? { record, chars: row.length } : row
}

export function recordOf<T>(kept: string | Whole<T>, codec: Codec<T>): T {
  return typeof kept === 'string' ? codec.decode(kept) : kept.record
}

export function bytesOf(kept: Kept<unknown>): number {
  if (kept === null) return 0
  return typeof kept === 'string' ? kept.length : kept.chars * bytesPerChar
}
