import type { Card } from '../record/card.ts'
import { type CardEvent, hash64 } from '../record/event.ts'
import type { Draft } from './draft.ts'

/**
 * What a card remembers for rules: where it has bought before, and when it was last asked.
 *
 * Seen is where an ask above zero was approved. A zero amount does not count, or who tries a card
 * would make himself known by it; nor does a settlement, which often names another merchant than its
 * ask did, or none. What was seen stays so when the ask is reversed, expires or is undone because
 * the default declined it: it had passed every rule. A card that was issued again starts anew.
 *
 * An ask is any ask of the relay, approved or declined, zero or more: each shows the card in use.
 */
export interface Remembers {
  readonly merchants: boolean
  readonly countries: boolean
  /** Without it only approved asks above zero date the card. */
  readonly lastAsk: boolean
}

/** Nothing is kept for packs whose rules do not look at it. */
export const remembersNothing: Remembers = { merchants: false, countries: false, lastAsk: false }

/** A card that has seen more has forgotten those that it used longest ago. */
export const maxSeenMerchants = 64
export const maxSeenCountries = 32

/** Characters of a merchant's hash: among so few, two that are alike are one in 60 million. */
const merchantChars = 8
const countryChars = 2

/** What never was is as long ago as a year. */
export const maxMinutesSinceLastAsk = 525_600

export function hasSeenMerchant({ seenMerchants }: Card, mid: string): boolean {
  return mid !== '' && placeOf(seenMerchants, merchantHash(mid)) >= 0
}

export function hasSeenCountry({ seenCountries }: Card, country: string): boolean {
  return country.length === countryChars && placeOf(seenCountries, country) >= 0
}

/** Whole minutes. */
export function minutesSinceLastAsk({ lastAskAtMs }: Card, atMs: number): number {
  if (lastAskAtMs === 0) return maxMinutesSinceLastAsk
  const minutes = Math.floor((atMs - lastAskAtMs) / 60_000)
  return Math.min(Math.max(0, minutes), maxMinutesSinceLastAsk)
}

/** Makes the changes by which a card remembers an ask. */
export function rememberAsk(
  draft: Draft,
  { merchant, amountMinor }: CardEvent,
  approved: boolean,
  remembers: Remembers,
): void {
  const { card } = draft.view
  const bought = approved && amountMinor !== 0
  if (remembers.lastAsk && !bought && card.lastAskAtMs !== draft.atMs) {
    draft.make({ type: 'askSeen' })
  }
  if (!bought) return
  if (remembers.merchants && merchant.mid !== '') {
    const hash = merchantHash(merchant.mid)
    if (isFading(card.seenMerchants, hash, maxSeenMerchants)) {
      draft.make({ type: 'merchantSeen', hash })
    }
  }
  const { country } = merchant
  if (remembers.countries && country.length === countryChars) {
    if (isFading(card.seenCountries, country, maxSeenCountries)) {
      draft.make({ type: 'countrySeen', country })
    }
  }
}

export function withMerchant(seen: string, hash: string): string {
  return moveToEnd(seen, hash, maxSeenMerchants)
}

export function withCountry(seen: string, country: string): string {
  return moveToEnd(seen, country, maxSeenCountries)
}

/** A hash is kept, because what is seen needs only to be found again. */
function merchantHash(mid: string): string {
  return hash64(mid).slice(0, merchantChars)
}

/** Values of one width stand in one text, which takes far less memory than a list of texts. */
function placeOf(seen: string, value: string): number {
  for (let at = 0; at < seen.length; at += value.length) {
    if (seen.startsWith(value, at)) return at
  }
  return -1
}

/** Not seen, or next to be forgotten: what is used often need not move each time. */
function isFading(seen: string, value: string, maxValues: number): boolean {
  const at = placeOf(seen, value)
  return at < 0 || at < seen.length - (maxValues / 2) * value.length
}

function moveToEnd(seen: string, value: string, maxValues: number): string {
  const at = placeOf(seen, value)
  const others = at < 0 ? seen : seen.slice(0, at) + seen.slice(at + value.length)
  return (others + value).slice(-maxValues * value.length)
}
