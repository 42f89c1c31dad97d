import { type MerchantCounts, maxCountedMerchants } from '../record/merchant-counts.ts'
import {
  type CountedNow,
  countedPlace,
  type MerchantBuckets,
  maxWindowMerchants,
  noState,
  placeOfMerchant,
  type WindowState,
  type WindowStates,
} from '../record/window-state.ts'
import type { WindowDefinition, WindowFacts } from './window.ts'

/** A place that other windows may still join: those of one length count in the same bucket. */
export interface OpenPlace extends Omit<CountedNow, 'window' | 'names' | 'spread'> {
  readonly names: string[]
  readonly spread: boolean
}

/** Adds the places where a window counts an event: the whole, and where it tells parts, one of them. */
export function addPlaces(at: OpenPlace[], window: WindowDefinition, facts: WindowFacts): void {
  const { name, scope, span, spread } = window
  const bucket = window.bucketOf(facts.atMs, facts.account.country)
  const oldest = bucket - span + 1
  if (scope === 'card-and-merchant') {
    join(at, name, 'merchant', facts.event.merchant.mid, bucket, oldest, spread)
    return
  }
  const side = scope === 'account' ? scope : 'card'
  join(at, name, side, null, bucket, oldest, spread)
  const mid = window.distinct ? window.partOf(facts) : ''
  // A merchant without a MID cannot be told from others.
  if (mid === '') return
  // Attempts are never given back, so the newest bucket of a merchant tells all.
  const attempts = window.over === 'asks' || window.over === 'declines'
  join(at, name, side, mid, bucket, attempts ? bucket : oldest, false)
}

function join(
  at: OpenPlace[],
  name: string,
  scope: CountedNow['scope'],
  mid: string | null,
  bucket: number,
  oldest: number,
  spread: boolean,
): void {
  for (const place of at) {
    const isTimely = place.bucket === bucket && place.oldest === oldest
    if (isTimely && place.scope === scope && place.mid === mid && place.spread === spread) {
      place.names.push(name)
      return
    }
  }
  at.push({ names: [name], mid, scope, bucket, oldest, spread })
}

export function closePlace(open: OpenPlace): CountedNow {
  const place = countedPlace(open, open.scope, open.bucket, open.oldest)
  return open.spread ? { ...place, spread: true } : place
}

/** The merchants that a window has too many of, once it has counted; those changed longest ago. */
export function crowding({ merchants }: WindowState): readonly MerchantBuckets[] {
  const excess = merchants.length - maxWindowMerchants
  return excess > 0 ? merchants.slice(0, excess) : noState.merchants
}

/** Adds the merchants that crowd the windows which have counted at a place. */
export function addCrowding(
  crowds: OpenPlace[],
  { names, scope, bucket, oldest }: CountedNow,
  states: WindowStates,
): void {
  for (const name of names) {
    for (const { mid } of crowding(states[name] ?? noState)) {
      join(crowds, name, scope, mid, bucket, oldest, false)
    }
  }
}

/** Adds the merchants of a card that must go before one is counted; those counted longest ago. */
export function addCrowdedMerchants(
  crowds: OpenPlace[],
  { mid, bucket }: OpenPlace,
  merchants: readonly MerchantCounts[],
): void {
  const excess = merchants.length + 1 - maxCountedMerchants
  if (excess <= 0 || placeOfMerchant(merchants, mid!) >= 0) return
  for (const gone of merchants.slice(0, excess)) {
    join(crowds, '', 'merchant', gone.mid, bucket, bucket, false)
  }
}
