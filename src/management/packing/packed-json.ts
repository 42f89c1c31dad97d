import { parseStored, RecordUnreadable } from '../../engine/format/row-codec.ts'
import { addBytes, type BitReader, type BitWriter, nextBytes } from './bit-text.ts'
import { deflateAnswer, inflateAnswer } from './deflated-answer.ts'
import { createPrefixCode, type PrefixCode } from './prefix-code.ts'
import { words } from './words.ts'

/** What packed JSON is a row of: characters of their own, and these. */
const end = 128
/** Any character: its code follows. */
const character = 129
/** Any word: its place follows. */
const anyWord = 130
/** A part of what the reader knows: its place and its length follow. */
const known = 131
/** The word that comes so many after the last one, from here on. */
const ahead = 132
const maxAhead = 24

const characterBits = 16
const wordBits = 8
const placeBits = 9
const lengthBits = 6
/** A shorter part of what is known takes more than its characters do. */
const minKnown = 5
const maxKnown = 2 ** lengthBits - 1
/** The same of words that are not among the next, and of those that are not the very next. */
const farWord = 4
const nearWord = 2
/** A longer text is mostly lists, which repeat themselves. */
const longText = 4_096

/** After what the next one comes. */
type Before = 'word' | 'digit' | 'capital' | 'letter' | 'mark'

/** How many of a hundred are of which kind, about. No others are expected, and they take the most bits. */
const shares: Readonly<Record<Before, Readonly<Record<Before | 'known', number>>>> = {
  word: { word: 62, digit: 20, capital: 6, letter: 2, mark: 3, known: 5 },
  digit: { word: 20, digit: 55, capital: 15, letter: 1, mark: 8, known: 1 },
  capital: { word: 9, digit: 26, capital: 56, letter: 6, mark: 2, known: 1 },
  letter: { word: 16, digit: 2, capital: 4, letter: 68, mark: 9, known: 1 },
  mark: { word: 10, digit: 45, capital: 28, letter: 14, mark: 2, known: 1 },
}

const membersOf: Readonly<Record<Exclude<Before, 'word'>, string>> = {
  digit: '0123456789',
  capital: 'ABCDEFGHIJKLMNOPQRSTUVWXYZ',
  letter: 'abcdefghijklmnopqrstuvwxyz',
  mark: ' .,:-/"',
}

const befores = Object.keys(shares) as Before[]
const codes = Object.fromEntries(
  befores.map((before) => [before, createPrefixCode(weightsAfter(before))]),
) as Record<Before, PrefixCode>

function weightsAfter(before: Before): readonly number[] {
  const share = shares[before]
  const weights = new Array<number>(ahead + maxAhead).fill(1)
  for (const [kind, members] of Object.entries(membersOf)) {
    const each = (1_000 * share[kind as Before]) / members.length
    for (const one of members) weights[one.charCodeAt(0)] = each
  }
  weights[end] = 10 * share.word
  weights[anyWord] = 20 * share.word
  weights[known] = 1_000 * share.known
  for (let i = 0; i < maxAhead; i++) weights[ahead + i] = (i === 0 ? 600 : 150 / i) * share.word
  return weights
}

function kindOf(symbol: number): Before {
  const one = String.fromCharCode(symbol)
  if (symbol >= end) return 'word'
  if (membersOf.digit.includes(one) || one === '.') return 'digit'
  if (membersOf.capital.includes(one)) return 'capital'
  return membersOf.letter.includes(one) ? 'letter' : 'mark'
}

const kinds = Array.from({ length: ahead + maxAhead }, (_, symbol) => kindOf(symbol))

/** Digits among capitals are those of an id: more capitals follow. */
function kindAfter(before: Before, symbol: number): Before {
  const kind = kinds[symbol]!
  return kind === 'digit' && before === 'capital' ? before : kind
}

/** By the code of their first character, so that few are compared. */
const wordsBy: number[][] = Array.from({ length: end }, () => [])
for (const [i, word] of words.entries()) wordsBy[word.charCodeAt(0)]!.push(i)
const none: readonly number[] = []

/** `what` is what the reader knows too and the data may repeat, such as an id. */
export function packJson(bits: BitWriter, data: unknown, what: string): void {
  const text = JSON.stringify(data)
  const isLong = text.length > longText
  bits.add(Number(isLong), 1)
  if (isLong) addBytes(bits, deflateAnswer(text))
  else packText(bits, text, what)
}

export function unpackJson(bits: BitReader, what: string): unknown {
  const isLong = bits.next(1) === 1
  return parseStored(isLong ? inflateAnswer(nextBytes(bits)) : unpackText(bits, what))
}

function packText(bits: BitWriter, text: string, what: string): void {
  const repeated = what.slice(0, 2 ** placeBits)
  let before: Before = 'word'
  let last = -1
  const write = (symbol: number) => {
    codes[before].write(bits, symbol)
    before = kindAfter(before, symbol)
  }
  for (let at = 0; at < text.length; ) {
    const word = wordAt(text, at, last)
    // What is known is a value, and those come behind words: looking everywhere finds no more.
    const part = word < 0 && before === 'word' ? partAt(text, at, repeated) : null
    if (word >= 0) {
      const steps = word - last - 1
      const isNear = steps >= 0 && steps < maxAhead
      write(isNear ? ahead + steps : anyWord)
      if (!isNear) bits.add(word, wordBits)
      last = word
      at += words[word]!.length
    } else if (part !== null) {
      write(known)
      bits.add(part.place, placeBits)
      bits.add(part.length, lengthBits)
      at += part.length
    } else {
      const one = text.charCodeAt(at++)
      write(one < end ? one : character)
      if (one >= end) bits.add(one, characterBits)
    }
  }
  write(end)
}

/** The next one, or the longest that stands there; a short one only if it is very near. */
function wordAt(text: string, at: number, last: number): number {
  const next = words[last + 1]
  if (next !== undefined && text.startsWith(next, at)) return last + 1
  let best = -1
  let bestLength = 0
  for (const word of wordsBy[text.charCodeAt(at)] ?? none) {
    const { length } = words[word]!
    const steps = word - last - 1
    if (length < bestLength) continue
    const least = steps < 0 || steps >= maxAhead ? farWord : steps > 2 ? nearWord : 1
    const isBetter = length > bestLength || best <= last
    if (isBetter && length >= least && text.startsWith(words[word]!, at)) {
      best = word
      bestLength = length
    }
  }
  return best
}

/** What stands there and is known. */
function partAt(text: string, at: number, repeated: string) {
  const place = repeated.indexOf(text.slice(at, at + minKnown))
  if (place < 0 || at + minKnown > text.length) return null
  const most = Math.min(maxKnown, text.length - at, repeated.length - place)
  let length = minKnown
  while (length < most && repeated[place + length] === text[at + length]) length++
  return { place, length }
}

function unpackText(bits: BitReader, what: string): string {
  let text = ''
  let before: Before = 'word'
  let last = -1
  for (;;) {
    const symbol = codes[before].read(bits)
    before = kindAfter(before, symbol)
    if (bits.isOver) throw new RecordUnreadable('what was packed cannot be unpacked')
    if (symbol === end) return text
    if (symbol < end) text += String.fromCharCode(symbol)
    else if (symbol === character) text += String.fromCharCode(bits.next(characterBits))
    else if (symbol === known) {
      const place = bits.next(placeBits)
      text += what.slice(place, place + bits.next(lengthBits))
    } else {
      last = symbol === anyWord ? bits.next(wordBits) : last + 1 + symbol - ahead
      text += words[last] ?? ''
    }
  }
}
