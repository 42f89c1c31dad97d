import type { Bucket } from '../../domain/record/bucket.ts'
import type { MerchantCounts } from '../../domain/record/merchant-counts.ts'
import { encodeMerchantCounts } from './window-codec.ts'

/** The record of a merchant as it was written last. */
export interface WrittenCounts {
  readonly counts: MerchantCounts
  readonly text: string
}

/**
 * Says the same as `encodeMerchantCounts`. An ask changes the newest bucket of each window, so all else is
 * taken over from the text before: `npm run bench -- windows` has the figure.
 */
export function writeCountsText(counts: MerchantCounts, before: WrittenCounts | null): string {
  return (before === null ? null : takeOver(counts, before)) ?? encodeMerchantCounts(counts)
}

/** null where the text before has other windows, or some that tell more than sums. */
function takeOver(
  { mid, windows }: MerchantCounts,
  { counts, text }: WrittenCounts,
): string | null {
  const parts: string[] = []
  let copied = 0
  let row = '[1,'.length + JSON.stringify(mid).length
  for (const name in windows) {
    const { buckets, merchants } = windows[name]!
    const first = row + ',[""'.length + name.length
    const isNamed = text.startsWith(name, row + ',["'.length) && text.startsWith('",', first - 1)
    if (!isNamed || merchants.length > 0) return null
    // The row of a window that tells its spread has a word before the first number.
    if (text[first + 1] === '"' || buckets.length === 0) return null
    const end = text.indexOf(']', first)
    row = end + 1
    const old = counts.windows[name]!.buckets
    if (old === buckets) continue
    const { from, to, kept } = keptIn(text, first, end, old, buckets)
    if (from === first) parts.push(text.slice(copied, to))
    else parts.push(text.slice(copied, first), text.slice(from, to))
    for (let i = kept; i < buckets.length; i++) {
      const { index, sumMinor, count, spread } = buckets[i]!
      if (spread !== undefined) return null
      parts.push(`,${index},${sumMinor},${count}`)
    }
    copied = end
  }
  if (row !== text.length - 1) return null
  parts.push(text.slice(copied))
  return parts.join('')
}

const cells = 3

/** The buckets that stood together before, with at most one after them, and where the row has them. */
function keptIn(
  text: string,
  first: number,
  end: number,
  old: readonly Bucket[],
  buckets: readonly Bucket[],
): { readonly from: number; readonly to: number; readonly kept: number } {
  const dropped = old.indexOf(buckets[0]!)
  let kept = 0
  while (dropped >= 0 && kept < buckets.length && old[dropped + kept] === buckets[kept]) kept++
  const after = old.length - dropped - kept
  if (dropped < 0 || after > 1) return { from: first, to: first, kept: 0 }
  let from = first
  for (let i = 0; i < cells * dropped; i++) from = text.indexOf(',', from + 1)
  let to = end
  for (let i = 0; i < cells * after; i++) to = text.lastIndexOf(',', to - 1)
  return { from, to, kept }
}
