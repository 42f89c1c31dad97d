import type { CardEvent } from './event.ts'

/**
 * A named spend counter. Spend windows follow W of each transaction, up and down; windows over asks
 * or declines count attempts and never give back.
 */
export interface WindowDefinition {
  readonly name: string
  readonly scope: 'card' | 'account'
  readonly over: 'approved' | 'cash' | 'asks' | 'declines'
  readonly matches: (event: CardEvent) => boolean
  /** The bucket an instant belongs to; consecutive in time. */
  readonly bucketOf: (atMs: number) => number
  /** How many buckets, ending with the present one, make the window. */
  readonly span: number
}

export interface Bucket {
  readonly index: number
  readonly sumMinor: number
  readonly count: number
}

/** By window name; oldest bucket first. */
export type WindowStates = Readonly<Record<string, readonly Bucket[]>>

/** Where something is counted: a window's name and bucket. `card` windows stand on one card. */
export interface Counted {
  readonly window: string
  readonly scope: 'card' | 'account'
  readonly bucket: number
}

/** A rise of a transaction's spend, and where it stands; '' is the transaction's own card. */
export interface SpendEntry {
  readonly amountMinor: number
  readonly cardId: string
  readonly at: readonly Counted[]
}

/** A transaction with more rises in different buckets than this gives back among the newest only. */
export const maxSpendEntries = 64

/** The window behind the cards' daily limit; every pack has it. */
export const dailyWindow = 'daily'

export function windowValue(
  states: WindowStates,
  definition: WindowDefinition,
  atMs: number,
): { sumMinor: number; count: number } {
  const newest = definition.bucketOf(atMs)
  let sumMinor = 0
  let count = 0
  for (const bucket of states[definition.name] ?? []) {
    if (bucket.index > newest - definition.span && bucket.index <= newest) {
      sumMinor += bucket.sumMinor
      count += bucket.count
    }
  }
  return { sumMinor, count }
}

/** Adds to one bucket, making it where it is missing and dropping it when nothing is left in it. */
export function addTo(
  states: WindowStates,
  window: string,
  index: number,
  sumMinor: number,
  count: number,
): WindowStates {
  const buckets = states[window] ?? []
  const at = buckets.findIndex((bucket) => bucket.index >= index)
  const place = at < 0 ? buckets.length : at
  const old = buckets[place]
  const found = old !== undefined && old.index === index
  const merged: Bucket = found
    ? { index, sumMinor: old.sumMinor + sumMinor, count: old.count + count }
    : { index, sumMinor, count }
  const kept = merged.sumMinor === 0 && merged.count === 0 ? [] : [merged]
  const next = [...buckets.slice(0, place), ...kept, ...buckets.slice(found ? place + 1 : place)]
  return withBuckets(states, window, next)
}

/** Takes from a bucket that is still kept; what was dropped with its time needs no giving back. */
export function takeFrom(
  states: WindowStates,
  window: string,
  index: number,
  sumMinor: number,
  count: number,
): WindowStates {
  const kept = states[window]?.some((bucket) => bucket.index === index) ?? false
  return kept ? addTo(states, window, index, -sumMinor, -count) : states
}

/** Drops the buckets that no longer count. */
export function dropBefore(states: WindowStates, window: string, oldest: number): WindowStates {
  const buckets = states[window]
  if (buckets === undefined || buckets.length === 0 || buckets[0]!.index >= oldest) return states
  return withBuckets(
    states,
    window,
    buckets.filter((bucket) => bucket.index >= oldest),
  )
}

function withBuckets(states: WindowStates, window: string, buckets: readonly Bucket[]) {
  if (buckets.length > 0) return { ...states, [window]: buckets }
  const { [window]: _empty, ...rest } = states
  return rest
}
