import { crc32 } from 'node:zlib'
import type { SaidDelivery } from '../../domain/decide/delivery.ts'

/** One thing that the watchdog said, or is about to say, and the engine has not booked yet. */
export interface JournalLine extends SaidDelivery {
  /** An engine has had it: should that one be gone, a command with it may still be executed. */
  readonly handed: boolean
}

/** A line and its bytes in the file. */
export interface LineRecord {
  readonly line: JournalLine
  readonly record: Buffer
}

export interface LostPart {
  readonly offsetBytes: number
  readonly lengthBytes: number
}

export const fileHeader = Buffer.from('ARBITER JOURNAL 1\n')
// Not UTF-8, so no payload can contain it: after damage it is where the next record begins.
const recordMark = Buffer.from([0xa7, 0x4a, 0xf1, 0x0d])
const recordHeaderBytes = 12
export const maxPayloadBytes = 1 << 20
const lineKind = 'L'
const dropKind = 'D'

export function encodeLine(line: JournalLine): Buffer {
  return encode(lineKind + JSON.stringify(line))
}

export function encodeDrop(slot: string): Buffer {
  return encode(dropKind + slot)
}

function encode(payload: string): Buffer {
  const payloadBytes = Buffer.byteLength(payload)
  const record = Buffer.allocUnsafe(recordHeaderBytes + payloadBytes)
  recordMark.copy(record)
  record.writeUInt32LE(payloadBytes, 4)
  record.write(payload, recordHeaderBytes)
  record.writeUInt32LE(crc32(record.subarray(recordHeaderBytes)), 8)
  return record
}

export interface Scanned {
  /** By slot, oldest first. */
  readonly kept: Map<string, LineRecord>
  readonly endBytes: number
  readonly damage: readonly LostPart[]
}

/**
 * Bytes that are no record, with records after them, are damage. With none after them they are the
 * torn end of a write that was never acknowledged.
 */
export function scan(bytes: Buffer): Scanned {
  const kept = new Map<string, LineRecord>()
  const damage: LostPart[] = []
  let at = fileHeader.length
  let endBytes = Math.min(at, bytes.length)
  while (at < bytes.length) {
    const payload = payloadAt(bytes, at)
    if (payload !== null && apply(kept, payload)) {
      at += recordHeaderBytes + payload.length
      endBytes = at
      continue
    }
    const nextAt = nextRecordAt(bytes, at + 1)
    if (nextAt < 0) break
    damage.push({ offsetBytes: at, lengthBytes: nextAt - at })
    at = nextAt
  }
  return { kept, endBytes, damage }
}

function nextRecordAt(bytes: Buffer, fromBytes: number): number {
  let at = bytes.indexOf(recordMark, fromBytes)
  while (at >= 0 && payloadAt(bytes, at) === null) at = bytes.indexOf(recordMark, at + 1)
  return at
}

function payloadAt(bytes: Buffer, at: number): Buffer | null {
  const from = at + recordHeaderBytes
  if (from > bytes.length || bytes.compare(recordMark, 0, 4, at, at + 4) !== 0) return null
  const payloadBytes = bytes.readUInt32LE(at + 4)
  if (payloadBytes > maxPayloadBytes || from + payloadBytes > bytes.length) return null
  const payload = bytes.subarray(from, from + payloadBytes)
  return crc32(payload) === bytes.readUInt32LE(at + 8) ? payload : null
}

function apply(kept: Map<string, LineRecord>, payload: Buffer): boolean {
  const text = payload.toString('utf8')
  const content = text.slice(1)
  if (text.startsWith(dropKind)) {
    kept.delete(content)
    return true
  }
  const line = text.startsWith(lineKind) ? parseLine(content) : null
  if (line === null) return false
  kept.delete(line.slot)
  kept.set(line.slot, { line, record: encode(text) })
  return true
}

/** The checksum says that we wrote it; this says that it was this version of us. */
function parseLine(json: string): JournalLine | null {
  let line: Partial<JournalLine>
  try {
    line = JSON.parse(json)
  } catch {
    return null
  }
  const whole =
    typeof line.said?.code === 'string' &&
    typeof line.slot === 'string' &&
    typeof line.event?.eventId === 'string' &&
    typeof line.receivedAtMs === 'number' &&
    typeof line.handed === 'boolean'
  return whole ? (line as JournalLine) : null
}
