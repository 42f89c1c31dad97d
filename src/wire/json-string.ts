import { isDigit, type JsonCursor, quoteMark, refuseJson, space, zero } from './json-cursor.ts'

const backslash = 0x5c

export function readString(cursor: JsonCursor): string | undefined {
  const { text } = cursor
  const from = cursor.at + 1
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quoteMark) {
      cursor.at = at + 1
      return text.slice(from, at)
    }
    if (code === backslash) {
      cursor.at = at
      return readEscaped(cursor, text.slice(from, at))
    }
    if (code < space) {
      cursor.at = at
      return refuseJson(cursor, 'a control character in a string')
    }
  }
  cursor.at = text.length
  return refuseJson(cursor, 'a string without its end')
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
function readEscaped(cursor: JsonCursor, before: string): string | undefined {
  const { text } = cursor
  let result = before
  while (cursor.at < text.length) {
    const code = text.charCodeAt(cursor.at)
    if (code === quoteMark) {
      cursor.at++
      return result
    }
    if (code < space) return refuseJson(cursor, 'a control character in a string')
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
    if (simple === undefined) return refuseJson(cursor, 'an unknown escape')
    result += simple
    cursor.at += 2
  }
  return refuseJson(cursor, 'a string without its end')
}

/** One \u escape, or two that make a surrogate pair. */
function readUnit(cursor: JsonCursor): string | undefined {
  const first = hexAt(cursor.text, cursor.at)
  if (first < 0) return refuseJson(cursor, 'an unknown escape')
  if (first < 0xd800 || first > 0xdfff) {
    cursor.at += 6
    return String.fromCharCode(first)
  }
  // Bytes that are UTF-8 have no surrogates of their own, so a pair is two escapes or it is none.
  const second = first < 0xdc00 ? hexAt(cursor.text, cursor.at + 6) : -1
  if (second < 0xdc00 || second > 0xdfff) return refuseJson(cursor, 'half of a surrogate pair')
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

function isPlain(code: number): boolean {
  return code >= space && code !== quoteMark && code !== backslash
}
