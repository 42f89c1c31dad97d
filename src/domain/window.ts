import type { Account } from './account.ts'
import type { Card } from './card.ts'
import type { CardEvent } from './event.ts'

/**
 * A named spend counter. Spend windows follow W of each transaction, up and down; windows over asks
 * or declines count attempts and never give back.
 */
export interface WindowDefinition {
  readonly name: string
  /** `card-and-merchant` counts each MID of a card apart. */
  readonly scope: 'card' | 'account' | 'card-and-merchant'
  readonly over: 'approved' | 'cash' | 'asks' | 'declines'
  /** Also tells how many different MIDs it counts. */
  readonly distinct: boolean
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

/**
 * By window name; oldest bucket first. What a window counts of one merchant stands beside it under
 * `merchantKey`, the merchant that was changed last at the end: so it is given back like all else,
 * and a record without such windows is written as it always was.
 */
export type WindowStates = Readonly<Record<string, readonly Bucket[]>>

/** Where something is counted: a key of the states and a bucket. `card` windows stand on one card. */
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

/**
 * A window with more merchants than this forgets the one that was changed longest ago. `distinct`
 * then stays at this number, and a card-and-merchant window of a forgotten merchant starts at zero.
 */
export const maxWindowMerchants = 64

/** The window behind the cards' daily limit; every pack has it. */
export const dailyWindow = 'daily'

/** Names and MIDs are printable, so a line break can stand between them. */
export function merchantKey(window: string, mid: string): string {
  return `${window}\n${mid}`
}

function isMerchantKey(key: string): boolean {
  return key.includes('\n')
}

/** What a window says; `distinct` is 0 for a window that does not keep it. */
export interface WindowValue {
  readonly sumMinor: number
  readonly count: number
  readonly distinct: number
}

/** What an ask finds in a window, before it is counted itself. */
export function windowAt(
  definition: WindowDefinition,
  { account, card, event, atMs }: WindowFacts,
): WindowValue {
  const { windows } = definition.scope === 'account' ? account : card
  return windowValue(windows, definition, atMs, event.merchant.mid)
}

export interface WindowFacts {
  readonly account: Account
  readonly card: Card
  readonly event: CardEvent
  readonly atMs: number
}

/** The states are those of the card or account that the window stands on. */
export function windowValue(
  states: WindowStates,
  definition: WindowDefinition,
  atMs: number,
  mid: string,
): WindowValue {
  const { name, scope, span } = definition
  const newest = definition.bucketOf(atMs)
  const key = scope === 'card-and-merchant' ? merchantKey(name, mid) : name
  let sumMinor = 0
  let count = 0
  for (const bucket of states[key] ?? []) {
    if (bucket.index > newest - span && bucket.index <= newest) {
      sumMinor += bucket.sumMinor
      count += bucket.count
    }
  }
  const distinct = definition.distinct ? merchantsIn(states, name, newest - span + 1, newest) : 0
  return { sumMinor, count, distinct }
}

function merchantsIn(states: WindowStates, name: string, oldest: number, newest: number): number {
  let merchants = 0
  for (const key of merchantKeys(states, name)) {
    const counts = states[key]!.some(
      ({ index, count }) => count > 0 && index >= oldest && index <= newest,
    )
    if (counts) merchants++
  }
  return merchants
}

/** The keys of a window's merchants, changed longest ago first. */
export function merchantKeys(states: WindowStates, name: string): string[] {
  const start = merchantKey(name, '')
  return Object.keys(states).filter((key) => key.startsWith(start))
}

/** A place to count at now. */
export interface CountedNow extends Counted {
  /** Buckets older than this no longer count and are dropped. */
  readonly oldest: number
}

/** Where a window counts what happens at a merchant. */
export function placesIn(window: WindowDefinition, atMs: number, mid: string): CountedNow[] {
  const { name, over, distinct } = window
  const bucket = window.bucketOf(atMs)
  const oldest = bucket - window.span + 1
  if (window.scope === 'card-and-merchant') {
    return [{ window: merchantKey(name, mid), scope: 'card', bucket, oldest }]
  }
  const { scope } = window
  const whole = { window: name, scope, bucket, oldest }
  // Who is not named cannot be told from others.
  if (!distinct || mid === '') return [whole]
  // Attempts are never given back, so the newest bucket of a merchant tells all.
  const attempts = over === 'asks' || over === 'declines'
  const kept = attempts ? bucket : oldest
  return [whole, { window: merchantKey(name, mid), scope, bucket, oldest: kept }]
}

/** The merchant that must go before another is counted at this place; null while there is room. */
export function crowdedOut(states: WindowStates, place: CountedNow): CountedNow | null {
  const { window, scope, bucket } = place
  if (!isMerchantKey(window) || states[window] !== undefined) return null
  const kept = merchantKeys(states, window.slice(0, window.indexOf('\n')))
  if (kept.length < maxWindowMerchants) return null
  return { window: kept[0]!, scope, bucket, oldest: bucket + 1 }
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
  // Mostly the newest bucket is the one that changes.
  let place = buckets.length
  while (place > 0 && buckets[place - 1]!.index >= index) place--
  const old = buckets[place]
  const found = old !== undefined && old.index === index
  const merged: Bucket = found
    ? { index, sumMinor: old.sumMinor + sumMinor, count: old.count + count }
    : { index, sumMinor, count }
  const isEmpty = merged.sumMinor === 0 && merged.count === 0
  return withBuckets(states, window, replaced(buckets, place, found, isEmpty ? null : merged))
}

function replaced(
  buckets: readonly Bucket[],
  place: number,
  found: boolean,
  bucket: Bucket | null,
): readonly Bucket[] {
  const next = buckets.slice()
  if (bucket === null) next.splice(place, found ? 1 : 0)
  else if (found) next[place] = bucket
  else if (place === next.length) next.push(bucket)
  else next.splice(place, 0, bucket)
  return next
}

/**
 * Takes from a bucket that is still kept; what was dropped with its time needs no giving back. A
 * merchant that was forgotten and counted again has less there than is given back: nothing falls
 * below zero.
 */
export function takeFrom(
  states: WindowStates,
  window: string,
  index: number,
  sumMinor: number,
  count: number,
): WindowStates {
  const kept = states[window]?.find((bucket) => bucket.index === index)
  if (kept === undefined) return states
  const takenMinor = Math.min(sumMinor, kept.sumMinor)
  return addTo(states, window, index, -takenMinor, -Math.min(count, kept.count))
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
  if (buckets.length > 0 && !isMerchantKey(window)) return { ...states, [window]: buckets }
  const { [window]: _old, ...rest } = states
  return buckets.length === 0 ? rest : { ...rest, [window]: buckets }
}
