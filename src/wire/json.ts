import { isAscii, isUtf8 } from 'node:buffer'
import { isDigit, type JsonCursor, quoteMark, refuseJson, space, zero } from './json-cursor.ts'
import { readString } from './json-string.ts'

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

const tab = 0x09
const newline = 0x0a
const carriageReturn = 0x0d
const plus = 0x2b
const comma = 0x2c
const minus = 0x2d
const point = 0x2e
const colon = 0x3a
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d
const byteOrderMark = 0xfeff

/**
 * RFC 8259 and stricter: one document, no byte order mark, no name twice in an object (JSON.parse
 * would silently keep the last), no half of a surrogate pair, nesting and members bounded.
 */
export function parseJson(bytes: Buffer): JsonValue | JsonProblem {
  let text: string
  if (isAscii(bytes)) text = bytes.toString('latin1')
  else if (isUtf8(bytes)) text = bytes.toString('utf8')
  else return { problem: 'not UTF-8', offsetBytes: firstNotUtf8(bytes) }

  const cursor: JsonCursor = { text, at: 0, problem: '' }
  const value = readValue(cursor, 0)
  if (value !== undefined) {
    if (Number.isNaN(next(cursor))) return value
    cursor.problem = 'text after the end of the document'
  }
  const offsetBytes = Buffer.byteLength(text.slice(0, cursor.at))
  return { problem: cursor.problem, offsetBytes }
}

/** What cannot be decoded becomes another character, so there the bytes differ when they are encoded again. */
function firstNotUtf8(bytes: Buffer): number {
  const again = Buffer.from(bytes.toString('utf8'))
  let at = 0
  while (at < bytes.length && bytes[at] === again[at]) at++
  return at
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
function readValue(cursor: JsonCursor, depth: number): JsonValue | undefined {
  const code = next(cursor)
  switch (code) {
    case quoteMark:
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
      return refuseJson(
        cursor,
        code === byteOrderMark ? 'a byte order mark' : 'a value is expected',
      )
  }
}

function readObject(cursor: JsonCursor, depth: number): JsonObject | undefined {
  if (depth > maxDepth) return refuseJson(cursor, 'nested too deeply')
  const names: string[] = []
  const values: JsonValue[] = []
  let seen: Set<string> | null = null
  cursor.at++
  if (next(cursor) === closeBrace) {
    cursor.at++
    return { names, values }
  }
  for (;;) {
    if (next(cursor) !== quoteMark) return refuseJson(cursor, 'a name is expected')
    if (names.length === maxNames) return refuseJson(cursor, 'too many names in one object')
    const nameAt = cursor.at
    const name = readString(cursor)
    if (name === undefined) return undefined
    if (seen === null ? isAmong(names, name) : seen.has(name)) {
      cursor.at = nameAt
      return refuseJson(cursor, 'the same name twice in one object')
    }
    if (next(cursor) !== colon) return refuseJson(cursor, 'a colon is expected')
    cursor.at++
    const value = readValue(cursor, depth)
    if (value === undefined) return undefined
    names.push(name)
    values.push(value)
    if (seen !== null) seen.add(name)
    else if (names.length === maxWalkedNames) seen = new Set(names)
    const code = next(cursor)
    if (code !== comma && code !== closeBrace) {
      return refuseJson(cursor, 'a comma or a closing brace is expected')
    }
    cursor.at++
    if (code === closeBrace) return { names, values }
  }
}

function readArray(cursor: JsonCursor, depth: number): readonly JsonValue[] | undefined {
  if (depth > maxDepth) return refuseJson(cursor, 'nested too deeply')
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
      return refuseJson(cursor, 'a comma or a closing bracket is expected')
    }
    cursor.at++
    if (code === closeBracket) return items
  }
}

function readNumber(cursor: JsonCursor): JsonNumber | undefined {
  const { text } = cursor
  const from = cursor.at
  if (text.charCodeAt(cursor.at) === minus) cursor.at++
  if (text.charCodeAt(cursor.at) === zero) cursor.at++
  else if (!skipDigits(cursor)) return refuseJson(cursor, 'a digit is expected')
  if (text.charCodeAt(cursor.at) === point) {
    cursor.at++
    if (!skipDigits(cursor)) return refuseJson(cursor, 'a digit is expected')
  }
  if ((text.charCodeAt(cursor.at) | 0x20) === 0x65) {
    cursor.at++
    const sign = text.charCodeAt(cursor.at)
    if (sign === plus || sign === minus) cursor.at++
    if (!skipDigits(cursor)) return refuseJson(cursor, 'a digit is expected')
  }
  return { decimal: text.slice(from, cursor.at) }
}

function skipDigits(cursor: JsonCursor): boolean {
  const from = cursor.at
  while (isDigit(cursor.text.charCodeAt(cursor.at))) cursor.at++
  return cursor.at > from
}

function readWord<T extends boolean | null>(
  cursor: JsonCursor,
  word: string,
  value: T,
): T | undefined {
  if (!cursor.text.startsWith(word, cursor.at)) return refuseJson(cursor, 'a value is expected')
  cursor.at += word.length
  return value
}

/** The next character that is no white space, NaN at the end. */
function next(cursor: JsonCursor): number {
  const { text } = cursor
  let code = text.charCodeAt(cursor.at)
  while (code === space || code === newline || code === carriageReturn || code === tab) {
    code = text.charCodeAt(++cursor.at)
  }
  return code
}
