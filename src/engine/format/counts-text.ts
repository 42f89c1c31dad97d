import type { MerchantCounts } from '../../domain/record/merchant-counts.ts'
import type { Bucket } from '../../domain/record/window-state.ts'
import { windowRows } from './window-codec.ts'

/**
 * The record of a merchant as it was written last. An ask changes the newest bucket of each window, so the
 * texts of all others are taken over: `npm run bench -- windows` has the figure.
 */
export interface CountsText {
  readonly text: string
  readonly rows: readonly WrittenRow[]
}

/** The row of one window; `head` is its beginning, up to the first bucket. */
interface WrittenRow {
  readonly name: string
  readonly head: string
  readonly buckets: readonly Bucket[]
  readonly text: string
}

export const unwritten: CountsText = { text: '', rows: [] }

/** Says the same as `encodeMerchantCounts`. */
export function writeCountsText({ mid, windows }: MerchantCounts, before: CountsText): CountsText {
  const rows: WrittenRow[] = []
  let text = `[1,${JSON.stringify(mid)}`
  for (const name in windows) {
    const state = windows[name]!
    const { buckets, merchants } = state
    if (merchants.length > 0 || buckets.some(({ spread }) => spread !== undefined)) {
      text += `,${JSON.stringify(windowRows({ [name]: state })).slice(1, -1)}`
      continue
    }
    const known = before.rows[rows.length]
    const row = writeRow(name, buckets, known?.name === name ? known : null)
    rows.push(row)
    text += `,${row.text}]`
  }
  return { text: `${text}]`, rows }
}

function writeRow(name: string, buckets: readonly Bucket[], before: WrittenRow | null): WrittenRow {
  const head = before === null ? `[${JSON.stringify(name)}` : before.head
  const kept = before === null ? 0 : keptBuckets(before.buckets, buckets)
  let text = kept === 0 ? head : head + textOfKept(before!, buckets[0]!, kept)
  for (let i = kept; i < buckets.length; i++) {
    const { index, sumMinor, count } = buckets[i]!
    text += `,${index},${sumMinor},${count}`
  }
  return { name, head, buckets, text }
}

/** How many of the buckets stood together before, with at most one after them; buckets never change. */
function keptBuckets(before: readonly Bucket[], buckets: readonly Bucket[]): number {
  const from = buckets.length === 0 ? -1 : before.indexOf(buckets[0]!)
  if (from < 0) return 0
  let kept = 1
  while (kept < buckets.length && before[from + kept] === buckets[kept]) kept++
  return before.length - from - kept > 1 ? 0 : kept
}

const cells = 3

function textOfKept({ head, buckets, text }: WrittenRow, first: Bucket, kept: number): string {
  const dropped = buckets.indexOf(first)
  let from = head.length
  for (let i = 0; i < cells * dropped; i++) from = text.indexOf(',', from + 1)
  if (dropped + kept === buckets.length) return text.slice(from)
  let to = text.length
  for (let i = 0; i < cells; i++) to = text.lastIndexOf(',', to - 1)
  return text.slice(from, to)
}
