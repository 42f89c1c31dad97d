import type { MerchantCounts } from '../../domain/record/merchant-counts.ts'
import type { ChildKey, ChildPut } from '../../store/port.ts'
import { type CountsText, unwritten, writeCountsText } from '../format/counts-text.ts'
import { merchantCountsKey } from '../format/layout.ts'

/** What the store has of the merchants of one card, so that a commit writes those that changed. */
export interface KeptCounts {
  readonly byMid: Map<string, KeptMerchant>
  chars: number
  /** The list that was written last: what stands there too needs no looking up. */
  list: readonly MerchantCounts[]
}

interface KeptMerchant {
  readonly counts: MerchantCounts
  readonly chars: number
  readonly written: CountsText
}

export function createKeptCounts(): KeptCounts {
  return { byMid: new Map(), chars: 0, list: [] }
}

export function keepCounts(
  kept: KeptCounts,
  counts: MerchantCounts,
  chars: number,
  written = unwritten,
): void {
  kept.chars += chars - (kept.byMid.get(counts.mid)?.chars ?? 0)
  kept.byMid.set(counts.mid, { counts, chars, written })
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
    const known = kept.byMid.get(counts.mid)
    if (known?.counts === counts) continue
    const written = writeCountsText(counts, known?.written ?? unwritten)
    put.push({ ...merchantCountsKey(cardId, counts.mid), value: written.text })
    keepCounts(kept, counts, written.text.length, written)
  }
  kept.list = merchants
  if (kept.byMid.size === merchants.length) return
  const mids = new Set(merchants.map(({ mid }) => mid))
  for (const [mid, { chars }] of kept.byMid) {
    if (mids.has(mid)) continue
    remove.push(merchantCountsKey(cardId, mid))
    kept.byMid.delete(mid)
    kept.chars -= chars
  }
}
