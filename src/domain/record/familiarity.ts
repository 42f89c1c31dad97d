import type { Card } from './card.ts'
import { hash64 } from './event.ts'

/** A card that has seen more has forgotten those that it used longest ago. */
export const maxSeenMerchants = 256

export const maxSeenCountries = 64

/** Characters of a merchant's hash: among so few, two that are alike are one in 16 million. */
const merchantChars = 8

export const countryChars = 2

/** A card that was never asked counts as asked a year ago. */
export const maxMinutesSinceLastAsk = 525_600

export function hasSeenMerchant({ seenMerchants }: Card, mid: string): boolean {
  return mid !== '' && placeOf(seenMerchants, merchantHash(mid)) >= 0
}

export function hasSeenCountry({ seenCountries }: Card, country: string): boolean {
  return country.length === countryChars && placeOf(seenCountries, country) >= 0
}

export function minutesSinceLastAsk({ lastAskAtMs }: Card, atMs: number): number {
  if (lastAskAtMs === 0) return maxMinutesSinceLastAsk
  const minutes = Math.floor((atMs - lastAskAtMs) / 60_000)
  return Math.min(Math.max(0, minutes), maxMinutesSinceLastAsk)
}

export function withMerchant(seen: string, hash: string): string {
  return moveToEnd(seen, hash, maxSeenMerchants)
}

export function withCountry(seen: string, country: string): string {
  return moveToEnd(seen, country, maxSeenCountries)
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

function moveToEnd(seen: string, value: string, maxValues: number): string {
  const at = placeOf(seen, value)
  const others = at < 0 ? seen : seen.slice(0, at) + seen.slice(at + value.length)
  return (others + value).slice(-maxValues * value.length)
}
