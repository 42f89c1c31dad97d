/** A character below 128 takes one byte in every store, and holds so many bits. */
const bitsPerCharacter = 7
/** Most rows are shorter. */
const usualBytes = 256

/** Bits as text. */
export interface BitWriter {
  /** The lowest `bits` of a number below 2^24, highest first. */
  add(value: number, bits: number): void
  /** All of them; nothing may be added any more. */
  text(): string
}

export interface BitReader {
  /** Beyond the end there is nothing but zeros: whoever reads knows where it ends. */
  next(bits: number): number
  readonly isOver: boolean
}

export function createBitWriter(): BitWriter {
  let characters = Buffer.allocUnsafe(usualBytes)
  let length = 0
  let held = 0
  let heldBits = 0
  function put(character: number): void {
    if (length === characters.length) {
      characters = Buffer.concat([characters, Buffer.allocUnsafe(length)])
    }
    characters[length++] = character
  }
  return {
    add(value, bits) {
      held = (held << bits) | value
      heldBits += bits
      while (heldBits >= bitsPerCharacter) {
        heldBits -= bitsPerCharacter
        put(held >>> heldBits)
        held &= (1 << heldBits) - 1
      }
    },
    text() {
      if (heldBits > 0) put(held << (bitsPerCharacter - heldBits))
      heldBits = 0
      return characters.toString('latin1', 0, length)
    },
  }
}

export function createBitReader(text: string): BitReader {
  let at = 0
  function nextBit(): number {
    const character = text.charCodeAt(Math.floor(at / bitsPerCharacter))
    const bit = (character >> (bitsPerCharacter - 1 - (at % bitsPerCharacter))) & 1
    at++
    return bit
  }
  return {
    next(bits) {
      let value = 0
      for (let i = 0; i < bits; i++) value = 2 * value + nextBit()
      return value
    },
    get isOver() {
      return at > bitsPerCharacter * text.length
    },
  }
}

const digitBits = 6

/** Any whole number: the smaller, the shorter. */
export function addNumber(bits: BitWriter, value: number): void {
  bits.add(Number(value < 0), 1)
  let left = Math.abs(value)
  do {
    const digit = left % 2 ** digitBits
    left = Math.floor(left / 2 ** digitBits)
    bits.add(2 * digit + Number(left > 0), digitBits + 1)
  } while (left > 0)
}

export function nextNumber(bits: BitReader): number {
  const sign = bits.next(1) === 1 ? -1 : 1
  let value = 0
  for (let unit = 1, more = 1; more === 1 && !bits.isOver; unit *= 2 ** digitBits) {
    const digit = bits.next(digitBits + 1)
    more = digit % 2
    value += unit * Math.floor(digit / 2)
  }
  return sign * value
}

export function addBytes(bits: BitWriter, bytes: Uint8Array): void {
  addNumber(bits, bytes.length)
  for (const byte of bytes) bits.add(byte, 8)
}

export function nextBytes(bits: BitReader): Buffer {
  const length = nextNumber(bits)
  const bytes: number[] = []
  while (bytes.length < length && !bits.isOver) bytes.push(bits.next(8))
  return Buffer.from(bytes)
}
