import type { MerchantCounts } from '../../domain/record/merchant-counts.ts'
import type { ChildKey, ChildPut } from '../../store/port.ts'
import { merchantCountsKey } from '../format/layout.ts'
import { encodeMerchantCounts } from '../format/window-codec.ts'

/** What the store has of the merchants of one card, so that a commit writes those that changed. */
export interface KeptCounts {
  readonly byMid: Map<string, { readonly counts: MerchantCounts; readonly chars: number }>
  chars: number
}

export function createKeptCounts(): KeptCounts {
  return { byMid: new Map(), chars: 0 }
}

export function keepCounts(kept: KeptCounts, counts: MerchantCounts, chars: number): void {
  kept.chars += chars - (kept.byMid.get(counts.mid)?.chars ?? 0)
  kept.byMid.set(counts.mid, { counts, chars })
}

/** Puts what changed and removes what is gone; from then on it is kept as it was put. */
export function writeCounts(
  kept: KeptCounts,
  cardId: string,
  merchants: readonly MerchantCounts[],
  put: ChildPut[],
  remove: ChildKey[],
): void {
  for (const counts of merchants) {
    if (kept.byMid.get(counts.mid)?.counts === counts) continue
    const value = encodeMerchantCounts(counts)
    put.push({ ...merchantCountsKey(cardId, counts.mid), value })
    keepCounts(kept, counts, value.length)
  }
  if (kept.byMid.size === merchants.length) return
  const mids = new Set(merchants.map(({ mid }) => mid))
  for (const [mid, { chars }] of kept.byMid) {
    if (mids.has(mid)) continue
    remove.push(merchantCountsKey(cardId, mid))
    kept.byMid.delete(mid)
    kept.chars -= chars
  }
}
