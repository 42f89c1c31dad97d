import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import { dayMs } from '../clock.ts'

/** Which list a cursor goes on with: it counts for this one only. */
interface ListName {
  readonly list: string
  readonly organizationId: string
  /** What was asked for; the size of a page is not part of it. */
  readonly filters: Readonly<Record<string, unknown>>
}

/** Cursors have no record: any instance with the same key reads them. The first key signs, all read. */
export interface Cursors {
  seal(name: ListName, place: string, nowMs: number): string
  /** The place; null when it is no cursor of this list with these filters, or older than a day. */
  open(name: ListName, cursor: string, nowMs: number): string | null
}

const macBytes = 16
/** Seconds since 1970, in as many bytes as last for a century. */
const timeBytes = 5
const maxCursorCharacters = 1_024
/** A clock of another instance may be a little ahead. */
const toleranceMs = 60_000

export function createCursors(keys: readonly [Buffer, ...Buffer[]]): Cursors {
  const signing = keys.map((key) =>
    Buffer.from(hkdfSync('sha256', key, Buffer.alloc(0), 'arbiter/cursor/v1', 32)),
  )

  return {
    seal(name, place, nowMs) {
      const content = Buffer.alloc(timeBytes + Buffer.byteLength(place))
      content.writeUIntBE(Math.floor(nowMs / 1000), 0, timeBytes)
      content.write(place, timeBytes)
      return Buffer.concat([macOf(signing[0]!, name, content), content]).toString('base64url')
    },
    open(name, cursor, nowMs) {
      if (cursor.length > maxCursorCharacters) return null
      const bytes = Buffer.from(cursor, 'base64url')
      if (bytes.length < macBytes + timeBytes) return null
      const content = bytes.subarray(macBytes)
      const mac = bytes.subarray(0, macBytes)
      const signed = signing.filter((key) => timingSafeEqual(mac, macOf(key, name, content)))
      if (signed.length === 0) return null
      const ageMs = nowMs - 1000 * content.readUIntBE(0, timeBytes)
      if (ageMs > dayMs || ageMs < -toleranceMs) return null
      return content.toString('utf8', timeBytes)
    },
  }
}

function macOf(key: Buffer, { list, organizationId, filters }: ListName, content: Buffer): Buffer {
  const given = Object.entries(filters).filter(([, value]) => value !== undefined)
  const sorted = given.sort(([a], [b]) => (a < b ? -1 : 1))
  const bound = JSON.stringify([list, organizationId, sorted])
  return createHmac('sha256', key)
    .update(bound)
    .update('\n')
    .update(content)
    .digest()
    .subarray(0, macBytes)
}
