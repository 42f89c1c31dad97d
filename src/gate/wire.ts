import { isCurrency } from '../domain/currency.ts'
import { type CardEvent, type Merchant, type RequestType, requestTypes } from '../domain/event.ts'
import { formatMinor, type MoneyProblem, parseMinor } from '../domain/money.ts'
import { type ResponseCode, reasonOf } from '../domain/response-code.ts'
import { isCountry } from './country.ts'
import {
  isJsonNumber,
  isJsonObject,
  isJsonProblem,
  type JsonObject,
  type JsonValue,
  memberOf,
  parseJson,
} from './json.ts'

/** A request that never became an event. Ids are '' unless the request gave well-formed ones. */
export interface Refusal {
  readonly status: keyof typeof refusalCodes
  readonly responseCode: ResponseCode
  /** The field at fault, '' when it is none in particular. */
  readonly field: string
  readonly message: string
  readonly eventId: string
  readonly transactionId: string
}

/**
 * A body says 136 or 131 for 400. 911 may be tried again: an advice we could not write down. 200 is a
 * message that a relay profile leaves aside: it is acknowledged, and nothing is decided.
 */
export const refusalCodes = {
  200: '000',
  400: '136',
  401: '146',
  404: '131',
  408: '178',
  413: '136',
  415: '136',
  503: '911',
} as const satisfies Record<number, ResponseCode>

/** What was decided. An absent text is ''. */
export interface Reply {
  readonly eventId: string
  readonly transactionId: string
  readonly decision: 'approve' | 'decline'
  readonly responseCode: ResponseCode
  readonly decidedBy: 'engine' | 'default'
  readonly rulesVersion: string
  readonly ruleId: string
  /** Null unless the approval is partial. */
  readonly approvedAmountMinor: number | null
  readonly currency: string
  readonly cause: string
}

export interface Shape {
  readonly must: string
  holds(value: JsonValue): boolean
}

interface Field {
  readonly name: string
  readonly shape: Shape
  /** An optional field may also be null or ''. */
  readonly needed: 'always' | 'for asks' | 'never'
}

const maxIdChars = 64
const maxTextChars = 200

const id: Shape = {
  must: `must be 1 to ${maxIdChars} printable ASCII characters`,
  holds: (value) => typeof value === 'string' && isId(value),
}
const idOrEmpty: Shape = {
  must: `must be at most ${maxIdChars} printable ASCII characters`,
  holds: (value) => value === '' || id.holds(value),
}
const text: Shape = {
  must: `must be at most ${maxTextChars} characters`,
  holds: (value) => typeof value === 'string' && value.length <= maxTextChars,
}
const yesOrNo: Shape = {
  must: 'must be true or false',
  holds: (value) => typeof value === 'boolean',
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
  holds: (value) => typeof value === 'string' && isFourDigits(value),
}
const time: Shape = {
  must: 'must be an RFC 3339 time with Z or an offset',
  holds: (value) => typeof value === 'string',
}
const object: Shape = {
  must: 'must be an object',
  holds: (value) => isJsonObject(value),
}

/** What holds for a field, whatever shape of body it came from. */
export const fieldShapes = { id, text, currency, country, mcc, time } as const

/** In the order in which a refusal names them. `requestType` comes before and `amount` after. */
const eventFields: readonly Field[] = [
  { name: 'eventId', shape: id, needed: 'always' },
  { name: 'transactionId', shape: idOrEmpty, needed: 'always' },
  { name: 'cardId', shape: id, needed: 'always' },
  { name: 'currency', shape: currency, needed: 'always' },
  { name: 'occurredAt', shape: time, needed: 'always' },
  { name: 'merchant', shape: object, needed: 'for asks' },
  { name: 'originalTransactionId', shape: id, needed: 'never' },
  { name: 'partialApprovalSupported', shape: yesOrNo, needed: 'never' },
  { name: 'final', shape: yesOrNo, needed: 'never' },
  { name: 'channel', shape: id, needed: 'never' },
  { name: 'entryMode', shape: id, needed: 'never' },
  { name: 'merchantCurrency', shape: currency, needed: 'never' },
]

const merchantFields: readonly Field[] = [
  { name: 'mid', shape: id, needed: 'for asks' },
  { name: 'mcc', shape: mcc, needed: 'for asks' },
  { name: 'name', shape: text, needed: 'never' },
  { name: 'city', shape: text, needed: 'never' },
  { name: 'country', shape: country, needed: 'never' },
]

export const notMoney = 'must be a number or a decimal text'

export const moneyMessages: Readonly<Record<MoneyProblem, string>> = {
  malformed: notMoney,
  negative: 'must not be negative',
  'too many digits': 'must have at most 15 digits',
  'too many decimals': 'has more decimals than its currency',
}

export const nobody: Merchant = { mid: '', mcc: '', name: '', city: '', country: '' }
const nothing: JsonObject = { names: [], values: [] }

/** The body of one call, read once: what comes out of here is a true CardEvent or an answer. */
export function readEvent(bytes: Buffer): CardEvent | Refusal {
  const body = parseJson(bytes)
  if (isJsonProblem(body)) {
    return refuse(nothing, '', `not JSON: ${body.problem} at byte ${body.offsetBytes}`)
  }
  if (!isJsonObject(body)) return refuse(nothing, '', 'the body must be a JSON object')

  const requestType = memberOf(body, 'requestType') ?? ''
  if (requestType === '') return refuse(body, 'requestType', 'is required')
  if (typeof requestType !== 'string') return refuse(body, 'requestType', 'must be a text')
  if (!isRequestType(requestType)) {
    const known = Object.keys(requestTypes).join(', ')
    return refuse(body, 'requestType', `must be one of ${known}`, '131')
  }
  const ask = requestTypes[requestType] === 'ask'

  for (const field of eventFields) {
    const problem = check(field, memberOf(body, field.name), ask)
    if (problem !== '') return refuse(body, field.name, problem)
  }
  const merchant = memberOf(body, 'merchant')
  const merchantBody = isJsonObject(merchant) ? merchant : nothing
  // An advice may come without a merchant, or with what is known of it.
  if (merchantBody !== nothing) {
    for (const field of merchantFields) {
      const problem = check(field, memberOf(merchantBody, field.name), ask)
      if (problem !== '') return refuse(body, `merchant.${field.name}`, problem)
    }
  }

  const occurredAtMs = parseTimestamp(textOf(body, 'occurredAt'))
  if (occurredAtMs === null) return refuse(body, 'occurredAt', time.must)

  const currencyCode = textOf(body, 'currency')
  const amount = readAmount(body, 'amount', currencyCode)
  if (typeof amount === 'string') return refuse(body, 'amount', amount)
  if (amount === null && requestType !== 'Reversal') return refuse(body, 'amount', 'is required')

  const merchantCurrency = textOf(body, 'merchantCurrency')
  if (merchantCurrency === '' && isGiven(memberOf(body, 'merchantAmount'))) {
    return refuse(body, 'merchantCurrency', 'is required with merchantAmount')
  }
  const merchantAmount = readAmount(body, 'merchantAmount', merchantCurrency)
  if (typeof merchantAmount === 'string') return refuse(body, 'merchantAmount', merchantAmount)

  // Nothing below may refuse.
  return {
    eventId: textOf(body, 'eventId'),
    requestType,
    transactionId: textOf(body, 'transactionId'),
    originalTransactionId: textOf(body, 'originalTransactionId'),
    cardId: textOf(body, 'cardId'),
    amountMinor: amount,
    currency: currencyCode,
    final: flagOf(body, 'final'),
    partialApprovalSupported: flagOf(body, 'partialApprovalSupported') ?? false,
    merchant:
      merchantBody === nothing
        ? nobody
        : {
            mid: textOf(merchantBody, 'mid'),
            mcc: textOf(merchantBody, 'mcc'),
            name: printable(textOf(merchantBody, 'name')),
            city: printable(textOf(merchantBody, 'city')),
            country: textOf(merchantBody, 'country'),
          },
    channel: textOf(body, 'channel'),
    entryMode: textOf(body, 'entryMode'),
    merchantAmountMinor: merchantAmount ?? 0,
    merchantCurrency,
    occurredAtMs,
  }
}

export function isRefusal(result: CardEvent | Refusal): result is Refusal {
  return 'status' in result
}

/** A refusal that is not about the content of the body. */
export function refusalOf(
  status: keyof typeof refusalCodes,
  message: string,
  ids: { readonly eventId: string; readonly transactionId: string } = {
    eventId: '',
    transactionId: '',
  },
): Refusal {
  const { eventId, transactionId } = ids
  return { status, responseCode: refusalCodes[status], field: '', message, eventId, transactionId }
}

function refuse(
  body: JsonObject,
  field: string,
  problem: string,
  responseCode: '136' | '131' = '136',
): Refusal {
  const eventId = memberOf(body, 'eventId')
  const transactionId = memberOf(body, 'transactionId')
  return {
    status: 400,
    responseCode,
    field,
    message: field === '' ? problem : `${field} ${problem}`,
    eventId: typeof eventId === 'string' && isId(eventId) ? eventId : '',
    transactionId: typeof transactionId === 'string' && isId(transactionId) ? transactionId : '',
  }
}

/** What is wrong with the field, or ''. */
function check(field: Field, value: JsonValue | undefined, ask: boolean): string {
  const needed = field.needed === 'always' || (ask && field.needed === 'for asks')
  if (value === undefined || value === null) return needed ? 'is required' : ''
  if (value === '' && !needed) return ''
  return field.shape.holds(value) ? '' : field.shape.must
}

function isGiven(value: JsonValue | undefined): value is JsonValue {
  return value !== undefined && value !== null && value !== ''
}

/** The amount in minor units, null when it is absent, or what is wrong with it. */
function readAmount(body: JsonObject, name: string, currencyCode: string): number | null | string {
  const value = memberOf(body, name)
  if (!isGiven(value)) return null
  const decimal = isJsonNumber(value) ? value.decimal : value
  if (typeof decimal !== 'string') return notMoney
  const minor = parseMinor(decimal, currencyCode)
  return typeof minor === 'number' ? minor : moneyMessages[minor]
}

function textOf(body: JsonObject, name: string): string {
  const value = memberOf(body, name)
  return typeof value === 'string' ? value : ''
}

function flagOf(body: JsonObject, name: string): boolean | null {
  const value = memberOf(body, name)
  return typeof value === 'boolean' ? value : null
}

export function isRequestType(name: string): name is RequestType {
  return Object.hasOwn(requestTypes, name)
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

const dayMs = 86_400_000
const zero = 0x30

/**
 * RFC 3339, or null. By hand, because Date.parse also takes local times, missing parts and
 * 31 February. Digits beyond the millisecond are cut off.
 */
export function parseTimestamp(stamp: string): number | null {
  if (stamp.length < 20 || stamp.length > 40) return null
  const year = digitsAt(stamp, 0, 4)
  const month = digitsAt(stamp, 5, 2)
  const day = digitsAt(stamp, 8, 2)
  const hour = digitsAt(stamp, 11, 2)
  const minute = digitsAt(stamp, 14, 2)
  const second = digitsAt(stamp, 17, 2)
  if (year < 0 || day < 1 || hour < 0 || minute < 0 || second < 0) return null
  if (stamp[4] !== '-' || stamp[7] !== '-' || stamp[13] !== ':' || stamp[16] !== ':') return null
  if (stamp[10] !== 'T' && stamp[10] !== 't') return null
  if (month < 1 || month > 12 || day > daysIn(year, month)) return null
  if (hour > 23 || minute > 59 || second > 60) return null

  let at = 19
  let fractionMs = 0
  if (stamp[at] === '.') {
    const first = at + 1
    for (at = first; digitsAt(stamp, at, 1) >= 0; at++) {
      if (at < first + 3) fractionMs = fractionMs * 10 + stamp.charCodeAt(at) - zero
    }
    const digits = at - first
    if (digits === 0) return null
    for (let i = digits; i < 3; i++) fractionMs *= 10
  }
  const offsetMinutes = parseOffset(stamp, at)
  if (offsetMinutes === null) return null

  const dayMinutes = hour * 60 + minute - offsetMinutes
  // A leap second is the last one of a UTC day. It counts as the first of the next.
  if (second === 60 && (dayMinutes + 1) % 1440 !== 0) return null
  const minutesMs = dayMinutes * 60_000
  return dayNumber(year, month, day) * dayMs + minutesMs + second * 1000 + fractionMs
}

/** `Z` or `+hh:mm` as the very end of the text. */
function parseOffset(stamp: string, at: number): number | null {
  const sign = stamp[at]
  if (sign === 'Z' || sign === 'z') return stamp.length === at + 1 ? 0 : null
  if ((sign !== '+' && sign !== '-') || stamp.length !== at + 6 || stamp[at + 3] !== ':')
    return null
  const hours = digitsAt(stamp, at + 1, 2)
  const minutes = digitsAt(stamp, at + 4, 2)
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return null
  return (sign === '-' ? -1 : 1) * (hours * 60 + minutes)
}

/** The number that these digits make, or -1 when one of them is none. */
function digitsAt(stamp: string, from: number, count: number): number {
  let number = 0
  for (let i = from; i < from + count; i++) {
    const digit = stamp.charCodeAt(i) - zero
    // Also refuses the NaN past the end.
    if (!(digit >= 0 && digit <= 9)) return -1
    number = number * 10 + digit
  }
  return number
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}

/** Days since 1970-01-01. Date.UTC would take the years 0 to 99 for 1900 to 1999. */
function dayNumber(year: number, month: number, day: number): number {
  // Years that begin in March have their leap day last.
  const y = month <= 2 ? year - 1 : year
  const leapDays = Math.floor(y / 4) - Math.floor(y / 100) + Math.floor(y / 400)
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1
  return y * 365 + leapDays + dayOfYear - 719_468
}

/** Written once and kept: the same event again gets the same bytes, so the order is fixed. */
export function renderReply(reply: Reply): string {
  let json = `{"eventId":${quote(reply.eventId)},"transactionId":${quote(reply.transactionId)},"decision":"${reply.decision}","responseCode":"${reply.responseCode}","reason":${quote(reasonOf(reply.responseCode))},"decidedBy":"${reply.decidedBy}","rulesVersion":${quote(reply.rulesVersion)}`
  if (reply.ruleId !== '') json += `,"ruleId":${quote(reply.ruleId)}`
  if (reply.approvedAmountMinor !== null) {
    json += `,"approvedAmount":${formatMinor(reply.approvedAmountMinor, reply.currency)}`
  }
  if (reply.cause !== '') json += `,"cause":${quote(reply.cause)}`
  return `${json}}`
}

export function renderRefusal(refusal: Refusal): string {
  const field = refusal.field === '' ? '' : `,"field":${quote(refusal.field)}`
  return `{"eventId":${quote(refusal.eventId)},"transactionId":${quote(refusal.transactionId)},"decision":"decline","responseCode":"${refusal.responseCode}","reason":${quote(reasonOf(refusal.responseCode))},"decidedBy":"gate"${field},"message":${quote(refusal.message)}}`
}

/** JSON.stringify costs a call into the runtime; nearly every text of ours needs no escape. */
export function quote(plain: string): string {
  return /[^\x20\x21\x23-\x5b\x5d-\x7e]/.test(plain) ? JSON.stringify(plain) : `"${plain}"`
}
