import { newestFirst, newestFirstAt } from '../engine/format/newest-first.ts'
import type { IndexEntry, Store } from '../store/port.ts'

/** A stretch of time; the end is not included. */
export interface Span {
  readonly fromMs: number
  readonly beforeMs: number
}

export const allTime: Span = { fromMs: 0, beforeMs: Number.POSITIVE_INFINITY }

/** A list of things, the newest first, as an index has them. */
export interface Listing<T> extends Span {
  readonly index: string
  /** What the sort keys of its entries begin with. The time follows, by `newestFirst`, and then an id. */
  readonly prefix: string
  /** What the entries name, in their order; null where it is not among what is asked for. */
  read(entries: readonly IndexEntry[]): Promise<readonly (T | null)[]>
  /** Where the index has not all entries in this order: gives those after a sort key as the store would. */
  range?(after: string, limit: number): Promise<readonly IndexEntry[]>
}

export interface Page<T> {
  readonly items: readonly T[]
  /** The place after which the next page begins; null at the end. */
  readonly next: string | null
}

/** How many entries one page looks at: a filter that fits few of them gives short pages, not slow ones. */
export const maxLookedAt = 1_000
const maxPerRead = 250

/**
 * Reads one page after a place that another page gave ('' begins). Its cost is that of its own entries,
 * however many others the index has: a place is a sort key, and the store seeks to it.
 */
export async function readPage<T>(
  store: Pick<Store, 'range'>,
  listing: Listing<T>,
  place: string,
  limit: number,
): Promise<Page<T>> {
  const { index, prefix } = listing
  const items: T[] = []
  let after = prefix + laterOf(place, startOf(listing))
  for (let lookedAt = 0, count = limit + 1; ; count = Math.min(2 * count, maxPerRead)) {
    const entries = await (listing.range?.(after, count) ?? store.range(index, after, count))
    const own = entries.filter(({ sortKey }) => isWithin(sortKey, listing))
    const read = await listing.read(own)
    for (let i = 0; i < own.length; i++) {
      if (items.length === limit) return { items, next: after.slice(prefix.length) }
      after = own[i]!.sortKey
      const item = read[i]
      if (item !== null && item !== undefined) items.push(item)
    }
    if (own.length < count) return { items, next: null }
    lookedAt += count
    if (items.length === limit || lookedAt >= maxLookedAt) {
      return { items, next: after.slice(prefix.length) }
    }
  }
}

/** Before everything that is older than the end of the span. */
function startOf({ beforeMs }: Span): string {
  return Number.isFinite(beforeMs) ? newestFirst(beforeMs - 1) : ''
}

function laterOf(a: string, b: string): string {
  return a > b ? a : b
}

/** An entry whose time cannot be read must not end the list: those behind it are in their order. */
function isWithin(sortKey: string, { prefix, fromMs }: Listing<unknown>): boolean {
  return sortKey.startsWith(prefix) && !(newestFirstAt(sortKey, prefix.length) < fromMs)
}
