import { Buffer } from 'node:buffer'
import { lastDayOf } from '../dated-group.ts'
import { type ChildKey, type IndexKey, type Key, type LogLine, StoreError } from '../port.ts'

/**
 * One tree holds everything. The first byte says what an entry is, so that a sweep walks only what
 * expires, and an aggregate's lasting children lie beside its root, on the pages a commit writes anyway:
 *
 *     a <aggregate> 0 <group> 0 <id>            a root (group and id empty) or a lasting child
 *     d <day> <aggregate> 0 <group> 0 <id>      a child of a group `…@<day>`
 *     i <index> 0 <sortKey>                     an index entry
 *     l <micros> <nonce>                        a log entry
 *
 * Keys are UTF-8 bytes and LMDB compares bytes; numbers have leading zeros.
 */

/** LMDB's own bound for a page of 4096 bytes. */
export const maxKeyBytes = 1978

/**
 * Writes a key where LMDB reads it. The library's own encoder for text keeps another order for control
 * characters, and one for buffers would need a buffer for every key.
 */
export const keyEncoder = {
  writeKey(key: string, target: Buffer, start: number): number {
    if (start + 3 * key.length > target.length && start + Buffer.byteLength(key) > target.length) {
      // lmdb-js answers a RangeError with a larger buffer, while `write` would cut the key off.
      throw new RangeError('the key does not fit')
    }
    return start + target.write(key, start)
  },
  readKey(source: Buffer, start: number, end: number): string {
    return source.toString('utf8', start, end)
  },
}

const dayDigits = 7
const lastDay = 10 ** dayDigits - 1
const microsDigits = 16

/** A zero character ends every part but the last, so a part that holds one would name another key. */
function checked(part: string): string {
  if (part.includes('\0')) {
    throw new StoreError('the name of an aggregate, group or index holds a zero character', 'no')
  }
  return part
}

export function childKey(aggregate: string, { group, id }: ChildKey): string {
  return `${spaceOf(group)}${checked(aggregate)}\0${checked(group)}\0${id}`
}

/** Events of the moment all lie in one group: its space is made once. */
let newest = { group: '', space: 'a' }

function spaceOf(group: string): string {
  if (!group.includes('@')) return 'a'
  if (group !== newest.group) {
    const day = lastDayOf(group)
    newest = { group, space: Number.isFinite(day) ? expiringSpace(day) : 'a' }
  }
  return newest.space
}

export function rootKey(aggregate: string): string {
  return `a${checked(aggregate)}\0\0`
}

export function indexKey(index: string, sortKey: string): string {
  return `i${checked(index)}\0${sortKey}`
}

export function sortKeyOf(key: string, index: string): string {
  return key.slice(2 + index.length)
}

export function logKey(micros: number, nonce: string): string {
  return `l${padded(micros)}${nonce}`
}

export function cursorOf(key: string): string {
  return key.slice(1)
}

/** 0 where the key is damaged: nobody could show such a time, nor restore a backup that has it. */
export function microsOfCursor(cursor: string): number {
  const micros = Number(cursor.slice(0, microsDigits))
  return Number.isSafeInteger(micros) ? micros : 0
}

export interface KeyRange {
  /** Included. */
  readonly start: string
  /** Not included. */
  readonly end: string
}

/** The smallest key above another one is that key and a zero byte: this makes `after` exclusive. */
export function indexRange(index: string, after: string): KeyRange {
  const start = indexKey(index, after === '' ? '' : `${after}\0`)
  return { start, end: `i${index}\u0001` }
}

/** Sort keys that begin so. No character of a text sorts above the last that there is. */
export function prefixRange(index: string, prefix: string): KeyRange {
  const start = indexKey(index, prefix)
  return { start, end: `${start}\u{10ffff}` }
}

export function logRange(after: string): KeyRange {
  return { start: after === '' ? 'l' : `l${after}\0`, end: 'm' }
}

export function logRangeUpTo(before: string): KeyRange {
  return { start: 'l', end: before === '' ? 'm' : `l${before}` }
}

export function logRangeBefore(micros: number): KeyRange {
  return { start: 'l', end: `l${padded(micros)}` }
}

export function expiredRange(today: number): KeyRange {
  return { start: 'd', end: expiringSpace(today) }
}

/** All that a copy takes: roots and lasting children, groups whose day has not passed, indexes, the log. */
export function scanRanges(today: number): KeyRange[] {
  return [
    { start: 'a', end: 'b' },
    { start: expiringSpace(today), end: 'e' },
    { start: 'i', end: 'j' },
    { start: 'l', end: 'm' },
  ]
}

export function parseChildKey(key: string): Key {
  const start = key.startsWith('d') ? 1 + dayDigits : 1
  const groupAt = key.indexOf('\0', start) + 1
  const idAt = key.indexOf('\0', groupAt) + 1
  return {
    aggregate: key.slice(start, groupAt - 1),
    group: key.slice(groupAt, idAt - 1),
    id: key.slice(idAt),
  }
}

export function parseIndexKey(key: string): IndexKey {
  const end = key.indexOf('\0')
  return { index: key.slice(1, end), sortKey: key.slice(end + 1) }
}

function expiringSpace(day: number): string {
  return `d${String(Math.min(Math.max(0, Math.floor(day)), lastDay)).padStart(dayDigits, '0')}`
}

function padded(micros: number): string {
  const bounded = Math.min(Math.max(0, Math.floor(micros)), Number.MAX_SAFE_INTEGER)
  return String(bounded).padStart(microsDigits, '0')
}

/**
 * LMDB compares versions as numbers, ours are text. The text lies in the root's value and its hash is
 * what LMDB compares: 53 bits, all that a double holds exactly. Two tokens of one aggregate with the
 * same hash would let a stale command through; at one conflict a second that is once in 285 million years.
 * (cyrb53: two rounds of multiply and xor that a short text passes in well under a microsecond.)
 */
export function versionHash(token: string): number {
  if (token.startsWith('#')) return Number(token.slice(1))
  let high = 0xdeadbeef
  let low = 0x41c6ce57
  for (let i = 0; i < token.length; i++) {
    const code = token.charCodeAt(i)
    high = Math.imul(high ^ code, 2654435761)
    low = Math.imul(low ^ code, 1597334677)
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909)
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909)
  return 4294967296 * (2097151 & low) + (high >>> 0)
}

/** Stands for the version of a root whose own token cannot be read; no writer's token begins so. */
export function hashToken(hash: number): string {
  return `#${hash}`
}

export function logLineOf({ key, value }: { key: string; value: string }): LogLine {
  const cursor = cursorOf(key)
  return { cursor, writtenMs: microsOfCursor(cursor) / 1_000, entry: value }
}
