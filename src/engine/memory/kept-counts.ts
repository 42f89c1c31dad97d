import type { MerchantCounts } from '../../domain/record/merchant-counts.ts'
import type { ChildKey, ChildPut } from '../../store/port.ts'
import { type WrittenCounts, writeCountsText } from '../format/counts-text.ts'
import { merchantCountsKey } from '../format/layout.ts'
import { takeOverMerchants } from '../format/window-text.ts'

/** What the store has of the merchants of one card, so that a commit writes those that changed. */
export interface KeptCounts {
  readonly byMid: Map<string, WrittenCounts>
  chars: number
  /** The list that was written last: what stands there too needs no looking up. */
  list: readonly MerchantCounts[]
}

export function createKeptCounts(): KeptCounts {
  return { byMid: new Map(), chars: 0, list: [] }
}

export function keepCounts(kept: KeptCounts, counts: MerchantCounts, text: string): void {
  kept.chars += text.length - (kept.byMid.get(counts.mid)?.text.length ?? 0)
  kept.byMid.set(counts.mid, { counts, text })
}

/** Puts what changed and removes what is gone; from then on it is kept as it was put. */
export function writeCounts(
  kept: KeptCounts,
  cardId: string,
  merchants: readonly MerchantCounts[],
  put: ChildPut[],
  remove: ChildKey[],
): void {
  const { list } = kept
  let place = 0
  for (const counts of merchants) {
    // One ask moves one merchant to the end, so the others stand where they stood or one before.
    if (list[place] !== counts && list[place + 1] === counts) place++
    if (list[place] === counts) {
      place++
      continue
    }
    const known = kept.byMid.get(counts.mid) ?? null
    if (known?.counts === counts) continue
    const value = writeCountsText(counts, known)
    const { group, id } = merchantCountsKey(cardId, counts.mid)
    put.push({ group, id, value })
    keepCounts(kept, counts, value)
  }
  takeOverMerchants(merchants, list)
  kept.list = merchants
  if (kept.byMid.size === merchants.length) return
  const mids = new Set(merchants.map(({ mid }) => mid))
  for (const [mid, { text }] of kept.byMid) {
    if (mids.has(mid)) continue
    remove.push(merchantCountsKey(cardId, mid))
    kept.byMid.delete(mid)
    kept.chars -= text.length
  }
}
