import type { Bucket } from '../../domain/record/bucket.ts'
import type { MerchantCounts } from '../../domain/record/merchant-counts.ts'
import { isSketch, type ValueSketch } from '../../domain/record/value-sketch.ts'
import {
  type MerchantBuckets,
  merchantKey,
  splitKey,
  type WindowStates,
} from '../../domain/record/window-state.ts'
import { parseStored, RecordUnreadable } from './row-codec.ts'

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

/** The row of a card names its merchants; what was counted there is in records of its own. */
export function readMerchants(json: unknown): MerchantCounts[] {
  if (!Array.isArray(json)) throw new RangeError('no merchants')
  return json.map((mid) => {
    if (typeof mid !== 'string') throw new RangeError('no merchant')
    return { mid, windows: {} }
  })
}

/** A row for each window that has buckets of its own, one for each of its merchants, and one for its sketch. */
export function windowRows(states: WindowStates): unknown[] {
  const rows: unknown[] = []
  for (const name in states) {
    const { buckets, merchants, sketch } = states[name]!
    if (buckets.length > 0) rows.push(writeBuckets(name, buckets))
    for (const { mid, buckets } of merchants) {
      rows.push(writeBuckets(merchantKey(name, mid), buckets))
    }
    if (sketch !== undefined) rows.push(writeSketch(name, sketch))
  }
  return rows
}

/** A word after the key says that each bucket has its spread, too. */
const spreadMark = 'spread'

export function writeBuckets(key: string, buckets: readonly Bucket[]): (string | number)[] {
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

/** A word after the key says that the row is the sketch of the window. */
const sketchMark = 'sketch'

export function writeSketch(name: string, { newest, cells }: ValueSketch): (string | number)[] {
  return [name, sketchMark, newest, shortened(cells)]
}

const longRun = '.'.repeat(16)
const used = /[^.]/g

/**
 * Most cells are unused while a window has few more values than it tells apart, so long runs are written as
 * their length. To replace them by one regular expression took up to ten times as long.
 */
function shortened(cells: string): string {
  let text = ''
  let from = 0
  for (let at = cells.indexOf(longRun); at >= 0; at = cells.indexOf(longRun, from)) {
    used.lastIndex = at + longRun.length
    const end = used.test(cells) ? used.lastIndex - 1 : cells.length
    text += `${cells.slice(from, at)}(${end - at})`
    from = end
  }
  return text + cells.slice(from)
}

function readSketch([newest, text]: readonly unknown[]): ValueSketch {
  const cells = String(text).replace(/\((\d{2,4})\)/g, (_, length) => '.'.repeat(Number(length)))
  const sketch = { newest: newest as number, cells }
  if (!isSketch(sketch)) throw new RangeError('no sketch')
  return sketch
}

export function readWindowRows(json: (string | number)[][]): WindowStates {
  if (!Array.isArray(json)) throw new RangeError('no windows')
  const states: Record<string, OpenState> = {}
  for (const [key, ...numbers] of json) {
    const { name, mid } = splitKey(key as string)
    states[name] ??= { buckets: [], merchants: [] }
    const state = states[name]
    if (numbers[0] === sketchMark) {
      state.sketch = readSketch(numbers.slice(1))
      continue
    }
    const buckets =
      numbers[0] === spreadMark
        ? readSpreadBuckets(numbers.slice(1) as number[])
        : readBuckets(numbers as number[])
    if (mid === null) state.buckets = buckets
    else state.merchants.push({ mid, buckets })
  }
  return states
}

interface OpenState {
  buckets: Bucket[]
  readonly merchants: MerchantBuckets[]
  sketch?: ValueSketch
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
