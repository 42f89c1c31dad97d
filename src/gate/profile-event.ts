import { type CardEvent, type Merchant, type RequestType, requestTypes } from '../domain/event.ts'
import { fieldShapes, isId, printable } from './field-shape.ts'
import { type EchoingEvent, echoes, repeat } from './profile-echo.ts'
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
} from './profile-field.ts'
import type { FieldsFile, OverridesFile } from './profile-file.ts'
import type { Found, PointerPlan } from './profile-pointer.ts'
import type { Refusal } from './refusal.ts'

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
  }
}

export function compileFields(
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

const mustBeFlag = 'must be true or false, or one of the texts of yes and no'
