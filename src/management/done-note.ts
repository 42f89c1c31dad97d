import { parseStored, RecordUnreadable } from '../engine/format/row-codec.ts'
import { addDigits, isUlid, nextDigits, timeOfId } from './id.ts'
import { addNumber, createBitReader, createBitWriter, nextNumber } from './packing/bit-text.ts'
import { inflateAnswer } from './packing/deflated-answer.ts'
import { readShortNumber } from './packing/older-reference.ts'
import { packJson, unpackJson } from './packing/packed-json.ts'

/** What stays at the home of an effect, for a day, of the request that had it. */
export interface DoneNote {
  readonly id: string
  readonly seenAtMs: number
  readonly doneAtMs: number
  /** That of the answer. */
  readonly data: unknown
}

/** What a note begins with that is packed; before, they began with their id. */
const packed = '~'
const usualId = 'trf_'

/** Its times count from the one in its id, and what its reader knows is not kept twice. */
export function encodeNote({ id, seenAtMs, doneAtMs, data }: DoneNote, path: string): string {
  const bits = createBitWriter()
  const isUsual = id.startsWith(usualId) && isUlid(id.slice(usualId.length))
  bits.add(Number(isUsual), 1)
  if (isUsual) addDigits(bits, id.slice(usualId.length))
  else packJson(bits, id, '')
  addNumber(bits, seenAtMs - idTimeOf(id))
  addNumber(bits, doneAtMs - seenAtMs)
  packJson(bits, data, knownOf(id, path, doneAtMs))
  return `${packed}${bits.text()}`
}

export function decodeNote(text: string, path: string): DoneNote {
  if (!text.startsWith(packed)) return decodeOlder(text, path)
  const bits = createBitReader(text.slice(packed.length))
  const id = bits.next(1) === 1 ? `${usualId}${nextDigits(bits)}` : String(unpackJson(bits, ''))
  const seenAtMs = idTimeOf(id) + nextNumber(bits)
  const doneAtMs = seenAtMs + nextNumber(bits)
  if (bits.isOver || !isTime(doneAtMs))
    throw new RecordUnreadable('a done request was written by another release')
  return noteOf(id, seenAtMs, doneAtMs, () => unpackJson(bits, knownOf(id, path, doneAtMs)))
}

function decodeOlder(text: string, path: string): DoneNote {
  const [id = '', seen = '', after = '', answer = ''] = text.split(' ')
  const seenAtMs = idTimeOf(id) + readShortNumber(seen)
  const doneAtMs = seenAtMs + readShortNumber(after)
  if (!isTime(doneAtMs)) {
    throw new RecordUnreadable('a done request was written by another release')
  }
  const bytes = Buffer.from(answer, 'base64url')
  const read = () => parseStored(inflateAnswer(bytes, knownOf(id, path, doneAtMs)))
  return noteOf(id, seenAtMs, doneAtMs, read)
}

/** The data only when it is asked for: one that counts no more may be of a call with another path. */
function noteOf(id: string, seenAtMs: number, doneAtMs: number, read: () => unknown): DoneNote {
  let data: unknown
  let isRead = false
  return {
    id,
    seenAtMs,
    doneAtMs,
    get data() {
      if (!isRead) data = read()
      isRead = true
      return data
    },
  }
}

/** A damaged one may have a time that no calendar has. */
function isTime(ms: number): boolean {
  return !Number.isNaN(new Date(ms).valueOf())
}

function idTimeOf(id: string): number {
  return timeOfId(id) || 0
}

function knownOf(id: string, path: string, doneAtMs: number): string {
  return `"${path}${new Date(doneAtMs).toISOString()}"}${id}`
}
