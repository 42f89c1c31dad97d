import type { Account } from '../record/account.ts'
import type { Card } from '../record/card.ts'
import type { CardEvent } from '../record/event.ts'

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

/** What a window counts, oldest bucket first, and what it counts of each merchant apart. */
export interface WindowState {
  readonly buckets: readonly Bucket[]
  /** The merchant that was changed last at the end. */
  readonly merchants: readonly MerchantBuckets[]
}

export interface MerchantBuckets {
  readonly mid: string
  readonly buckets: readonly Bucket[]
}

/** By window name. */
export type WindowStates = Readonly<Record<string, WindowState>>

const noState: WindowState = { buckets: [], merchants: [] }

/** Where something is counted: a window, or a merchant's part of it by `merchantKey`, and a bucket. `card` windows stand on one card. */
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

/** Twice what a pack may have: with more, a card or account forgets those of earlier packs. */
export const maxWindowStates = 200

/** The window behind the cards' daily limit; every pack has it. */
export const dailyWindow = 'daily'

/** Names and MIDs are printable, so a line break can stand between them. */
export function merchantKey(window: string, mid: string): string {
  return `${window}\n${mid}`
}

/** The window of a key, and the merchant where it names one; null for the window's own buckets. */
export function splitKey(key: string): { readonly name: string; readonly mid: string | null } {
  const at = key.indexOf('\n')
  return at < 0 ? { name: key, mid: null } : { name: key.slice(0, at), mid: key.slice(at + 1) }
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
  const { scope, span } = definition
  const state = states[definition.name] ?? noState
  const newest = definition.bucketOf(atMs)
  const oldest = newest - span + 1
  let sumMinor = 0
  let count = 0
  for (const bucket of scope === 'card-and-merchant' ? bucketsOf(state, mid) : state.buckets) {
    if (bucket.index >= oldest && bucket.index <= newest) {
      sumMinor += bucket.sumMinor
      count += bucket.count
    }
  }
  const distinct = definition.distinct ? merchantsIn(state, oldest, newest) : 0
  return { sumMinor, count, distinct }
}

function merchantsIn({ merchants }: WindowState, oldest: number, newest: number): number {
  let counting = 0
  for (const { buckets } of merchants) {
    const isCounted = ({ index, count }: Bucket) => count > 0 && index >= oldest && index <= newest
    if (buckets.findLast(isCounted) !== undefined) counting++
  }
  return counting
}

/** Of the window itself, or of one of its merchants. */
function bucketsOf({ buckets, merchants }: WindowState, mid: string | null): readonly Bucket[] {
  if (mid === null) return buckets
  return merchants[placeOf(merchants, mid)]?.buckets ?? noState.buckets
}

function placeOf(merchants: readonly MerchantBuckets[], mid: string): number {
  // Mostly the merchant that was changed last is the one that is asked for again.
  let place = merchants.length - 1
  while (place >= 0 && merchants[place]!.mid !== mid) place--
  return place
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
  const { name, mid } = splitKey(window)
  const merchants = states[name]?.merchants ?? noState.merchants
  if (mid === null || merchants.length < maxWindowMerchants) return null
  if (placeOf(merchants, mid) >= 0) return null
  const longestAgo = merchantKey(name, merchants[0]!.mid)
  return { window: longestAgo, scope, bucket, oldest: bucket + 1 }
}

/**
 * States that may still be changed: a copy, made once for all that one event counts. A window costs the
 * same however many others there are.
 */
export type OpenStates = Record<string, WindowState>

/** Adds to one bucket, making it where it is missing and dropping it when nothing is left in it. */
export function addTo(
  states: OpenStates,
  window: string,
  index: number,
  sumMinor: number,
  count: number,
): void {
  const { name, mid } = splitKey(window)
  const buckets = bucketsOf(states[name] ?? noState, mid)
  // Mostly the newest bucket is the one that changes.
  let place = buckets.length
  while (place > 0 && buckets[place - 1]!.index >= index) place--
  const old = buckets[place]
  const found = old !== undefined && old.index === index
  const merged: Bucket = found
    ? { index, sumMinor: old.sumMinor + sumMinor, count: old.count + count }
    : { index, sumMinor, count }
  const isEmpty = merged.sumMinor === 0 && merged.count === 0
  put(states, name, mid, replaced(buckets, place, found, isEmpty ? null : merged))
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
  states: OpenStates,
  window: string,
  index: number,
  sumMinor: number,
  count: number,
): void {
  const { name, mid } = splitKey(window)
  const buckets = bucketsOf(states[name] ?? noState, mid)
  const kept = buckets.find((bucket) => bucket.index === index)
  if (kept === undefined) return
  const takenMinor = Math.min(sumMinor, kept.sumMinor)
  addTo(states, window, index, -takenMinor, -Math.min(count, kept.count))
}

/** Drops the buckets that no longer count. */
export function dropBefore(states: OpenStates, window: string, oldest: number): void {
  const { name, mid } = splitKey(window)
  const buckets = bucketsOf(states[name] ?? noState, mid)
  if (buckets.length === 0 || buckets[0]!.index >= oldest) return
  const kept = buckets.filter((bucket) => bucket.index >= oldest)
  put(states, name, mid, kept)
}

function put(
  states: OpenStates,
  name: string,
  mid: string | null,
  buckets: readonly Bucket[],
): void {
  const old = states[name] ?? noState
  const next = mid === null ? { ...old, buckets } : withMerchant(old, mid, buckets)
  if (next.buckets.length > 0 || next.merchants.length > 0) states[name] = next
  else delete states[name]
}

function withMerchant(old: WindowState, mid: string, buckets: readonly Bucket[]): WindowState {
  const merchants = old.merchants.slice()
  const place = placeOf(merchants, mid)
  if (place >= 0) merchants.splice(place, 1)
  if (buckets.length > 0) merchants.push({ mid, buckets })
  return { buckets: old.buckets, merchants }
}
