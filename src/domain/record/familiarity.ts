import { type Card, copyCard } from './card.ts'
import { type CardEvent, hash64 } from './event.ts'

/** A card that has seen more has forgotten those that it used longest ago. */
export const maxSeenMerchants = 256

export const maxSeenCountries = 64

export const maxSeenMccs = 64

export const maxSeenCurrencies = 32

export const mccChars = 4

const currencyChars = 3

/** More declined asks in a row than this are not told apart. */
export const maxDeclinesInRow = 1000

/** Characters of a merchant's hash: among so few, two that are alike are one in 16 million. */
const merchantChars = 8

export const countryChars = 2

/** What a card remembers of an ask beside merchant and country; absent is as before. */
export interface NotedAsk {
  readonly mcc?: string
  readonly currency?: string
  /** Declined asks in a row, with this one. */
  readonly declines?: number
  readonly place?: { readonly country: string; readonly city: string }
  readonly location?: string
}

/** A card that was never asked counts as asked a year ago. */
export const maxMinutesSinceLastAsk = 525_600

export function hasSeenMerchant({ seenMerchants }: Card, mid: string): boolean {
  return mid !== '' && placeOf(seenMerchants, merchantHash(mid)) >= 0
}

export function hasSeenCountry({ seenCountries }: Card, country: string): boolean {
  return country.length === countryChars && placeOf(seenCountries, country) >= 0
}

export function hasSeenMcc({ seenMccs }: Card, mcc: string): boolean {
  return mcc.length === mccChars && placeOf(seenMccs, mcc) >= 0
}

export function hasSeenCurrency({ seenCurrencies }: Card, currency: string): boolean {
  return currency.length === currencyChars && placeOf(seenCurrencies, currency) >= 0
}

/** The currency that the merchant asked in. */
export function askedCurrency({ merchantCurrency, currency }: CardEvent): string {
  return merchantCurrency === '' ? currency : merchantCurrency
}

export function minutesSinceLastAsk({ lastAskAtMs }: Card, atMs: number): number {
  return minutesSince(lastAskAtMs, atMs)
}

/** Whole minutes, at most a year; a year where it never was. */
export function minutesSince(sinceMs: number, atMs: number): number {
  if (sinceMs === 0) return maxMinutesSinceLastAsk
  const minutes = Math.floor((atMs - sinceMs) / 60_000)
  return Math.min(Math.max(0, minutes), maxMinutesSinceLastAsk)
}

export function withMerchant(seen: string, hash: string): string {
  return moveToEnd(seen, hash, maxSeenMerchants)
}

export function withCountry(seen: string, country: string): string {
  return moveToEnd(seen, country, maxSeenCountries)
}

/** The card with what it remembers of an ask. */
export function withNoted(
  card: Card,
  { mcc, currency, declines, place, location }: NotedAsk,
  atMs: number,
): Card {
  const next = copyCard(card)
  if (mcc !== undefined) next.seenMccs = moveToEnd(card.seenMccs, mcc, maxSeenMccs)
  if (currency !== undefined) {
    next.seenCurrencies = moveToEnd(card.seenCurrencies, currency, maxSeenCurrencies)
  }
  if (declines !== undefined) next.declinesInRow = declines
  if (place !== undefined) {
    next.lastCountry = place.country
    next.lastCity = place.city
    next.lastPlaceAtMs = atMs
  }
  if (location !== undefined) {
    next.lastLocation = location
    next.lastLocationAtMs = atMs
  }
  return next
}

/** Merchants are kept by hash, because they need only to be found again. */
export function merchantHash(mid: string): string {
  return hash64(mid).slice(0, merchantChars)
}

/** Values of one width stand in one text, which takes far less memory than a list of texts. */
function placeOf(seen: string, value: string): number {
  let at = seen.indexOf(value)
  while (at > 0 && at % value.length !== 0) at = seen.indexOf(value, at + 1)
  return at
}

/** Not seen, or among the older half: what is used often need not move to the end each time. */
export function isFading(seen: string, value: string, maxValues: number): boolean {
  const at = placeOf(seen, value)
  return at < 0 || at < seen.length - (maxValues / 2) * value.length
}

export function withoutSeen(seen: string, values: readonly string[]): string {
  return values.reduce(without, seen)
}

function without(seen: string, value: string): string {
  const at = placeOf(seen, value)
  return at < 0 ? seen : seen.slice(0, at) + seen.slice(at + value.length)
}

function moveToEnd(seen: string, value: string, maxValues: number): string {
  return (without(seen, value) + value).slice(-maxValues * value.length)
}
