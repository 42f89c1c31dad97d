import { randomFillSync } from 'node:crypto'

/** What ids made here begin with. */
export type IdPrefix = 'cus' | 'kyc' | 'card' | 'acct' | 'trf' | 'evt' | 'whk' | 'cli'

const digits = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const timeDigits = 10
const randomDigits = 16
const random = new Uint8Array(randomDigits)

/** A prefix and a ULID: ids made later sort later, and nobody guesses the next one. */
export function newId(prefix: IdPrefix, nowMs: number): string {
  let time = ''
  for (let left = nowMs, i = 0; i < timeDigits; i++) {
    time = digits[left % 32] + time
    left = Math.floor(left / 32)
  }
  randomFillSync(random)
  let rest = ''
  for (const byte of random) rest += digits[byte % 32]
  return `${prefix}_${time}${rest}`
}
