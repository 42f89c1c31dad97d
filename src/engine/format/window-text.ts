import type { MerchantCounts } from '../../domain/record/merchant-counts.ts'
import type { ValueSketch } from '../../domain/record/value-sketch.ts'
import {
  type MerchantBuckets,
  merchantKey,
  type WindowStates,
} from '../../domain/record/window-state.ts'
import { WrittenCell } from './row-codec.ts'
import { windowRows, writeBuckets, writeSketch } from './window-codec.ts'

/**
 * Texts of long lists in the rows of cards and accounts. A decision changes one value of each, so the text is
 * made from that of the list before; lists are never changed in place. `npm run bench -- windows` has the
 * figure.
 */

/** With this many merchants a row is so long that memory keeps its objects, and so their texts. */
const manyMerchants = 128

/** The windows of a card or account, as one cell. */
export function writeWindowRows(states: WindowStates): unknown[] | WrittenCell {
  let merchants = 0
  for (const name in states) merchants += states[name]!.merchants.length
  return merchants < manyMerchants ? windowRows(states) : new WrittenCell(windowsText(states))
}

function windowsText(states: WindowStates): string {
  const rows: string[] = []
  for (const name in states) {
    const { buckets, merchants, sketch } = states[name]!
    if (buckets.length > 0) rows.push(JSON.stringify(writeBuckets(name, buckets)))
    if (merchants.length > 0) rows.push(valuesTexts.get(merchants) ?? valuesText(name, merchants))
    if (sketch !== undefined) rows.push(sketchText(name, sketch))
  }
  return `[${rows.join(',')}]`
}

/** No cell needs an escape, and to look for them takes as long as all else. */
function sketchText(name: string, sketch: ValueSketch): string {
  const [, mark, newest, cells] = writeSketch(name, sketch)
  return `[${JSON.stringify(name)},"${mark}",${newest},"${cells}"]`
}

/** By the merchants, or other values, that a window tells apart. */
const valuesTexts = new WeakMap<readonly MerchantBuckets[], string>()

function valuesText(name: string, values: readonly MerchantBuckets[]): string {
  const text = values.map((value) => valueText(name, value)).join(',')
  valuesTexts.set(values, text)
  return text
}

function valueText(name: string, { mid, buckets }: MerchantBuckets): string {
  return JSON.stringify(writeBuckets(merchantKey(name, mid), buckets))
}

/** Makes the texts of windows from those of the same windows before. */
export function takeOverWindows(states: WindowStates, before: WindowStates): void {
  for (const name in states) {
    const { merchants } = states[name]!
    const old = before[name]?.merchants ?? merchants
    const text = old === merchants ? undefined : valuesTexts.get(old)
    const next = text === undefined ? null : takeOverValues(name, merchants, old, text)
    if (next !== null) valuesTexts.set(merchants, next)
  }
}

/** More than this are written anew. */
const maxGone = 4

/** null where more has changed than that some have gone, or moved to the end. */
function takeOverValues(
  name: string,
  values: readonly MerchantBuckets[],
  before: readonly MerchantBuckets[],
  text: string,
): string | null {
  let next = text
  let kept = 0
  for (let i = 0; i < before.length; i++) {
    if (values[kept] === before[i]) kept++
    else if (i - kept >= maxGone) return null
    else {
      const without = textWithout(next, valueText(name, before[i]!))
      if (without === null) return null
      next = without
    }
  }
  const added = values.slice(kept).map((value) => valueText(name, value))
  if (added.length > maxGone) return null
  return [...(next === '' ? [] : [next]), ...added].join(',')
}

/** Quotes within a value are escaped, so the text of one is found nowhere else; null where it is not found. */
function textWithout(text: string, value: string): string | null {
  const at = text.indexOf(value)
  if (at < 0) return null
  if (at === 0) return text.slice(value.length + 1)
  return text.slice(0, at - 1) + text.slice(at + value.length)
}

/** Of less it costs nothing to write all. */
const fewMerchants = 16

const listTexts = new WeakMap<readonly MerchantCounts[], string>()

/** The merchants that the row of a card names. */
export function writeMerchants(merchants: readonly MerchantCounts[]): string[] | WrittenCell {
  const known = listTexts.get(merchants)
  return known === undefined ? merchants.map(({ mid }) => mid) : new WrittenCell(known)
}

/** Makes the text of a long list of merchants from that of the list before, where one has moved to its end. */
export function takeOverMerchants(
  merchants: readonly MerchantCounts[],
  before: readonly MerchantCounts[],
): void {
  const { length } = merchants
  if (length < fewMerchants) return
  const text = listTexts.get(before)
  let place = 0
  while (place < length - 1 && merchants[place] === before[place]) place++
  const moved = merchants[length - 1]!.mid
  let isMoved = length === before.length && before[place]!.mid === moved
  for (let i = place; isMoved && i < length - 1; i++) isMoved = merchants[i] === before[i + 1]
  const next = text === undefined || !isMoved ? null : movedToEnd(text, moved)
  listTexts.set(merchants, next ?? JSON.stringify(merchants.map(({ mid }) => mid)))
}

/** null where the text of the merchant could also be found between two others, or within one. */
function movedToEnd(text: string, mid: string): string | null {
  const quoted = JSON.stringify(mid)
  if (/^"[,\]]|\\/.test(quoted)) return null
  if (text.endsWith(`,${quoted}]`)) return text
  if (text.startsWith(`[${quoted},`)) {
    return `[${text.slice(quoted.length + 2, -1)},${quoted}]`
  }
  const at = text.indexOf(`,${quoted},`)
  if (at < 0) return null
  return `${text.slice(0, at)}${text.slice(at + quoted.length + 1, -1)},${quoted}]`
}
