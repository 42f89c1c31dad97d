import type { MerchantCounts } from '../../domain/record/merchant-counts.ts'
import {
  type Bucket,
  type MerchantBuckets,
  merchantKey,
  splitKey,
  type WindowStates,
} from '../../domain/record/window-state.ts'
import { parseStored, RecordUnreadable, WrittenCell } from './row-codec.ts'

/** With this many merchants a row is so long that memory keeps its objects, and so their texts. */
const manyMerchants = 128

/** Of less it costs nothing to write all. */
const fewMerchants = 16

/**
 * The windows of a card or account, as one cell. An ask changes one merchant of a window, so the texts of
 * the others are kept: `npm run bench -- windows` has the figure.
 */
export function writeWindowRows(states: WindowStates): unknown[] | WrittenCell {
  let merchants = 0
  for (const name in states) merchants += states[name]!.merchants.length
  return merchants < manyMerchants ? windowRows(states) : new WrittenCell(windowsText(states))
}

/** By the merchant's part of a window, which is never changed in place. */
const valueTexts = new WeakMap<MerchantBuckets, string>()

function windowsText(states: WindowStates): string {
  const rows: string[] = []
  for (const name in states) {
    const { buckets, merchants } = states[name]!
    if (buckets.length > 0) rows.push(JSON.stringify(writeBuckets(name, buckets)))
    for (let i = 0; i < merchants.length; i++) rows.push(valueText(name, merchants[i]!))
  }
  return `[${rows.join(',')}]`
}

function valueText(name: string, value: MerchantBuckets): string {
  const known = valueTexts.get(value)
  if (known !== undefined) return known
  const text = JSON.stringify(writeBuckets(merchantKey(name, value.mid), value.buckets))
  valueTexts.set(value, text)
  return text
}

/** What windows per merchant have counted at one merchant, as a record under the card's account. */
export function encodeMerchantCounts({ mid, windows }: MerchantCounts): string {
  return JSON.stringify([1, mid, ...windowRows(windows)])
}

export function decodeMerchantCounts(mid: string, value: string): MerchantCounts {
  const row = parseStored(value)
  if (!Array.isArray(row) || row[0] !== 1) throw new RecordUnreadable('it holds no counts')
  if (row[1] !== mid) throw new RecordUnreadable('it is the record of another merchant')
  try {
    return { mid, windows: readWindowRows(row.slice(2)) }
  } catch {
    throw new RecordUnreadable('its counts hold something else')
  }
}

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

/** The row of a card names its merchants; what was counted there is in records of its own. */
export function readMerchants(json: unknown): MerchantCounts[] {
  if (!Array.isArray(json)) throw new RangeError('no merchants')
  return json.map((mid) => {
    if (typeof mid !== 'string') throw new RangeError('no merchant')
    return { mid, windows: {} }
  })
}

/** A row for each window that has buckets of its own, and one for each of its merchants. */
export function windowRows(states: WindowStates): unknown[] {
  const rows: unknown[] = []
  for (const name in states) {
    const { buckets, merchants } = states[name]!
    if (buckets.length > 0) rows.push(writeBuckets(name, buckets))
    for (const { mid, buckets } of merchants) {
      rows.push(writeBuckets(merchantKey(name, mid), buckets))
    }
  }
  return rows
}

/** A word after the key says that each bucket has its spread, too. */
const spreadMark = 'spread'

function writeBuckets(key: string, buckets: readonly Bucket[]): (string | number)[] {
  const row: (string | number)[] = [key]
  if (!buckets.some(({ spread }) => spread !== undefined)) {
    for (const { index, sumMinor, count } of buckets) row.push(index, sumMinor, count)
    return row
  }
  row.push(spreadMark)
  for (const { index, sumMinor, count, spread } of buckets) {
    row.push(index, sumMinor, count, spread?.squares ?? 0, spread?.maxMinor ?? 0)
  }
  return row
}

export function readWindowRows(json: (string | number)[][]): WindowStates {
  if (!Array.isArray(json)) throw new RangeError('no windows')
  const states: Record<string, { buckets: Bucket[]; merchants: MerchantBuckets[] }> = {}
  for (const [key, ...numbers] of json) {
    const { name, mid } = splitKey(key as string)
    states[name] ??= { buckets: [], merchants: [] }
    const state = states[name]
    const buckets =
      numbers[0] === spreadMark
        ? readSpreadBuckets(numbers.slice(1) as number[])
        : readBuckets(numbers as number[])
    if (mid === null) state.buckets = buckets
    else state.merchants.push({ mid, buckets })
  }
  return states
}

function readBuckets(numbers: readonly number[]): Bucket[] {
  if (numbers.length % 3 > 0 || !numbers.every(Number.isFinite)) throw new RangeError('no buckets')
  const buckets: Bucket[] = []
  for (let i = 0; i < numbers.length; i += 3) {
    buckets.push({ index: numbers[i]!, sumMinor: numbers[i + 1]!, count: numbers[i + 2]! })
  }
  return buckets
}

function readSpreadBuckets(numbers: readonly number[]): Bucket[] {
  if (numbers.length % 5 > 0 || !numbers.every(Number.isFinite)) throw new RangeError('no buckets')
  return Array.from({ length: numbers.length / 5 }, (_, i) => {
    const [index, sumMinor, count, squares, maxMinor] = numbers.slice(5 * i, 5 * i + 5) as Five
    return { index, sumMinor, count, spread: { squares, maxMinor } }
  })
}

type Five = [number, number, number, number, number]
