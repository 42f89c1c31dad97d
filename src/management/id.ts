import { createHash, randomFillSync } from 'node:crypto'
import type { BitReader, BitWriter } from './packing/bit-text.ts'

/** What ids made here begin with. */
export type IdPrefix = 'cus' | 'kyc' | 'card' | 'acct' | 'trf' | 'evt' | 'whk' | 'cli'

/** What clients may name their calls by. */
export const referencePattern = /^[!-%'-~]{1,30}$/

const digits = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const timeDigits = 10
const randomDigits = 16
/** Of many ids: asking for so few bytes at a time takes longer than all the rest of an id. */
const random = new Uint8Array(64 * randomDigits)
let randomUsed = random.length

/** A prefix and a ULID: ids made later sort later, and nobody guesses the next one. */
export function newId(prefix: IdPrefix, nowMs: number): string {
  if (randomUsed === random.length) {
    randomFillSync(random)
    randomUsed = 0
  }
  randomUsed += randomDigits
  return idOfBytes(prefix, nowMs, random.subarray(randomUsed - randomDigits, randomUsed))
}

/** The same id whenever it is made again from the same words. */
export function idMadeFrom(prefix: IdPrefix, atMs: number, words: readonly string[]): string {
  return idOfBytes(prefix, atMs, createHash('sha256').update(words.join('\n')).digest())
}

function idOfBytes(prefix: IdPrefix, atMs: number, bytes: Uint8Array): string {
  let time = ''
  for (let left = atMs, i = 0; i < timeDigits; i++) {
    time = digits[left % 32] + time
    left = Math.floor(left / 32)
  }
  let rest = ''
  for (const byte of bytes.subarray(0, randomDigits)) rest += digits[byte % 32]
  return `${prefix}_${time}${rest}`
}

/** When an id was made; NaN for what is none. */
export function timeOfId(id: string): number {
  const text = id.slice(id.indexOf('_') + 1).slice(0, timeDigits)
  if (text.length < timeDigits) return Number.NaN
  return [...text].reduce((sum, digit) => {
    const value = digits.indexOf(digit)
    return value < 0 ? Number.NaN : 32 * sum + value
  }, 0)
}

const ulidPattern = /^[0-9A-HJKMNP-TV-Z]{26}$/

export function isUlid(text: string): boolean {
  return ulidPattern.test(text)
}

/** The 26 digits of a ULID, five bits each. */
export function addDigits(bits: BitWriter, ulid: string): void {
  for (const digit of ulid) bits.add(digits.indexOf(digit), 5)
}

export function nextDigits(bits: BitReader): string {
  let ulid = ''
  for (let i = 0; i < timeDigits + randomDigits; i++) ulid += digits[bits.next(5)]
  return ulid
}
