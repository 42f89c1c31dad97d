import { crc32 } from 'node:zlib'
import { parseStored, RecordUnreadable } from './row-codec.ts'

const before = ',"sum":"'
const after = '"}'
const sumDigits = 8
const length = before.length + sumDigits + after.length

/**
 * An object with a sum of all of it behind it. For what says whose something is, or how much of it: with one bit
 * flipped in a name or an amount it would be JSON as good as before.
 */
export function summedJson(given: object): string {
  const text = JSON.stringify(given)
  return `${text.slice(0, -1)}${before}${sumOf(text)}${after}`
}

/** Also what an earlier release wrote, without one. Throws RecordUnreadable. */
export function parseSummed(text: string): unknown {
  const at = text.length - length
  if (text.startsWith(before, at) && text.endsWith(after)) {
    const sum = text.slice(at + before.length, -after.length)
    if (sum !== sumOf(`${text.slice(0, at)}}`)) {
      throw new RecordUnreadable('it is not what was written: its sum is another')
    }
  }
  return parseStored(text)
}

function sumOf(text: string): string {
  return crc32(text).toString(16).padStart(sumDigits, '0')
}
