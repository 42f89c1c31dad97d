import { isCurrency } from '../domain/record/currency.ts'
import {
  type CardEvent,
  type EventDetails,
  type Merchant,
  metadataPrefix,
  type RequestType,
  requestTypes,
} from '../domain/record/event.ts'
import { formatMinor } from '../domain/record/money.ts'
import {
  fieldShapes,
  isDetail,
  isId,
  maxTextChars,
  printable,
  type Shape,
} from '../wire/field-shape.ts'
import type { Refusal } from '../wire/refusal.ts'
import {
  compileAmount,
  compileCountry,
  compileFlag,
  compileId,
  compileText,
  compileTime,
  type Named,
  type TextField,
  toCurrency,
  unknownCode,
} from './field.ts'
import type { FieldsFile, IdFile, OverridesFile } from './file.ts'
import type { Found, PointerPlan } from './pointer.ts'

/** The field, and a sentence that names it and its place. */
export type Fault = readonly [field: string, message: string]

export type ReadFields = (found: Found) => CardEvent | Refusal

type Fields = ReturnType<typeof override>

/** The mapping for one requestType; null is a mapping that it does not have. */
export function override(base: FieldsFile, given: OverridesFile | undefined) {
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
    cashAmount: base.details?.cashAmount ?? null,
    details: detailFiles(base),
  }
}

/** The mappings of details and metadata, by the names that events have for them. */
function detailFiles({
  details: { cashAmount: _amount, ...details } = {},
  metadata = {},
}: FieldsFile): Readonly<Record<string, IdFile>> {
  const own = Object.entries(metadata).map(([name, file]) => [metadataPrefix + name, file])
  return Object.fromEntries([...Object.entries(details), ...own])
}

export function compileFields(
  plan: PointerPlan,
  requestType: RequestType,
  fields: Fields,
  refuse: (found: Found, faults: readonly Fault[], about: 'ask' | 'advice') => Refusal,
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
  const readAmount = compileAmount(plan, 'amount', fields.amount)
  const readMerchantAmount = compileAmount(plan, 'merchantAmount', fields.merchantAmount)
  const readCash = compileAmount(plan, 'details.cashAmount', fields.cashAmount)
  const readTime = compileTime(plan, fields.occurredAt)
  const readFinal = compileFlag(plan, 'final', fields.final)
  const readPartial = compileFlag(plan, 'partialApprovalSupported', fields.partialApprovalSupported)
  const { id } = fieldShapes
  const details = Object.entries(fields.details).map(([name, file]) => {
    return { name, field: compileId(plan, `details.${name}`, file) }
  })

  /** Of the body that is being read. Reading never waits, so one list serves all bodies. */
  const faults: Fault[] = []
  const wrong = ({ name, where }: Named, problem: string): void => {
    faults.push([name, `${name} ${where === '' ? '' : `(${where}) `}${problem}`])
  }

  function readId(field: TextField, found: Found, needed: boolean): string {
    const given = field.read(found)
    if (given === '') {
      if (needed) wrong(field, 'is required')
      return ''
    }
    if (given !== undefined && (field.fits || isId(given))) return given
    wrong(field, id.must)
    return ''
  }

  /** Rules look at it, and an advice goes through no rules: there it is absent when it is wrong. */
  function readFact(field: TextField, found: Found, needed: boolean, shape: Shape): string {
    const given = field.read(found)
    if (given === '' && !needed) return ''
    if (given !== undefined && given !== '' && (field.fits || shape.holds(given))) return given
    if (ask) wrong(field, given === '' ? 'is required' : shape.must)
    return ''
  }

  return (found) => {
    const event = readId(eventId, found, true)
    const transaction = readId(transactionId, found, !transactionId.mayBeAbsent)
    const card = readId(cardId, found, true)
    const currencyCode = currency.read(found) ?? unknownCode
    const knownCurrency = isCurrency(currencyCode)
    if (!knownCurrency) {
      wrong(currency, currencyCode === '' ? 'is required' : fieldShapes.currency.must)
    }
    const occurredAtMs = readTime.read(found)
    if (occurredAtMs === null) wrong(readTime, readTime.must)
    if (occurredAtMs === 0 && readTime.where !== '') wrong(readTime, 'is required')

    const merchant: Merchant = {
      mid: readFact(mid, found, ask, id),
      mcc: readFact(mcc, found, ask, fieldShapes.mcc),
      name: forPeople(merchantName.read(found)),
      city: forPeople(merchantCity.read(found)),
      country: readFact(merchantCountry, found, false, country),
    }
    const original = readId(originalTransactionId, found, false)
    const channelId = readFact(channel, found, false, id)
    const mode = readFact(entryMode, found, false, id)
    const final = readFinal.read(found)
    if (final === undefined) wrong(readFinal, mustBeFlag)
    const partial = readPartial.read(found)
    if (partial === undefined && ask) wrong(readPartial, mustBeFlag)

    const amountMinor = knownCurrency ? readAmount.read(found, currencyCode) : 0
    if (typeof amountMinor === 'string') wrong(readAmount, amountMinor)
    if (amountMinor === null && requestType !== 'Reversal') wrong(readAmount, 'is required')
    if (
      faults.length > 0 ||
      occurredAtMs === null ||
      final === undefined ||
      typeof amountMinor === 'string'
    ) {
      return refuse(found, faults.splice(0), ask ? 'ask' : 'advice')
    }

    // Nothing below may refuse.
    // Facts for rules, never booked: what cannot be read of them is absent and refuses no payment.
    const theirs = merchantCurrency.read(found) ?? unknownCode
    const theirCurrency = isCurrency(theirs) ? theirs : ''
    const theirAmount = theirCurrency === '' ? 0 : readMerchantAmount.read(found, theirCurrency)
    return {
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
      merchantAmountMinor: typeof theirAmount === 'number' ? theirAmount : 0,
      merchantCurrency: theirCurrency,
      occurredAtMs,
      ...readDetails(found, currencyCode),
    }
  }

  function readDetails(found: Found, code: string): { readonly details?: EventDetails } {
    const read: Record<string, string> = {}
    const cash = readCash.read(found, code)
    if (typeof cash === 'number') read.cashAmount = formatMinor(cash, code)
    for (const { name, field } of details) {
      const text = field.read(found)
      if (text !== undefined && isDetail(text)) read[name] = text
    }
    return Object.keys(read).length === 0 ? {} : { details: read }
  }
}

/** A name that is too long is cut, and one that is no text is none: a payment does not hang on it. */
function forPeople(name = ''): string {
  if (name.length <= maxTextChars) return printable(name)
  // Half of a pair is no text: who reads JSON by the letter would refuse all that it stands in.
  return printable(name.slice(0, maxTextChars).replace(/[\ud800-\udbff]$/, ''))
}

const country: Shape = {
  must: 'must be an ISO 3166 alpha-2 or alpha-3 code',
  holds: fieldShapes.country.holds,
}
const mustBeFlag = 'must be true or false, or one of the texts of yes and no'
