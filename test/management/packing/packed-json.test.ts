import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createBitReader, createBitWriter } from '../../../src/management/packing/bit-text.ts'
import { deflateAnswer, inflateAnswer } from '../../../src/management/packing/deflated-answer.ts'
import { packJson, unpackJson } from '../../../src/management/packing/packed-json.ts'
import { words } from '../../../src/management/packing/words.ts'

interface PackedAnswer {
  readonly known: string
  readonly packed: string
  readonly data: unknown
}

function readFixture(name: string): readonly PackedAnswer[] {
  return JSON.parse(readFileSync(new URL(`../../fixtures/${name}`, import.meta.url), 'utf8'))
}

const answers = readFixture('packed-answers-1.json')
const packedBefore = readFixture('packed-answers-2.json')

function pack(data: unknown, known: string): string {
  const bits = createBitWriter()
  packJson(bits, data, known)
  return bits.text()
}

function unpack(packed: string, known: string): unknown {
  return unpackJson(createBitReader(packed), known)
}

describe('packed JSON', () => {
  it('is what it was when it is unpacked, whatever it is', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.string(), (data, known) => {
        const text = JSON.stringify(data)
        expect(JSON.stringify(unpack(pack(data, known), known))).toBe(text)
      }),
    )
  })

  it('is what it was when it is made of words in any order, and of what is known', () => {
    const part = fc.oneof(fc.constantFrom(...words), fc.string(), fc.constant('card_01JCQ8A1B2C3'))
    fc.assert(
      fc.property(fc.array(part), fc.string(), (parts, before) => {
        const known = `${before}card_01JCQ8A1B2C3D4`
        expect(unpack(pack(parts.join(''), known), known)).toBe(parts.join(''))
      }),
    )
  })

  it('has characters of one byte only', () => {
    expect(pack(['Zażółć', '日本', '\u{1f600}'], '')).toMatch(/^[\0-\x7f]*$/)
  })

  it('does not become as long as a damaged record likes', () => {
    const long = deflateAnswer('0'.repeat(17 * 2 ** 20))
    expect(long.length).toBeLessThan(100_000)
    expect(() => inflateAnswer(long)).toThrow('cannot be unpacked')
  })

  it('is what it was when it is long', () => {
    const mids = Array.from({ length: 10_000 }, (_, i) => `MID-${i}`)
    const packed = pack({ mids }, '')
    expect(unpack(packed, '')).toEqual({ mids })
    expect(packed.length).toBeLessThan(JSON.stringify({ mids }).length / 3)
  })

  it('takes a sixth of answers of all kinds together', () => {
    const packed = answers.map(({ known, data }) => pack(data, known)).join('')
    const whole = answers.map(({ data }) => JSON.stringify(data)).join('')
    expect(packed.length).toBeLessThan(whole.length / 6)
  })

  it('is read as it was packed by earlier releases: words and their bits stay', () => {
    expect(packedBefore).toHaveLength(12)
    for (const { known, packed, data } of packedBefore) expect(unpack(packed, known)).toEqual(data)
  })

  it('says that it cannot be read, not what is in it, when its end is missing', () => {
    const packed = pack({ secret: 'abcdefghijklmnop' }, '')
    for (let length = 0; length < packed.length; length++) {
      expect(() => unpack(packed.slice(0, length), '')).toThrow(
        /^what was packed cannot be unpacked$/,
      )
    }
  })
})

describe('a deflated answer', () => {
  it('is read as it was packed by earlier releases: of every part of the example', () => {
    expect(answers).toHaveLength(11)
    for (const { known, packed, data } of answers) {
      expect(JSON.parse(inflateAnswer(Buffer.from(packed, 'base64url'), known))).toEqual(data)
    }
  })

  it('says that it cannot be read, not what is in it, when its reader knows something else', () => {
    expect(() => inflateAnswer(Buffer.from('not packed'))).toThrow('cannot be unpacked')
  })
})
