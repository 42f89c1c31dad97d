import { isAscii, isUtf8 } from 'node:buffer'

/** A number is its decimal text: a float would already have lost what the amount said. */
export interface JsonNumber {
  readonly decimal: string
}

/**
 * Two lists side by side: `__proto__` is a name like any other, and for the few names of a body a
 * walk is twice as fast as filling a Map.
 */
export interface JsonObject {
  readonly names: readonly string[]
  readonly values: readonly JsonValue[]
}

export type JsonValue = string | boolean | null | JsonNumber | JsonObject | readonly JsonValue[]

/** What is wrong and where; never what the body says there. */
export interface JsonProblem {
  readonly problem: string
  readonly offsetBytes: number
}

export const maxDepth = 16

/** Names in one object: no peer has nearly as many, and a field is found by walking over them. */
export const maxNames = 128
/** Up to here the search for the same name twice is a walk, which is faster than filling a Set. */
const maxWalkedNames = 48

interface Cursor {
  readonly text: string
  at: number
  problem: string
}

const tab = 0x09
const newline = 0x0a
const carriageReturn = 0x0d
const space = 0x20
const quote = 0x22
const plus = 0x2b
const comma = 0x2c
const minus = 0x2d
const point = 0x2e
const zero = 0x30
const nine = 0x39
const colon = 0x3a
const openBracket = 0x5b
const backslash = 0x5c
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

/**
 * RFC 8259 and stricter: one document, no byte order mark, no name twice in an object (JSON.parse
 * would silently keep the last), no half of a surrogate pair, nesting and members bounded.
 */
export function parseJson(bytes: Buffer): JsonValue | JsonProblem {
  let text: string
  if (isAscii(bytes)) text = bytes.toString('latin1')
  else if (isUtf8(bytes)) text = bytes.toString('utf8')
  else return { problem: 'not UTF-8', offsetBytes: 0 }

  const cursor: Cursor = { text, at: 0, problem: '' }
  const value = readValue(cursor, 0)
  if (value !== undefined) {
    if (Number.isNaN(next(cursor))) return value
    cursor.problem = 'text after the end of the document'
  }
  const offsetBytes = Buffer.byteLength(text.slice(0, cursor.at))
  return { problem: cursor.problem, offsetBytes }
}

export function isJsonProblem(result: JsonValue | JsonProblem): result is JsonProblem {
  return typeof result === 'object' && result !== null && 'problem' in result
}

export function isJsonNumber(value: JsonValue | undefined): value is JsonNumber {
  return typeof value === 'object' && value !== null && 'decimal' in value
}

export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && 'names' in value
}

/** Array.includes leaves compiled code, and that takes longer than the walk. */
function isAmong(names: readonly string[], name: string): boolean {
  for (let i = 0; i < names.length; i++) if (names[i] === name) return true
  return false
}

export function memberOf(object: JsonObject, name: string): JsonValue | undefined {
  const { names } = object
  for (let i = 0; i < names.length; i++) if (names[i] === name) return object.values[i]
  return undefined
}

/** Undefined means refused: the problem is in the cursor, and every caller returns at once. */
function readValue(cursor: Cursor, depth: number): JsonValue | undefined {
  const code = next(cursor)
  switch (code) {
    case quote:
      return readString(cursor)
    case openBrace:
      return readObject(cursor, depth + 1)
    case openBracket:
      return readArray(cursor, depth + 1)
    case 0x74:
      return readWord(cursor, 'true', true)
    case 0x66:
      return readWord(cursor, 'false', false)
    case 0x6e:
      return readWord(cursor, 'null', null)
    default:
      if (code === minus || isDigit(code)) return readNumber(cursor)
      return refuse(cursor, 'a value is expected')
  }
}

function readObject(cursor: Cursor, depth: number): JsonObject | undefined {
  if (depth > maxDepth) return refuse(cursor, 'nested too deeply')
  const names: string[] = []
  const values: JsonValue[] = []
  let seen: Set<string> | null = null
  cursor.at++
  if (next(cursor) === closeBrace) {
    cursor.at++
    return { names, values }
  }
  for (;;) {
    if (next(cursor) !== quote) return refuse(cursor, 'a name is expected')
    if (names.length === maxNames) return refuse(cursor, 'too many names in one object')
    const nameAt = cursor.at
    const name = readString(cursor)
    if (name === undefined) return undefined
    if (seen === null ? isAmong(names, name) : seen.has(name)) {
      cursor.at = nameAt
      return refuse(cursor, 'the same name twice in one object')
    }
    if (next(cursor) !== colon) return refuse(cursor, 'a colon is expected')
    cursor.at++
    const value = readValue(cursor, depth)
    if (value === undefined) return undefined
    names.push(name)
    values.push(value)
    if (seen !== null) seen.add(name)
    else if (names.length === maxWalkedNames) seen = new Set(names)
    const code = next(cursor)
    if (code !== comma && code !== closeBrace) {
      return refuse(cursor, 'a comma or a closing brace is expected')
    }
    cursor.at++
    if (code === closeBrace) return { names, values }
  }
}

function readArray(cursor: Cursor, depth: number): readonly JsonValue[] | undefined {
  if (depth > maxDepth) return refuse(cursor, 'nested too deeply')
  const items: JsonValue[] = []
  cursor.at++
  if (next(cursor) === closeBracket) {
    cursor.at++
    return items
  }
  for (;;) {
    const value = readValue(cursor, depth)
    if (value === undefined) return undefined
    items.push(value)
    const code = next(cursor)
    if (code !== comma && code !== closeBracket) {
      return refuse(cursor, 'a comma or a closing bracket is expected')
    }
    cursor.at++
    if (code === closeBracket) return items
  }
}

function readString(cursor: Cursor): string | undefined {
  const { text } = cursor
  const from = cursor.at + 1
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) {
      cursor.at = at + 1
      return text.slice(from, at)
    }
    if (code === backslash) {
      cursor.at = at
      return readEscaped(cursor, text.slice(from, at))
    }
    if (code < space) {
      cursor.at = at
      return refuse(cursor, 'a control character in a string')
    }
  }
  cursor.at = text.length
  return refuse(cursor, 'a string without its end')
}

const simpleEscapes: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
}

/** The rest of a string from its first backslash on. */
function readEscaped(cursor: Cursor, before: string): string | undefined {
  const { text } = cursor
  let result = before
  while (cursor.at < text.length) {
    const code = text.charCodeAt(cursor.at)
    if (code === quote) {
      cursor.at++
      return result
    }
    if (code < space) return refuse(cursor, 'a control character in a string')
    if (code !== backslash) {
      const from = cursor.at
      let at = from + 1
      while (at < text.length && isPlain(text.charCodeAt(at))) at++
      result += text.slice(from, at)
      cursor.at = at
      continue
    }
    const mark = text.charAt(cursor.at + 1)
    if (mark === 'u') {
      const unit = readUnit(cursor)
      if (unit === undefined) return undefined
      result += unit
      continue
    }
    const simple = Object.hasOwn(simpleEscapes, mark) ? simpleEscapes[mark] : undefined
    if (simple === undefined) return refuse(cursor, 'an unknown escape')
    result += simple
    cursor.at += 2
  }
  return refuse(cursor, 'a string without its end')
}

/** One \u escape, or two that make a surrogate pair. */
function readUnit(cursor: Cursor): string | undefined {
  const first = hexAt(cursor.text, cursor.at)
  if (first < 0) return refuse(cursor, 'an unknown escape')
  if (first < 0xd800 || first > 0xdfff) {
    cursor.at += 6
    return String.fromCharCode(first)
  }
  // Bytes that are UTF-8 have no surrogates of their own, so a pair is two escapes or it is none.
  const second = first < 0xdc00 ? hexAt(cursor.text, cursor.at + 6) : -1
  if (second < 0xdc00 || second > 0xdfff) return refuse(cursor, 'half of a surrogate pair')
  cursor.at += 12
  return String.fromCharCode(first, second)
}

/** The unit of the escape \uXXXX at this place, or -1. */
function hexAt(text: string, at: number): number {
  if (text.charCodeAt(at) !== backslash || text.charAt(at + 1) !== 'u') return -1
  let unit = 0
  for (let i = at + 2; i < at + 6; i++) {
    const code = text.charCodeAt(i)
    const lower = code | 0x20
    if (isDigit(code)) unit = unit * 16 + code - zero
    else if (lower >= 0x61 && lower <= 0x66) unit = unit * 16 + lower - 0x57
    else return -1
  }
  return unit
}

function readNumber(cursor: Cursor): JsonNumber | undefined {
  const { text } = cursor
  const from = cursor.at
  if (text.charCodeAt(cursor.at) === minus) cursor.at++
  if (text.charCodeAt(cursor.at) === zero) cursor.at++
  else if (!skipDigits(cursor)) return refuse(cursor, 'a digit is expected')
  if (text.charCodeAt(cursor.at) === point) {
    cursor.at++
    if (!skipDigits(cursor)) return refuse(cursor, 'a digit is expected')
  }
  if ((text.charCodeAt(cursor.at) | 0x20) === 0x65) {
    cursor.at++
    const sign = text.charCodeAt(cursor.at)
    if (sign === plus || sign === minus) cursor.at++
    if (!skipDigits(cursor)) return refuse(cursor, 'a digit is expected')
  }
  return { decimal: text.slice(from, cursor.at) }
}

function skipDigits(cursor: Cursor): boolean {
  const from = cursor.at
  while (isDigit(cursor.text.charCodeAt(cursor.at))) cursor.at++
  return cursor.at > from
}

function readWord<T extends boolean | null>(cursor: Cursor, word: string, value: T): T | undefined {
  if (!cursor.text.startsWith(word, cursor.at)) return refuse(cursor, 'a value is expected')
  cursor.at += word.length
  return value
}

/** The next character that is no white space, NaN at the end. */
function next(cursor: Cursor): number {
  const { text } = cursor
  let code = text.charCodeAt(cursor.at)
  while (code === space || code === newline || code === carriageReturn || code === tab) {
    code = text.charCodeAt(++cursor.at)
  }
  return code
}

function isDigit(code: number): boolean {
  return code >= zero && code <= nine
}

function isPlain(code: number): boolean {
  return code >= space && code !== quote && code !== backslash
}

function refuse(cursor: Cursor, problem: string): undefined {
  cursor.problem = problem
  return undefined
}
