import { type Bucket, merged } from './bucket.ts'
import { type ValueSketch, withoutValue, withValue } from './value-sketch.ts'

/**
 * The counts of a window, oldest bucket first, and, where it tells how many different merchants there are,
 * or values of another field, those of each apart.
 */
export interface WindowState {
  readonly buckets: readonly Bucket[]
  /** The merchant that was changed last at the end. */
  readonly merchants: readonly MerchantBuckets[]
  /** Roughly those that crowded it; absent while there are none. */
  readonly sketch?: ValueSketch
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
  /** The transaction counted as one in an earlier bucket, and from then on in this. */
  readonly moved?: true
}

/** A rise of a transaction's spend, and where it stands; '' is the transaction's own card. */
export interface SpendEntry {
  readonly amountMinor: number
  readonly cardId: string
  readonly at: readonly Counted[]
}

/** A transaction with more rises in different buckets than this gives back among the newest only. */
export const maxSpendEntries = 64

/** A window with more merchants than this moves the one that was changed longest ago to its sketch. */
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
 * ago. Texts of the wire are slow to compare, so most are told apart by their length and last character, which
 * of an empty one is undefined: `charCodeAt` would say NaN, which equals nothing.
 */
export function placeOfMerchant(
  merchants: readonly { readonly mid: string }[],
  mid: string,
): number {
  const { length } = mid
  const last = mid.codePointAt(length - 1)
  if (merchants.length > 0 && merchants[0]!.mid === mid) return 0
  for (let place = merchants.length - 1; place > 0; place--) {
    const other = merchants[place]!.mid
    if (other.length === length && other.codePointAt(length - 1) === last && other === mid) {
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
  const sketch = state.sketch && sketchBeside(state.sketch, mid, place, oldest)
  put(states, name, state, mid, place, merged(before, oldest, added), sketch)
}

/** A merchant that is told apart again is not counted twice; a sketch goes when all of it is too old. */
function sketchBeside(
  sketch: ValueSketch,
  mid: string | null,
  place: number,
  oldest: number,
): ValueSketch | undefined {
  if (mid === null) return sketch.newest < oldest ? undefined : sketch
  return place < 0 ? withoutValue(sketch, mid) : sketch
}

/**
 * Takes from a bucket that is still kept; what was dropped with its time needs no giving back. A
 * merchant that was forgotten and counted again has less there than is given back: nothing falls
 * below zero. `squares` is by how much the square of what stands there falls.
 */
export function takeFrom(
  states: OpenStates,
  name: string,
  mid: string | null,
  index: number,
  sumMinor: number,
  count: number,
  squares: number,
): void {
  const kept = keptAt(states, name, mid, index)
  if (kept === undefined) return
  const takenMinor = Math.min(sumMinor, kept.sumMinor)
  const left = { index, sumMinor: -takenMinor, count: -Math.min(count, kept.count) }
  const taken =
    kept.spread === undefined ? left : { ...left, spread: { squares: -squares, maxMinor: 0 } }
  countAt(states, name, mid, Number.NEGATIVE_INFINITY, taken)
}

/** Counts one more in a bucket that is still kept. */
export function countOneMore(
  states: OpenStates,
  name: string,
  mid: string | null,
  index: number,
): void {
  if (keptAt(states, name, mid, index) === undefined) return
  countAt(states, name, mid, Number.NEGATIVE_INFINITY, { index, sumMinor: 0, count: 1 })
}

/** Adds to the squares of a bucket that is still kept and tells its spread. */
export function addSquares(
  states: OpenStates,
  name: string,
  mid: string | null,
  index: number,
  squares: number,
): void {
  if (!tellsSpread(states, name, mid, index)) return
  const added = { index, sumMinor: 0, count: 0, spread: { squares, maxMinor: 0 } }
  countAt(states, name, mid, Number.NEGATIVE_INFINITY, added)
}

export function tellsSpread(
  states: OpenStates,
  name: string,
  mid: string | null,
  index: number,
): boolean {
  return keptAt(states, name, mid, index)?.spread !== undefined
}

function keptAt(
  states: OpenStates,
  name: string,
  mid: string | null,
  index: number,
): Bucket | undefined {
  return bucketsOf(states[name] ?? noState, mid).find((bucket) => bucket.index === index)
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
  const isSketchOld = mid === null && isOldSketch(state, oldest)
  if (!isSketchOld && (buckets.length === 0 || buckets[0]!.index >= oldest)) return
  const kept = buckets.filter((bucket) => bucket.index >= oldest)
  put(states, name, state, mid, place, kept, isSketchOld ? undefined : state.sketch)
}

export function isOldSketch({ sketch }: WindowState, oldest: number): boolean {
  return sketch !== undefined && sketch.newest < oldest
}

/** Moves a merchant to the sketch, with its newest bucket; one that no longer counts only goes. */
export function moveToSketch(states: OpenStates, name: string, mid: string, oldest: number): void {
  const state = states[name] ?? noState
  const place = placeOfMerchant(state.merchants, mid)
  const last = bucketsAt(state, mid, place).findLast(({ count }) => count > 0)
  const counts = last !== undefined && last.index >= oldest
  const sketch = counts ? withValue(state.sketch, mid, last.index) : state.sketch
  put(states, name, state, mid, place, noState.buckets, sketch)
}

function put(
  states: OpenStates,
  name: string,
  before: WindowState,
  mid: string | null,
  place: number,
  changed: readonly Bucket[],
  sketch: ValueSketch | undefined,
): void {
  const buckets = mid === null ? changed : before.buckets
  const merchants =
    mid === null ? before.merchants : withMerchant(before.merchants, mid, place, changed)
  const next = sketch === undefined ? { buckets, merchants } : { buckets, merchants, sketch }
  if (hasCounts(next)) states[name] = next
  else delete states[name]
}

export function hasCounts({ buckets, merchants, sketch }: WindowState): boolean {
  return buckets.length > 0 || merchants.length > 0 || sketch !== undefined
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
