import { type MerchantCounts, maxCountedMerchants } from '../record/merchant-counts.ts'
import {
  type CountedNow,
  maxWindowMerchants,
  merchantKey,
  noState,
  placeOfMerchant,
  splitKey,
  type WindowStates,
} from '../record/window-state.ts'
import type { WindowDefinition, WindowFacts } from './window.ts'

/** Adds the places where a window counts an event: the whole, and where it tells parts, one of them. */
export function addPlaces(at: CountedNow[], window: WindowDefinition, facts: WindowFacts): void {
  const { name, scope, span, spread } = window
  const bucket = window.bucketOf(facts.atMs, facts.account.country)
  const oldest = bucket - span + 1
  if (scope === 'card-and-merchant') {
    const key = merchantKey(name, facts.event.merchant.mid)
    at.push(placeOf(key, 'merchant', bucket, oldest, spread))
    return
  }
  const side = scope === 'account' ? scope : 'card'
  at.push(placeOf(name, side, bucket, oldest, spread))
  const mid = window.distinct ? window.partOf(facts) : ''
  // A merchant without a MID cannot be told from others.
  if (mid === '') return
  // Attempts are never given back, so the newest bucket of a merchant tells all.
  const attempts = window.over === 'asks' || window.over === 'declines'
  at.push(placeOf(merchantKey(name, mid), side, bucket, attempts ? bucket : oldest, false))
}

function placeOf(
  window: string,
  scope: CountedNow['scope'],
  bucket: number,
  oldest: number,
  spread: boolean,
): CountedNow {
  const place = { window, scope, bucket, oldest }
  return spread ? { ...place, spread } : place
}

/** The merchant that must go before another is counted at this place; null while there is room. */
export function crowdedOut(states: WindowStates, place: CountedNow): CountedNow | null {
  const { window, scope, bucket } = place
  const { name, mid } = splitKey(window)
  const merchants = states[name]?.merchants ?? noState.merchants
  if (mid === null || merchants.length < maxWindowMerchants) return null
  if (placeOfMerchant(merchants, mid) >= 0) return null
  const longestAgo = merchantKey(name, merchants[0]!.mid)
  return { window: longestAgo, scope, bucket, oldest: bucket + 1 }
}

/** The merchants of a card that must go before one is counted; those counted longest ago. */
export function crowdedMerchants(
  merchants: readonly MerchantCounts[],
  { window, bucket }: CountedNow,
): CountedNow[] {
  const mid = splitKey(window).mid!
  const excess = merchants.length + 1 - maxCountedMerchants
  if (excess <= 0 || placeOfMerchant(merchants, mid) >= 0) return []
  return merchants.slice(0, excess).map((gone) => ({
    window: merchantKey('', gone.mid),
    scope: 'merchant',
    bucket,
    oldest: bucket,
  }))
}
