import { isCurrency } from '../domain/record/currency.ts'
import {
  type CardEvent,
  detailNames,
  type EventDetails,
  isMetadataName,
  type Merchant,
  maxMetadata,
  metadataPrefix,
  type RequestType,
  requestTypes,
} from '../domain/record/event.ts'
import { parseMinor } from '../domain/record/money.ts'
import {
  fieldShapes,
  hasExponent,
  isDetail,
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
import type { BodyCode, Refusal } from './refusal.ts'
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
  isText: true,
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

/** In the order in which a refusal names them. `requestType` comes before, `amount` after. */
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
    return refuse(nothing, [['', `not JSON: ${body.problem} at byte ${body.offsetBytes}`]])
  }
  if (!isJsonObject(body)) return refuse(nothing, [['', 'the body must be a JSON object']])

  const requestType = memberOf(body, 'requestType') ?? ''
  const known = typeof requestType === 'string' && isRequestType(requestType)
  const ask = known && requestTypes[requestType] === 'ask'
  const faults = faultsOf(body, requestType, ask)

  const occurredAt = memberOf(body, 'occurredAt')
  const occurredAtMs = typeof occurredAt === 'string' ? parseTimestamp(occurredAt) : 0
  if (occurredAtMs === null) faults.push(['occurredAt', time.must])

  const currencyCode = textOf(body, 'currency')
  const amount = isCurrency(currencyCode) ? readAmount(body, 'amount', currencyCode) : 0
  if (typeof amount === 'string') faults.push(['amount', amount])
  if (amount === null && requestType !== 'Reversal') faults.push(['amount', 'is required'])

  if (!known || occurredAtMs === null || typeof amount === 'string' || faults.length > 0) {
    const code = typeof requestType === 'string' && requestType !== '' && !known ? '131' : '136'
    return refuse(body, faults, code, known && !ask ? 'advice' : 'ask')
  }
  // Nothing below may refuse.
  const merchantCurrency = textOf(body, 'merchantCurrency')
  const theirs = isCurrency(merchantCurrency) ? merchantCurrency : ''
  const merchantAmount = theirs === '' ? 0 : readAmount(body, 'merchantAmount', theirs)
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
    merchant: merchantOf(body),
    channel: textOf(body, 'channel'),
    entryMode: textOf(body, 'entryMode'),
    // Facts for rules, never booked: what cannot be read of them is absent and refuses no payment.
    merchantAmountMinor: typeof merchantAmount === 'number' ? merchantAmount : 0,
    merchantCurrency: theirs,
    occurredAtMs,
    ...detailsOf(body),
  }
}

function faultsOf(body: JsonObject, requestType: JsonValue, ask: boolean): Fault[] {
  const faults: Fault[] = []
  if (requestType === '') faults.push(['requestType', 'is required'])
  else if (typeof requestType !== 'string') faults.push(['requestType', 'must be a text'])
  else if (!isRequestType(requestType)) {
    faults.push(['requestType', `must be one of ${Object.keys(requestTypes).join(', ')}`])
  }
  for (const field of eventFields) {
    const problem = check(field, memberOf(body, field.name), ask)
    if (problem !== '') faults.push([field.name, problem])
  }
  const merchant = memberOf(body, 'merchant')
  // An advice may come without a merchant, or with what is known of it.
  if (!isJsonObject(merchant)) return faults
  for (const field of merchantFields) {
    const problem = check(field, memberOf(merchant, field.name), ask)
    if (problem !== '') faults.push([`merchant.${field.name}`, problem])
  }
  return faults
}

function merchantOf(body: JsonObject): Merchant {
  const merchant = memberOf(body, 'merchant')
  if (!isJsonObject(merchant)) return nobody
  return {
    mid: textOf(merchant, 'mid'),
    mcc: textOf(merchant, 'mcc'),
    name: printable(textOf(merchant, 'name')),
    city: printable(textOf(merchant, 'city')),
    country: textOf(merchant, 'country'),
  }
}

const noDetails = {}

/** What is no text, or too long, is left out: a payment does not hang on it. */
function detailsOf(body: JsonObject): { readonly details?: EventDetails } {
  const [said, metadata] = [memberOf(body, 'details'), memberOf(body, 'metadata')]
  const details: Record<string, string> = {}
  if (isJsonObject(said)) {
    for (const name of detailNames) noteDetail(details, name, memberOf(said, name))
  }
  if (isJsonObject(metadata)) {
    const names = metadata.names.filter(isMetadataName).slice(0, maxMetadata)
    for (const name of names) noteDetail(details, metadataPrefix + name, memberOf(metadata, name))
  }
  return Object.keys(details).length === 0 ? noDetails : { details }
}

function noteDetail(
  details: Record<string, string>,
  name: string,
  value: JsonValue | undefined,
): void {
  const text =
    typeof value === 'boolean' ? String(value) : isJsonNumber(value) ? value.decimal : value
  if (typeof text === 'string' && isDetail(text)) details[name] = text
}

type Fault = readonly [field: string, problem: string]

/** Names the first field at fault, and tells all that is wrong. */
function refuse(
  body: JsonObject,
  faults: readonly Fault[],
  responseCode: BodyCode = '136',
  about: Refusal['about'] = 'ask',
): Refusal {
  const eventId = memberOf(body, 'eventId')
  const transactionId = memberOf(body, 'transactionId')
  return {
    status: 400,
    responseCode,
    field: faults[0]?.[0] ?? '',
    message: faults
      .map(([field, problem]) => (field === '' ? problem : `${field} ${problem}`))
      .join('; '),
    eventId: typeof eventId === 'string' && isId(eventId) ? eventId : '',
    transactionId: typeof transactionId === 'string' && isId(transactionId) ? transactionId : '',
    about,
    unknownKind: '',
  }
}

/** What is wrong with the field, or ''. */
function check(field: Field, value: JsonValue | undefined, ask: boolean): string {
  const needed = field.needed === 'always' || (ask && field.needed === 'for asks')
  if (value === undefined || value === null) return needed ? 'is required' : ''
  if (value === '' && !needed) return ''
  const { shape } = field
  if (shape.holds(value)) return ''
  return shape.isText && typeof value !== 'string' ? 'must be a text' : shape.must
}

/** The amount in minor units, null when it is absent, or what is wrong with it. */
function readAmount(body: JsonObject, name: string, currencyCode: string): number | null | string {
  const value = memberOf(body, name)
  if (value === undefined || value === null || value === '') return null
  const decimal = isJsonNumber(value) ? value.decimal : value
  if (typeof decimal !== 'string' || (decimal === value && hasExponent(decimal))) return notMoney
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
