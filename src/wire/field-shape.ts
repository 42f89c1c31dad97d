import { isCurrency } from '../domain/record/currency.ts'
import { maxDetailChars } from '../domain/record/event.ts'
import type { MoneyProblem } from '../domain/record/money.ts'
import { isCountry } from './country.ts'
import type { JsonValue } from './json.ts'
import { digitsAt } from './timestamp.ts'

export interface Shape {
  readonly must: string
  /** Of a number one would not see from `must` what is wrong with it. */
  readonly isText?: true
  holds(value: JsonValue): boolean
}

export const maxIdChars = 64
export const maxTextChars = 200

const id: Shape = {
  must: `must be 1 to ${maxIdChars} printable ASCII characters`,
  isText: true,
  holds: (value) => typeof value === 'string' && isId(value),
}
const text: Shape = {
  must: `must be at most ${maxTextChars} characters`,
  isText: true,
  holds: (value) => typeof value === 'string' && value.length <= maxTextChars,
}
const currency: Shape = {
  must: 'must be an ISO 4217 code',
  holds: (value) => typeof value === 'string' && isCurrency(value),
}
const country: Shape = {
  must: 'must be an ISO 3166 alpha-2 code',
  holds: (value) => typeof value === 'string' && isCountry(value),
}
const mcc: Shape = {
  must: 'must be four digits',
  isText: true,
  holds: (value) => typeof value === 'string' && isFourDigits(value),
}
const time: Shape = {
  must: 'must be an RFC 3339 time with Z or an offset',
  holds: (value) => typeof value === 'string',
}

/** What holds for a field, whatever shape of body it came from. */
export const fieldShapes = { id, text, currency, country, mcc, time } as const

export const notMoney = 'must be a number or a decimal text'

export const moneyMessages: Readonly<Record<MoneyProblem, string>> = {
  malformed: notMoney,
  negative: 'must not be negative',
  'too many digits': 'must have at most 15 digits',
  'too many decimals': 'has more decimals than its currency',
}

/** 1e2 is a number of JSON, but a text of it was written by a person or a faulty serializer. */
export function hasExponent(text: string): boolean {
  return text.includes('e') || text.includes('E')
}

export function isId(name: string): boolean {
  // One regular expression takes half the time of a walk: most ids are slices of the body's text.
  return name.length > 0 && name.length <= maxIdChars && !/[^\x20-\x7e]/.test(name)
}

function isFourDigits(code: string): boolean {
  return code.length === 4 && digitsAt(code, 0, 4) >= 0
}

/**
 * Names are for people, so padding with NULs is no reason to decline a payment; but control
 * characters must not reach a terminal.
 */
export function printable(name: string): string {
  for (let i = 0; i < name.length; i++) {
    if (isControl(name.charCodeAt(i))) {
      return Array.from(name, (char) => (isControl(char.charCodeAt(0)) ? ' ' : char)).join('')
    }
  }
  return name
}

function isControl(code: number): boolean {
  return code < 0x20 || (code >= 0x7f && code <= 0x9f)
}

/** A fact for rules: printable, and neither empty nor long. */
export function isDetail(text: string): boolean {
  return text !== '' && text.length <= maxDetailChars && printable(text) === text
}
