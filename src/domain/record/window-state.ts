export interface Bucket {
  readonly index: number
  readonly sumMinor: number
  readonly count: number
  /** Of a window that tells its spread. */
  readonly spread?: Spread
}

/** How far amounts lie apart, as far as a bucket knows. */
export interface Spread {
  /** Of the amounts, each as it stands; beyond 2^53 no longer exact. */
  readonly squares: number
  /** The largest amount that was ever counted there: giving back does not lower it. */
  readonly maxMinor: number
}

/**
 * The counts of a window, oldest bucket first, and, where it tells how many different merchants there are,
 * or values of another field, those of each apart.
 */
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

export const noState: WindowState = { buckets: [], merchants: [] }

/** A place to count at: a bucket of a window, or of a part of it (`merchantKey`). */
export interface Counted {
  /** Or several, with a space between their names, that count in the same bucket. */
  readonly window: string
  /** `merchant` is a merchant of the card, for windows per card and merchant. */
  readonly scope: 'card' | 'account' | 'merchant'
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
 * A window with more merchants than this forgets the one that was changed longest ago. `distinct` then
 * stays at this number.
 */
export const maxWindowMerchants = 64

/** Twice what a pack may have: with more, a card or account forgets those of earlier packs. */
export const maxWindowStates = 200

/** Names and MIDs are printable, so a line break can stand between them. */
export function merchantKey(window: string, mid: string): string {
  return `${window}\n${mid}`
}

/** The window of a key, and the merchant where it names one; null for the window's own buckets. */
export function splitKey(key: string): { readonly name: string; readonly mid: string | null } {
  const at = key.indexOf('\n')
  return at < 0 ? { name: key, mid: null } : { name: key.slice(0, at), mid: key.slice(at + 1) }
}

/** The windows of a place, and the merchant where it names one; null for the windows' own buckets. */
export interface PlaceParts {
  readonly names: readonly string[]
  readonly mid: string | null
}

export function partsOf(window: string): PlaceParts {
  const { name, mid } = splitKey(window)
  return { names: name.split(' '), mid }
}

/** The buckets of the window itself, or of one of its merchants. */
function bucketsOf(state: WindowState, mid: string | null): readonly Bucket[] {
  return bucketsAt(state, mid, mid === null ? -1 : placeOfMerchant(state.merchants, mid))
}

function bucketsAt(
  { buckets, merchants }: WindowState,
  mid: string | null,
  place: number,
): readonly Bucket[] {
  if (mid === null) return buckets
  return place < 0 ? noState.buckets : merchants[place]!.buckets
}

/**
 * Mostly the merchant that was changed last is asked for again, or, to be dropped, the one changed longest
 * ago. Texts of the wire are slow to compare, so most are told apart by their length and last character.
 */
export function placeOfMerchant(
  merchants: readonly { readonly mid: string }[],
  mid: string,
): number {
  const { length } = mid
  const last = mid.charCodeAt(length - 1)
  if (merchants.length > 0 && merchants[0]!.mid === mid) return 0
  for (let place = merchants.length - 1; place > 0; place--) {
    const other = merchants[place]!.mid
    if (other.length === length && other.charCodeAt(length - 1) === last && other === mid) {
      return place
    }
  }
  return -1
}

/** A place where an event counts now, with the parts of its `window`. */
export interface CountedNow extends Counted, PlaceParts {
  /** Buckets older than this no longer count and are dropped. */
  readonly oldest: number
  /** The window tells the spread of what it counts. */
  readonly spread?: true
}

export function countedPlace(
  { names, mid }: PlaceParts,
  scope: Counted['scope'],
  bucket: number,
  oldest: number,
): CountedNow {
  const together = names.length === 1 ? names[0]! : names.join(' ')
  const window = mid === null ? together : merchantKey(together, mid)
  return { window, names, mid, scope, bucket, oldest }
}

/**
 * States that may still be changed: a copy, made once for all that one event counts. A window costs the
 * same however many others there are.
 */
export type OpenStates = Record<string, WindowState>

/** Adds to the bucket of this index, and drops those from before `oldest`, in one pass. */
export function countAt(
  states: OpenStates,
  name: string,
  mid: string | null,
  oldest: number,
  added: Bucket,
): void {
  const state = states[name] ?? noState
  const place = mid === null ? -1 : placeOfMerchant(state.merchants, mid)
  const before = bucketsAt(state, mid, place)
  put(states, name, state, mid, place, merged(before, oldest, added))
}

/** The buckets from `oldest` on with one added to; a bucket with nothing left in it goes. */
function merged(buckets: readonly Bucket[], oldest: number, added: Bucket): readonly Bucket[] {
  let after = buckets.length
  // Mostly the newest bucket is the one that changes.
  while (after > 0 && buckets[after - 1]!.index > added.index) after--
  const same = after > 0 && buckets[after - 1]!.index === added.index ? buckets[after - 1]! : null
  const until = same === null ? after : after - 1
  let from = 0
  while (from < until && buckets[from]!.index < oldest) from++
  const bucket = same !== null && same.index >= oldest ? sumOf(same, added) : added
  if (after === buckets.length && !isEmpty(bucket)) return endingIn(buckets, from, until, bucket)
  const next = buckets.slice(from, until)
  if (!isEmpty(bucket)) next.push(bucket)
  for (let i = after; i < buckets.length; i++)
    if (buckets[i]!.index >= oldest) next.push(buckets[i]!)
  return next
}

/** Made in its length: a list that grows by `push` has room for 16 more, and cards keep thousands of lists. */
function endingIn<T>(list: readonly T[], from: number, until: number, last: T): readonly T[] {
  if (from === until) return [last]
  if (until === list.length) return (from === 0 ? list : list.slice(from)).concat(last)
  const next = list.slice(from, until + 1)
  next[next.length - 1] = last
  return next
}

/** A bucket that is empty again still knows its largest amount. */
function isEmpty({ sumMinor, count, spread }: Bucket): boolean {
  return sumMinor === 0 && count === 0 && spread === undefined
}

function sumOf(kept: Bucket, added: Bucket): Bucket {
  const { index } = added
  const sumMinor = kept.sumMinor + added.sumMinor
  const count = kept.count + added.count
  const spread = spreadOf(kept.spread, added.spread)
  return spread === undefined ? { index, sumMinor, count } : { index, sumMinor, count, spread }
}

function spreadOf(kept: Spread | undefined, added: Spread | undefined): Spread | undefined {
  if (kept === undefined || added === undefined) return kept ?? added
  const squares = Math.max(0, kept.squares + added.squares)
  return { squares, maxMinor: Math.max(kept.maxMinor, added.maxMinor) }
}

/**
 * Takes from a bucket that is still kept; what was dropped with its time needs no giving back. A
 * merchant that was forgotten and counted again has less there than is given back: nothing falls
 * below zero. `squares` tells by how much the square of what stands there falls.
 */
export function takeFrom(
  states: OpenStates,
  name: string,
  mid: string | null,
  index: number,
  sumMinor: number,
  count: number,
  squares: () => number,
): void {
  const buckets = bucketsOf(states[name] ?? noState, mid)
  const kept = buckets.find((bucket) => bucket.index === index)
  if (kept === undefined) return
  const takenMinor = Math.min(sumMinor, kept.sumMinor)
  const left = { index, sumMinor: -takenMinor, count: -Math.min(count, kept.count) }
  const taken =
    kept.spread === undefined ? left : { ...left, spread: { squares: -squares(), maxMinor: 0 } }
  countAt(states, name, mid, Number.NEGATIVE_INFINITY, taken)
}

/** Drops the buckets that no longer count. */
export function dropBefore(
  states: OpenStates,
  name: string,
  mid: string | null,
  oldest: number,
): void {
  const state = states[name] ?? noState
  const place = mid === null ? -1 : placeOfMerchant(state.merchants, mid)
  const buckets = bucketsAt(state, mid, place)
  if (buckets.length === 0 || buckets[0]!.index >= oldest) return
  const kept = buckets.filter((bucket) => bucket.index >= oldest)
  put(states, name, state, mid, place, kept)
}

function put(
  states: OpenStates,
  name: string,
  { buckets: own, merchants }: WindowState,
  mid: string | null,
  place: number,
  buckets: readonly Bucket[],
): void {
  const next =
    mid === null
      ? { buckets, merchants }
      : { buckets: own, merchants: withMerchant(merchants, mid, place, buckets) }
  if (next.buckets.length > 0 || next.merchants.length > 0) states[name] = next
  else delete states[name]
}

/** The merchants with one changed, which then stands last; without buckets it goes. */
function withMerchant(
  merchants: readonly MerchantBuckets[],
  mid: string,
  place: number,
  buckets: readonly Bucket[],
): readonly MerchantBuckets[] {
  if (place < 0) return buckets.length === 0 ? merchants : merchants.concat({ mid, buckets })
  const next = merchants.slice()
  next.splice(place, 1)
  if (buckets.length > 0) next.push({ mid, buckets })
  return next
}
