import type { Draft } from '../change/draft.ts'
import type { Card } from '../record/card.ts'
import type { CardEvent } from '../record/event.ts'
import {
  askedCurrency,
  countryChars,
  isFading,
  maxDeclinesInRow,
  maxSeenCountries,
  maxSeenCurrencies,
  maxSeenMccs,
  maxSeenMerchants,
  mccChars,
  merchantHash,
  type NotedAsk,
} from '../record/familiarity.ts'
import type { Fresh } from '../record/fresh.ts'
import { parseLocation } from '../record/location.ts'

/**
 * What cards remember for the rules of a pack: where they bought before, when they were last asked.
 *
 * Seen is where an ask above zero was approved. A zero amount does not count, or who tries a card
 * would make himself known by it; nor does a settlement, which often names another merchant than its
 * ask did, or none. What was seen stays so when the ask is reversed, expires or is undone because
 * the default declined it: it had passed every rule. A card that was issued again starts anew.
 *
 * Last asked is by any ask of the relay, approved or declined, zero or more: each shows the card in use.
 */
export interface Remembers {
  readonly merchants: boolean
  readonly countries: boolean
  /** Without it only approved asks above zero date the card. */
  readonly lastAsk: boolean
  readonly mccs: boolean
  readonly currencies: boolean
  /** Any declined ask counts; one approved above zero ends the row. */
  readonly declines: boolean
  /** Country and city of the last approved ask above zero whose merchant said its country. */
  readonly place: boolean
  /** Latitude and longitude of the last approved ask above zero that said them. */
  readonly location: boolean
}

/** Where a card keeps it. */
export const rememberedIn: Readonly<Record<keyof Remembers, readonly (keyof Card)[]>> = {
  merchants: ['seenMerchants'],
  countries: ['seenCountries'],
  lastAsk: ['lastAskAtMs'],
  mccs: ['seenMccs'],
  currencies: ['seenCurrencies'],
  declines: ['declinesInRow'],
  place: ['lastCountry', 'lastCity', 'lastPlaceAtMs'],
  location: ['lastLocation', 'lastLocationAtMs'],
}

/** For packs whose rules look at nothing of it: then nothing is kept. */
export const remembersNothing: Remembers = {
  merchants: false,
  countries: false,
  lastAsk: false,
  mccs: false,
  currencies: false,
  declines: false,
  place: false,
  location: false,
}

/** Makes the changes by which a card remembers an ask. */
export function rememberAsk(
  draft: Draft,
  event: CardEvent,
  approved: boolean,
  remembers: Remembers,
): void {
  const { merchant, amountMinor } = event
  const { card } = draft.view
  const bought = approved && amountMinor !== 0
  if (remembers.lastAsk && !bought && card.lastAskAtMs !== draft.atMs) {
    draft.make({ type: 'askSeen' })
  }
  const noted = notedOf(event, card, approved, remembers)
  if (noted !== null) draft.make({ type: 'askNoted', noted })
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

/** null when the card need not note anything new. */
function notedOf(
  event: CardEvent,
  card: Card,
  approved: boolean,
  { mccs, currencies, declines, place, location }: Remembers,
): NotedAsk | null {
  if (!(mccs || currencies || declines || place || location)) return null
  const { mcc, country, city } = event.merchant
  const bought = approved && event.amountMinor !== 0
  const currency = askedCurrency(event)
  const row = approved ? (bought ? 0 : card.declinesInRow) : card.declinesInRow + 1
  const noted: Fresh<NotedAsk> = {}
  if (declines && row !== card.declinesInRow) noted.declines = Math.min(row, maxDeclinesInRow)
  if (bought && mccs && mcc.length === mccChars && isFading(card.seenMccs, mcc, maxSeenMccs)) {
    noted.mcc = mcc
  }
  if (bought && currencies && isFading(card.seenCurrencies, currency, maxSeenCurrencies)) {
    noted.currency = currency
  }
  if (bought && place && country !== '') noted.place = { country, city }
  const at = event.details?.location ?? ''
  if (bought && location && parseLocation(at) !== null) noted.location = at
  return Object.keys(noted).length === 0 ? null : noted
}
