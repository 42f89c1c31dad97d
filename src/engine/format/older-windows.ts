import type { Card } from '../../domain/record/card.ts'
import type { MerchantCounts } from '../../domain/record/merchant-counts.ts'
import { type Counted, partsOf, type WindowState } from '../../domain/record/window-state.ts'

/**
 * Rows and log entries from before windows per merchant had records of their own: they stood among the
 * windows of the card, and are told by having parts and no whole.
 */

/** The card with its windows per merchant where they are now. */
export function withMovedMerchants(card: Card): Card {
  const older = Object.entries(card.windows).filter(([, state]) => isPerMerchant(state))
  if (older.length === 0) return card
  const windows = { ...card.windows }
  const counted = new Map<string, Record<string, WindowState>>()
  for (const [name, { merchants }] of older) {
    delete windows[name]
    for (const { mid, buckets } of merchants) {
      counted.set(mid, { ...counted.get(mid), [name]: { buckets, merchants: [] } })
    }
  }
  const moved = Array.from(counted, ([mid, windows]): MerchantCounts => ({ mid, windows }))
  return { ...card, windows, merchantCounts: [...moved, ...card.merchantCounts] }
}

function isPerMerchant({ buckets, merchants }: WindowState): boolean {
  return buckets.length === 0 && merchants.length > 0
}

/** The places where something was counted, those of windows per merchant where they are now. */
export function movedPlaces<T extends Counted>(places: T[]): T[] {
  if (!places.some(({ scope, window }) => scope === 'card' && window.includes('\n'))) return places
  const all = places.map(({ window }) => partsOf(window))
  const wholes = new Set(all.flatMap(({ names, mid }) => (mid === null ? names : [])))
  return places.map((place, i) => {
    const { names, mid } = all[i]!
    const isMoved = place.scope === 'card' && mid !== null && !wholes.has(names[0]!)
    return isMoved ? { ...place, scope: 'merchant' } : place
  })
}
