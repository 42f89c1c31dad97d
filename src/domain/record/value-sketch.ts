/**
 * Roughly how many values there are beyond those that a window tells apart: each stands in a cell, by a hash, that
 * knows the newest bucket in which a value of it was counted. How many there are follows from the cells in use.
 */
export interface ValueSketch {
  /** The newest bucket of all cells. */
  readonly newest: number
  /** A character for each cell: its bucket, by the remainder, or that it has none. */
  readonly cells: string
}

/** More than this a window does not count: then too few cells are left to tell how many there are. */
export const maxDistinct = 2000

const cellCount = 1024
const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-'
const unused = '.'
const unusedCode = unused.charCodeAt(0)

/** How many buckets back a cell can tell: more than any window has. */
const reach = letters.length

const noCells = unused.repeat(cellCount)

const isCells = new RegExp(`^[A-Za-z0-9.-]{${cellCount}}$`)

/** Stored ones come from an edge. */
export function isSketch({ newest, cells }: ValueSketch): boolean {
  return Number.isSafeInteger(newest) && typeof cells === 'string' && isCells.test(cells)
}

/** The sketch with a value that was counted last in this bucket. */
export function withValue(
  before: ValueSketch | undefined,
  value: string,
  bucket: number,
): ValueSketch {
  // Buckets so far ahead were counted when the window had another length.
  if (before === undefined || before.newest - bucket >= reach) {
    return { newest: bucket, cells: replaced(noCells, cellOf(value), letterOf(bucket)) }
  }
  const { newest, cells } = bucket > before.newest ? movedTo(before, bucket) : before
  const at = cellOf(value)
  const known = bucketIn(cells.charCodeAt(at), newest)
  return { newest, cells: known >= bucket ? cells : replaced(cells, at, letterOf(bucket)) }
}

/** The sketch without a value, and without those that share its cell. */
export function withoutValue(sketch: ValueSketch, value: string): ValueSketch {
  const { newest, cells } = sketch
  const at = cellOf(value)
  return cells.charCodeAt(at) === unusedCode
    ? sketch
    : { newest, cells: replaced(cells, at, unused) }
}

/**
 * How many values have a bucket from `oldest` to `newest`, beside those that are told apart. Linear counting: of
 * cells that values fall into at random, the share that stays unused tells how many there are. A value that was told
 * apart again has cleared its cell, so those cells are left out: all that were told apart since a value came in.
 */
export function estimateValues(
  sketch: ValueSketch,
  oldest: number,
  newest: number,
  toldApart: number,
): number {
  const used = usedCells(sketch, oldest, newest)
  const cleared = used <= toldApart ? used / 2 : toldApart - toldApart ** 2 / (2 * used)
  const cells = cellCount - cleared
  return Math.round(cellCount * Math.log(cells / Math.max(1, cells - used)))
}

function usedCells({ newest: last, cells }: ValueSketch, oldest: number, newest: number): number {
  const isCounted = codesOf(Math.max(oldest, last - reach + 1), Math.min(newest, last))
  encoder.encodeInto(cells, codesRead)
  let used = 0
  for (let i = 0; i < cellCount; i++) used += isCounted[codesRead[i]!]!
  return used
}

/** Cells that were put together of texts are read in a third of the time once they are copied here. */
const encoder = new TextEncoder()
const codesRead = new Uint8Array(cellCount)

const letterCodes = Array.from(letters, (letter) => letter.charCodeAt(0))

/** By character code, 1 for what stands for these buckets; there are at most as many as letters. */
function codesOf(from: number, to: number): Uint8Array {
  const codes = new Uint8Array(128)
  let place = from % reach
  for (let bucket = from; bucket <= to; bucket++) {
    codes[letterCodes[place]!] = 1
    place = place + 1 === reach ? 0 : place + 1
  }
  return codes
}

const letterOf = (bucket: number): string => letters[bucket % reach]!

/** Cells that could be taken for newer ones are unused from now on. */
function movedTo({ newest: before, cells }: ValueSketch, newest: number): ValueSketch {
  if (newest - before >= reach) return { newest, cells: noCells }
  const isOld = codesOf(Math.max(0, before - reach + 1), newest - reach)
  encoder.encodeInto(cells, codesRead)
  let next = ''
  let from = 0
  for (let i = 0; i < cellCount; i++) {
    if (isOld[codesRead[i]!] === 0) continue
    next += cells.slice(from, i) + unused
    from = i + 1
  }
  return { newest, cells: next + cells.slice(from) }
}

/** The bucket that a cell says; minus infinity for one that has none. */
function bucketIn(code: number, newest: number): number {
  if (code === unusedCode) return Number.NEGATIVE_INFINITY
  return newest - ((newest - letterCodes.indexOf(code)) % reach)
}

function replaced(cells: string, at: number, letter: string): string {
  return cells.slice(0, at) + letter + cells.slice(at + 1)
}

/** Cells are stored, so a value must stand in the same one for good. */
function cellOf(value: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < value.length; i++) hash = Math.imul(hash ^ value.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) % cellCount
}
