import { createHash } from 'node:crypto'
import { currencyDecimals, decimalsOf } from '../domain/currency.ts'
import { type CardEvent, type Merchant, type RequestType, requestTypes } from '../domain/event.ts'
import { parseMinor } from '../domain/money.ts'
import { countries } from './country.ts'
import { alpha2ByAlpha3, currencyByNumber } from './iso-codes.ts'
import { isJsonNumber, isJsonObject, isJsonProblem, type JsonValue, parseJson } from './json.ts'
import type {
  AmountFile,
  CountryFile,
  FieldsFile,
  FlagFile,
  IdFile,
  OverridesFile,
  PartFile,
  TextFile,
  TimeFile,
} from './profile-file.ts'
import { type Found, type PointerPlan, positionOf } from './profile-pointer.ts'
import {
  fieldShapes,
  isId,
  moneyMessages,
  notMoney,
  parseTimestamp,
  printable,
  quote,
  type Refusal,
} from './wire.ts'

/** What the answer repeats of the body, as JSON. A symbol keeps it out of journal and log. */
export const echoes: unique symbol = Symbol('echoes')

export interface MappedEvent extends CardEvent {
  readonly [echoes]?: readonly string[]
}

/** A requestType of ours, `ignore`, or a further choice by what is at the first pointer present. */
export type Choice =
  | { readonly requestType: RequestType | 'ignore' }
  | {
      readonly pointers: readonly string[]
      readonly map: ReadonlyMap<string, Choice>
      readonly otherwise: Choice | null
    }

export interface ReaderOptions {
  readonly plan: PointerPlan
  readonly choice: Choice
  readonly fields: FieldsFile
  readonly overrides: Readonly<Partial<Record<RequestType, OverridesFile | undefined>>>
  /** Pointers of what the answer repeats, in the order of its places. */
  readonly echoed: readonly string[]
}

/** '' when nothing is there, undefined when what is there is no text. */
type ReadText = (found: Found) => string | undefined
type ReadFlag = (found: Found) => boolean | null | undefined
/** Minor units; null when nothing is there; or what is wrong. */
type ReadAmount = (found: Found, currency: string) => number | null | string
/** Unix milliseconds; 0 when nothing is there; null when it is no time. */
type ReadTime = (found: Found) => number | null

interface TextField {
  readonly name: string
  /** The pointers, for people. */
  readonly where: string
  readonly mayBeAbsent: boolean
  /** What is read fits already, and is not looked through again. */
  readonly fits: boolean
  read: ReadText
}

type ReadFields = (found: Found) => CardEvent | Refusal

/** Compiles a profile's mapping; the result reads one body into a true CardEvent or an answer. */
export function createProfileReader(
  options: ReaderOptions,
): (bytes: Buffer) => CardEvent | Refusal {
  const { plan, fields, overrides } = options
  const eventId = compileId(plan, 'eventId', fields.eventId)
  const transactionId = compileId(plan, 'transactionId', fields.transactionId)

  function refuse(
    found: Found | null,
    field: string,
    message: string,
    responseCode: '136' | '131' = '136',
  ): Refusal {
    const idAt = ({ read }: TextField): string => {
      const given = found === null ? '' : (read(found) ?? '')
      return isId(given) ? given : ''
    }
    return {
      status: 400,
      responseCode,
      field,
      message,
      eventId: idAt(eventId),
      transactionId: idAt(transactionId),
    }
  }

  const echoed = options.echoed.map((pointer) => plan.place(pointer))
  const readers = new Map<RequestType, ReadFields>()
  const choose = compileChoice(plan, options.choice, (requestType) => {
    const known = readers.get(requestType)
    if (known !== undefined) return known
    const merged = override(fields, overrides[requestType])
    const reader = compileFields(plan, requestType, merged, echoed, refuse)
    readers.set(requestType, reader)
    return reader
  })

  return (bytes) => {
    const body = parseJson(bytes)
    if (isJsonProblem(body)) {
      return refuse(null, '', `not JSON: ${body.problem} at byte ${body.offsetBytes}`)
    }
    if (!isJsonObject(body)) return refuse(null, '', 'the body must be a JSON object')
    const found = plan.find(body)
    const outcome = choose(found)
    if (typeof outcome === 'function') return outcome(found)
    if (outcome.ignored) return { ...refuse(found, '', outcome.message), ...acknowledged }
    return refuse(found, 'requestType', outcome.message, outcome.code)
  }
}

const acknowledged = { status: 200, responseCode: '000' } as const

interface NoReader {
  readonly ignored: boolean
  readonly code: '136' | '131'
  readonly message: string
}

function compileChoice(
  plan: PointerPlan,
  choice: Choice,
  readerOf: (requestType: RequestType) => ReadFields,
): (found: Found) => ReadFields | NoReader {
  if ('requestType' in choice) {
    if (choice.requestType !== 'ignore') {
      const reader = readerOf(choice.requestType)
      return () => reader
    }
    const ignored: NoReader = { ignored: true, code: '131', message: 'not for this server' }
    return () => ignored
  }
  const name = `requestType (${choice.pointers.join(' or ')})`
  const read = compileParts(
    plan,
    choice.pointers.map((pointer) => ({ pointer })),
  )
  const values = [...choice.map.keys()]
  const targets = [...choice.map.values()].map((next) => compileChoice(plan, next, readerOf))
  let hint = 0
  const otherwise =
    choice.otherwise === null ? null : compileChoice(plan, choice.otherwise, readerOf)
  const known = values.join(', ')
  const absent: NoReader = { ignored: false, code: '136', message: `${name} is required` }
  const wrong: NoReader = { ignored: false, code: '136', message: `${name} must be a text` }
  const unknown: NoReader = {
    ignored: false,
    code: '131',
    message: `${name} must be one of ${known}`,
  }
  return (found) => {
    const value = read(found)
    if (value === undefined) return wrong
    // For the few values of a peer a walk is faster than the hash of a text that was just read.
    const at = positionOf(values, value, hint)
    if (at >= 0) hint = at
    const target = at < 0 ? otherwise : (targets[at] ?? null)
    if (target !== null) return target(found)
    return value === '' ? absent : unknown
  }
}

type Fields = ReturnType<typeof override>

/** The mapping for one requestType; null is a mapping that it does not have. */
function override(base: FieldsFile, given: OverridesFile | undefined) {
  const pick = <T>(over: T | null | undefined, under: T | undefined): T | null =>
    over === undefined ? (under ?? null) : over
  const over = given ?? {}
  return {
    eventId: over.eventId ?? base.eventId,
    transactionId: over.transactionId ?? base.transactionId,
    originalTransactionId: pick(over.originalTransactionId, base.originalTransactionId),
    cardId: over.cardId ?? base.cardId,
    amount: pick(over.amount, base.amount),
    currency: over.currency ?? base.currency,
    occurredAt: pick(over.occurredAt, base.occurredAt),
    final: pick(over.final, base.final),
    partialApprovalSupported: pick(over.partialApprovalSupported, base.partialApprovalSupported),
    channel: pick(over.channel, base.channel),
    entryMode: pick(over.entryMode, base.entryMode),
    merchantAmount: pick(over.merchantAmount, base.merchantAmount),
    merchantCurrency: pick(over.merchantCurrency, base.merchantCurrency),
    mid: over.merchant?.mid ?? base.merchant.mid,
    mcc: over.merchant?.mcc ?? base.merchant.mcc,
    merchantName: pick(over.merchant?.name, base.merchant.name),
    merchantCity: pick(over.merchant?.city, base.merchant.city),
    merchantCountry: pick(over.merchant?.country, base.merchant.country),
  }
}

function compileFields(
  plan: PointerPlan,
  requestType: RequestType,
  fields: Fields,
  echoed: readonly number[],
  refuse: (found: Found, field: string, message: string) => Refusal,
): ReadFields {
  const ask = requestTypes[requestType] === 'ask'
  const eventId = compileId(plan, 'eventId', fields.eventId)
  const transactionId = compileId(plan, 'transactionId', fields.transactionId)
  const originalTransactionId = compileId(
    plan,
    'originalTransactionId',
    fields.originalTransactionId,
  )
  const cardId = compileId(plan, 'cardId', fields.cardId)
  const currency = compileText(plan, 'currency', fields.currency, toCurrency)
  const channel = compileId(plan, 'channel', fields.channel)
  const entryMode = compileId(plan, 'entryMode', fields.entryMode)
  const mid = compileId(plan, 'merchant.mid', fields.mid)
  const mcc = compileText(plan, 'merchant.mcc', fields.mcc)
  const merchantName = compileText(plan, 'merchant.name', fields.merchantName)
  const merchantCity = compileText(plan, 'merchant.city', fields.merchantCity)
  const merchantCountry = compileCountry(plan, 'merchant.country', fields.merchantCountry)
  const merchantCurrency = compileText(
    plan,
    'merchantCurrency',
    fields.merchantCurrency,
    toCurrency,
  )
  const readAmount = compileAmount(plan, fields.amount)
  const readMerchantAmount = compileAmount(plan, fields.merchantAmount)
  const readTime = compileTime(plan, fields.occurredAt)
  const readFinal = compileFlag(plan, fields.final)
  const readPartial = compileFlag(plan, fields.partialApprovalSupported)
  const { id, text } = fieldShapes

  const wrong = (found: Found, { name, where }: Named, problem: string): Refusal =>
    refuse(found, name, `${name} ${where === '' ? '' : `(${where}) `}${problem}`)
  const missing = (found: Found, field: TextField): Refusal => wrong(found, field, 'is required')

  return (found) => {
    const event = eventId.read(found)
    if (event === '') return missing(found, eventId)
    if (event === undefined || !(eventId.fits || isId(event))) {
      return wrong(found, eventId, id.must)
    }
    const transaction = transactionId.read(found)
    if (transaction === '' && !transactionId.mayBeAbsent) return missing(found, transactionId)
    if (transaction === undefined || !isIdOrNone(transactionId, transaction)) {
      return wrong(found, transactionId, id.must)
    }
    const card = cardId.read(found)
    if (card === '') return missing(found, cardId)
    if (card === undefined || !(cardId.fits || isId(card))) return wrong(found, cardId, id.must)
    const currencyCode = currency.read(found)
    if (currencyCode === '') return missing(found, currency)
    if (currencyCode === undefined || !fieldShapes.currency.holds(currencyCode)) {
      return wrong(found, currency, fieldShapes.currency.must)
    }
    const occurredAtMs = readTime.read(found)
    if (occurredAtMs === null) return wrong(found, readTime, readTime.must)
    if (occurredAtMs === 0 && readTime.where !== '') return wrong(found, readTime, 'is required')

    const merchantMid = mid.read(found)
    if (merchantMid === '' && ask) return missing(found, mid)
    if (merchantMid === undefined || !isIdOrNone(mid, merchantMid)) {
      return wrong(found, mid, id.must)
    }
    const merchantMcc = mcc.read(found)
    if (merchantMcc === '' && ask) return missing(found, mcc)
    if (merchantMcc === undefined || !(merchantMcc === '' || fieldShapes.mcc.holds(merchantMcc))) {
      return wrong(found, mcc, fieldShapes.mcc.must)
    }
    const name = merchantName.read(found)
    if (name === undefined || !text.holds(name)) return wrong(found, merchantName, text.must)
    const city = merchantCity.read(found)
    if (city === undefined || !text.holds(city)) return wrong(found, merchantCity, text.must)
    const country = merchantCountry.read(found)
    if (country === undefined || !(country === '' || fieldShapes.country.holds(country))) {
      return wrong(found, merchantCountry, 'must be an ISO 3166 alpha-2 or alpha-3 code')
    }

    const original = originalTransactionId.read(found)
    if (original === undefined || !isIdOrNone(originalTransactionId, original)) {
      return wrong(found, originalTransactionId, id.must)
    }
    const channelId = channel.read(found)
    if (channelId === undefined || !isIdOrNone(channel, channelId)) {
      return wrong(found, channel, id.must)
    }
    const mode = entryMode.read(found)
    if (mode === undefined || !isIdOrNone(entryMode, mode)) {
      return wrong(found, entryMode, id.must)
    }
    const final = readFinal.read(found)
    if (final === undefined) return wrong(found, { ...readFinal, name: 'final' }, mustBeFlag)
    const partial = readPartial.read(found)
    if (partial === undefined) {
      return wrong(found, { ...readPartial, name: 'partialApprovalSupported' }, mustBeFlag)
    }

    const amountMinor = readAmount.read(found, currencyCode)
    if (typeof amountMinor === 'string') {
      return wrong(found, { ...readAmount, name: 'amount' }, amountMinor)
    }
    if (amountMinor === null && requestType !== 'Reversal') {
      return wrong(found, { ...readAmount, name: 'amount' }, 'is required')
    }
    const theirCurrency = merchantCurrency.read(found)
    if (
      theirCurrency === undefined ||
      !(theirCurrency === '' || fieldShapes.currency.holds(theirCurrency))
    ) {
      return wrong(found, merchantCurrency, fieldShapes.currency.must)
    }
    // Without its currency an amount says nothing; it is a fact for rules and never booked.
    const theirAmount = theirCurrency === '' ? null : readMerchantAmount.read(found, theirCurrency)
    if (typeof theirAmount === 'string') {
      return wrong(found, { ...readMerchantAmount, name: 'merchantAmount' }, theirAmount)
    }

    // Nothing below may refuse.
    const merchant: Merchant = {
      mid: merchantMid,
      mcc: merchantMcc,
      name: printable(name),
      city: printable(city),
      country,
    }
    const mapped: CardEvent = {
      eventId: event,
      requestType,
      transactionId: transaction,
      originalTransactionId: original,
      cardId: card,
      amountMinor,
      currency: currencyCode,
      final,
      partialApprovalSupported: partial ?? false,
      merchant,
      channel: channelId,
      entryMode: mode,
      merchantAmountMinor: theirAmount ?? 0,
      merchantCurrency: theirCurrency,
      occurredAtMs,
    }
    if (echoed.length > 0) (mapped as EchoingEvent)[echoes] = repeat(found, echoed)
    return mapped
  }
}

function isIdOrNone(field: TextField, given: string): boolean {
  return given === '' || field.fits || isId(given)
}

interface EchoingEvent extends CardEvent {
  [echoes]: readonly string[]
}

interface Named {
  readonly name: string
  readonly where: string
}

const mustBeFlag = 'must be true or false, or one of the texts of yes and no'

function repeat(found: Found, echoed: readonly number[]): readonly string[] {
  const repeated: string[] = []
  for (let i = 0; i < echoed.length; i++) repeated.push(jsonOf(found.at(echoed[i] as number)))
  return repeated
}

/** '' when nothing is there: objects and arrays are not repeated. */
function jsonOf(value: JsonValue | undefined): string {
  if (typeof value === 'string') return quote(value)
  if (isJsonNumber(value)) return value.decimal
  return typeof value === 'boolean' ? String(value) : ''
}

const nothing: ReadText = () => ''

function readAt(plan: PointerPlan, pointer: string): ReadText {
  const at = plan.place(pointer)
  return (found) => {
    const value = found.at(at)
    if (typeof value === 'string') return value
    if (value === undefined || value === null) return ''
    if (typeof value === 'boolean') return String(value)
    return isJsonNumber(value) ? value.decimal : undefined
  }
}

/** The parts one after the other; '' when one of them is missing. */
function compileConcat(plan: PointerPlan, concat: readonly string[]): ReadText {
  const reads = concat.map((part): ReadText => {
    return part.startsWith('/') ? readAt(plan, part) : () => part
  })
  return (found) => {
    let joined = ''
    for (const read of reads) {
      const part = read(found)
      if (part === undefined || part === '') return part
      joined += part
    }
    return joined
  }
}

/** The first that is there. */
function compileParts(plan: PointerPlan, parts: readonly PartFile[]): ReadText {
  const reads = parts.map(({ pointer, concat }): ReadText => {
    return pointer === undefined ? compileConcat(plan, concat ?? []) : readAt(plan, pointer)
  })
  const [only] = reads
  if (reads.length === 1 && only !== undefined) return only
  return (found) => {
    for (const read of reads) {
      const value = read(found)
      if (value !== '') return value
    }
    return ''
  }
}

interface SourceFile {
  readonly pointer?: readonly PartFile[] | undefined
  readonly coalesce?: readonly PartFile[] | undefined
  readonly concat?: readonly string[] | undefined
}

function compileSource(plan: PointerPlan, file: SourceFile): ReadText {
  if (file.concat !== undefined) return compileConcat(plan, file.concat)
  const parts = file.pointer ?? file.coalesce
  return parts === undefined ? nothing : compileParts(plan, parts)
}

function whereOf(file: SourceFile): string {
  const parts: readonly PartFile[] = file.pointer ?? file.coalesce ?? [{ concat: [] }]
  return parts
    .map(({ pointer, concat = file.concat ?? [] }) => pointer ?? concat.join(''))
    .join(' or ')
}

function compileText(
  plan: PointerPlan,
  name: string,
  file: TextFile | null,
  convert: ((given: string) => string) | null = null,
): TextField {
  const none = { name, where: '', mayBeAbsent: true, fits: false }
  if (file === null) return { ...none, read: nothing }
  const { constant, fallback = '' } = file
  if (constant !== undefined) return { ...none, read: () => constant }
  let read = compileSource(plan, file)
  if (file.map !== undefined) read = throughMap(read, file.map, file.default)
  if (convert !== null) read = converted(read, convert)
  if (fallback !== '') read = withFallback(read, fallback)
  const mayBeAbsent = file.fallback !== undefined
  return { name, where: whereOf(file), mayBeAbsent, fits: false, read }
}

function throughMap(
  read: ReadText,
  map: Readonly<Record<string, string>>,
  otherwise: string | undefined,
): ReadText {
  const targets = new Map(Object.entries(map))
  return (found) => {
    const value = read(found)
    return value === undefined || value === '' ? value : (targets.get(value) ?? otherwise)
  }
}

function converted(read: ReadText, convert: (given: string) => string): ReadText {
  return (found) => {
    const value = read(found)
    return value === undefined || value === '' ? value : convert(value)
  }
}

function withFallback(read: ReadText, fallback: string): ReadText {
  return (found) => {
    const value = read(found)
    return value === '' ? fallback : value
  }
}

const hashChars = 32

function compileId(plan: PointerPlan, name: string, file: IdFile | null): TextField {
  if (!file?.hash) return compileText(plan, name, file)
  // A constant or a fallback is not hashed, so it is looked at.
  const fits = file.constant === undefined && file.fallback === undefined
  return { ...compileText(plan, name, file, toId), fits }
}

/** What does not fit an id stands for itself by its hash. */
function toId(given: string): string {
  if (isId(given)) return given
  return createHash('sha256').update(given).digest('hex').slice(0, hashChars)
}

function compileCountry(plan: PointerPlan, name: string, file: CountryFile | null): TextField {
  const absent = file?.unknown === 'absent'
  return compileText(plan, name, file, (given) => {
    const code = countryNames.get(given)
    return code ?? (absent ? '' : unknownCode)
  })
}

/** Not '', which would be taken for nothing. */
const unknownCode = '?'

/** Every way to name a country: alpha-2 and alpha-3. */
const countryNames: ReadonlyMap<string, string> = new Map([
  ...[...countries].map((code): [string, string] => [code, code]),
  ...alpha2ByAlpha3,
])

/** Every way to name a currency: capitals, small letters, the number with and without its zeros. */
const currencyNames: ReadonlyMap<string, string> = new Map([
  ...[...currencyDecimals.keys()].flatMap((code) => [
    [code, code],
    [code.toLowerCase(), code],
  ]),
  ...[...currencyByNumber].flatMap(([number, code]) => [
    [number, code],
    [String(Number(number)), code],
  ]),
] as [string, string][])

function toCurrency(given: string): string {
  return currencyNames.get(given) ?? unknownCode
}

function compileFlag(
  plan: PointerPlan,
  file: FlagFile | null,
): { readonly where: string; readonly read: ReadFlag } {
  if (file === null) return { where: '', read: () => null }
  const { constant } = file
  if (constant !== undefined) return { where: '', read: () => constant }
  const words = new Map<string, boolean | null>([
    ['true', true],
    ['false', false],
    ['', null],
    ...file.yes.map((word): [string, boolean] => [word, true]),
    ...file.no.map((word): [string, boolean] => [word, false]),
  ])
  const read = compileSource(plan, file)
  return { where: whereOf(file), read: (found) => words.get(read(found) ?? 'no text') }
}

const maxUnixMs = 253_402_300_799_999

function compileTime(
  plan: PointerPlan,
  file: TimeFile | null,
): Named & { readonly must: string; readonly read: ReadTime } {
  const name = 'occurredAt'
  if (file === null) return { name, where: '', must: '', read: () => 0 }
  const read = compileSource(plan, file)
  const where = whereOf(file)
  if (file.form === 'rfc3339') {
    const parse: ReadTime = (found) => {
      const given = read(found)
      return given === undefined ? null : given === '' ? 0 : parseTimestamp(given)
    }
    return { name, where, must: fieldShapes.time.must, read: parse }
  }
  const unitMs = file.form === 'unix-seconds' ? 1000 : 1
  const parse: ReadTime = (found) => {
    const given = read(found)
    if (given === '') return 0
    // Fractions of a second are cut off, as those of a millisecond are in RFC 3339.
    if (given === undefined || !/^[0-9]{1,15}(\.[0-9]{1,9})?$/.test(given)) return null
    const ms = Math.floor(Number(given) * unitMs)
    return ms <= maxUnixMs ? ms : null
  }
  return { name, where, must: `must be a time in ${file.form}`, read: parse }
}

/** A currency without decimals: an amount in minor units is a whole number like one of these. */
const wholeUnits = 'JPY'
const notMinor = 'must be a whole number of minor units'

function compileAmount(
  plan: PointerPlan,
  file: AmountFile | null,
): { readonly where: string; readonly read: ReadAmount } {
  if (file === null) return { where: '', read: () => null }
  const read = compileSource(plan, file)
  const { unit, sign } = file
  const decimals = new Map(Object.entries(file.decimals))
  return {
    where: whereOf(file),
    read(found, currency) {
      let given = read(found)
      if (given === undefined) return notMoney
      if (given === '') return null
      if (sign !== 'as-is') {
        const negative = given.charCodeAt(0) === 0x2d
        if (negative) given = given.slice(1)
        else if (sign === 'negate' && !isZero(given)) return 'must be negative'
      }
      if (unit === 'major') {
        const minor = parseMinor(given, currency)
        return typeof minor === 'number' ? minor : moneyMessages[minor]
      }
      const units = parseMinor(given, wholeUnits)
      if (units === 'too many decimals') return notMinor
      if (typeof units !== 'number') return moneyMessages[units]
      const theirs = decimals.size === 0 ? undefined : decimals.get(currency)
      if (theirs === undefined || theirs === decimalsOf(currency)) return units
      const minor = parseMinor(`${units}e-${theirs}`, currency)
      return typeof minor === 'number' ? minor : moneyMessages[minor]
    },
  }
}

function isZero(decimal: string): boolean {
  return parseMinor(decimal, wholeUnits) === 0
}
