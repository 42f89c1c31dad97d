import assert from 'node:assert/strict'
import { RecordUnreadable } from '../engine/format/row-codec.ts'
import {
  addNumber,
  type BitReader,
  type BitWriter,
  createBitReader,
  createBitWriter,
  nextNumber,
} from './packing/bit-text.ts'
import { decodeOlderReference } from './packing/older-reference.ts'
import { packJson, unpackJson } from './packing/packed-json.ts'

/** A call as its client names it: for a day the same Reference has one effect. */
export interface ReferencedCall {
  readonly clientId: string
  readonly reference: string
  /** Of its payload: a retry has the same. */
  readonly hash: string
  readonly method: string
  /** Without the query. */
  readonly path: string
  /** The aggregate whose commit says whether it was done; '' when this record itself does. */
  readonly home: string
}

/** How an attempt ended. Only `done` is for good. */
export interface ReferenceEnd {
  readonly done: boolean
  readonly endedAtMs: number
  readonly httpStatus: number
  readonly code: string
  readonly message: string
}

export interface ReferenceRecord extends Omit<ReferencedCall, 'clientId' | 'reference'> {
  readonly startedAtMs: number
  /** Of the newest attempt; the day counts from here. */
  readonly seenAtMs: number
  readonly end: ReferenceEnd | null
  /** How many attempts before ended refused: a creation makes its id from it. */
  readonly attempt: number
}

export const success = { done: true, httpStatus: 200, code: '000', message: 'Success' } as const

/** What a record begins with that is packed; before, they began with the digit of a method. */
const packed = '~'
/** What nearly every path begins with is not kept. */
const commonPath = '/api/v1/'
/** Marks a path that is kept whole. */
const wholePath = '\t'
/** By their number; `CLI` is a command. */
const callMethods = ['GET', 'POST', 'PATCH', 'DELETE', 'CLI']
const methodBits = 3
/** Half of those of a time. */
const timeBits = 24
/** Of a hash as it is kept: bytes, of eight bits each. */
const hashBytes = 9
/** How it ended: two bits. */
const ends = ['open', 'done', 'refused'] as const

/** A hundred thousand are kept of a day. Times count from the start, and a success is only its time. */
export function encodeReference(record: ReferenceRecord): string {
  const { hash, method, path, home, startedAtMs, seenAtMs, end, attempt } = record
  assert(callMethods.includes(method), `nobody calls by ${method}`)
  const bits = createBitWriter()
  bits.add(callMethods.indexOf(method), methodBits)
  addTime(bits, startedAtMs)
  const bytes = Buffer.from(hash, 'base64url')
  const isUsual = bytes.length === hashBytes && bytes.toString('base64url') === hash
  bits.add(Number(isUsual), 1)
  if (isUsual) for (const byte of bytes) bits.add(byte, 8)
  const isAgain = seenAtMs !== startedAtMs || attempt !== 0
  bits.add(Number(isAgain), 1)
  if (isAgain) addNumber(bits, seenAtMs - startedAtMs)
  if (isAgain) addNumber(bits, attempt)
  bits.add(end === null ? 0 : end.done ? 1 : 2, 2)
  if (end !== null) addNumber(bits, end.endedAtMs - startedAtMs)
  const isCommon = path.startsWith(commonPath)
  const cells = [isCommon ? path.slice(commonPath.length) : `${wholePath}${path}`, home]
  if (!isUsual) cells.push(hash)
  if (end?.done === false) cells.push(String(end.httpStatus), end.code, end.message)
  packJson(bits, cells, '')
  return `${packed}${bits.text()}`
}

export function decodeReference(text: string): ReferenceRecord {
  if (!text.startsWith(packed)) return decodeOlderReference(text)
  const bits = createBitReader(text.slice(packed.length))
  const method = callMethods[bits.next(methodBits)]
  const startedAtMs = nextTime(bits)
  const usualHash = bits.next(1) === 1 ? nextHash(bits) : null
  const isAgain = bits.next(1) === 1
  const seenAtMs = startedAtMs + (isAgain ? nextNumber(bits) : 0)
  const attempt = isAgain ? nextNumber(bits) : 0
  const ended = ends[bits.next(2)]
  const endedAtMs = startedAtMs + (ended === 'open' ? 0 : nextNumber(bits))
  const cells = unpackJson(bits, '')
  if (method === undefined || ended === undefined || !Array.isArray(cells)) {
    throw new RecordUnreadable('a Reference was written by another release')
  }
  const [shortPath = '', home = '', ...others] = cells as string[]
  const hash = usualHash ?? others.shift() ?? ''
  const path = shortPath.startsWith(wholePath) ? shortPath.slice(1) : `${commonPath}${shortPath}`
  const [status = '', code = '', message = ''] = others
  const refused = { done: false, endedAtMs, httpStatus: Number(status), code, message }
  const end = ended === 'open' ? null : ended === 'done' ? { ...success, endedAtMs } : refused
  return { hash, method, path, home, startedAtMs, seenAtMs, end, attempt }
}

function addTime(bits: BitWriter, atMs: number): void {
  bits.add(Math.floor(atMs / 2 ** timeBits), timeBits)
  bits.add(atMs % 2 ** timeBits, timeBits)
}

function nextTime(bits: BitReader): number {
  return bits.next(timeBits) * 2 ** timeBits + bits.next(timeBits)
}

function nextHash(bits: BitReader): string {
  return Buffer.from(Array.from({ length: hashBytes }, () => bits.next(8))).toString('base64url')
}
