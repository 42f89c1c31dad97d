import { type CardEvent, type Merchant, type RequestType, requestTypes } from '../domain/event.ts'
import { parseMinor } from '../domain/money.ts'
import {
  fieldShapes,
  isId,
  maxIdChars,
  moneyMessages,
  notMoney,
  printable,
  type Shape,
} from './field-shape.ts'
import {
  isJsonNumber,
  isJsonObject,
  isJsonProblem,
  type JsonObject,
  type JsonValue,
  memberOf,
  parseJson,
} from './json.ts'
import type { Refusal } from './refusal.ts'
import { parseTimestamp } from './timestamp.ts'

interface Field {
  readonly name: string
  readonly shape: Shape
  /** An optional field may also be null or ''. */
  readonly needed: 'always' | 'for asks' | 'never'
}

const { id, text, currency, country, mcc, time } = fieldShapes

const idOrEmpty: Shape = {
  must: `must be at most ${maxIdChars} printable ASCII characters`,
  holds: (value) => value === '' || id.holds(value),
}
const yesOrNo: Shape = {
  must: 'must be true or false',
  holds: (value) => typeof value === 'boolean',
}
const object: Shape = {
  must: 'must be an object',
  holds: (value) => isJsonObject(value),
}

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

const nobody: Merchant = { mid: '', mcc: '', name: '', city: '', country: '' }
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

function isRequestType(name: string): name is RequestType {
  return Object.hasOwn(requestTypes, name)
}
