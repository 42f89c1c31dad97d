import type { WindowFacts } from '../../domain/decide/window.ts'
import {
  askedCurrency,
  hasSeenCountry,
  hasSeenCurrency,
  hasSeenMcc,
  hasSeenMerchant,
  maxDeclinesInRow,
  maxMinutesSinceLastAsk,
  maxSeenCountries,
  maxSeenCurrencies,
  maxSeenMccs,
  maxSeenMerchants,
  minutesSince,
  minutesSinceLastAsk,
} from '../../domain/record/familiarity.ts'
import { kilometresBetween, maxDistanceKm, parseLocation } from '../../domain/record/location.ts'
import type { Fact } from './fact.ts'
import { number, text, yesNo } from './fact-kind.ts'
import { countryForm } from './text-form.ts'

/** Facts that cards remember of earlier asks, while a rule of the pack uses them. */
export const memoryFacts: readonly Fact[] = [
  {
    ...number(
      'minutes_since_last_ask',
      `Whole minutes since the last ask of the card, ${maxMinutesSinceLastAsk} when there was none`,
      ({ card, atMs }) => minutesSinceLastAsk(card, atMs),
      maxMinutesSinceLastAsk,
    ),
    remembers: 'lastAsk',
  },
  {
    ...yesNo(
      'merchant_seen',
      `The card was approved at this merchant before: one of the last ${maxSeenMerchants} that it used`,
      ({ card, event }) => hasSeenMerchant(card, event.merchant.mid),
    ),
    remembers: 'merchants',
  },
  {
    ...yesNo(
      'country_seen',
      `The card was approved in this country before: one of the last ${maxSeenCountries} that it used`,
      ({ card, event }) => hasSeenCountry(card, event.merchant.country),
    ),
    remembers: 'countries',
  },
  {
    ...yesNo(
      'mcc_seen',
      `The card was approved at a merchant of this MCC before: one of the last ${maxSeenMccs} that it used`,
      ({ card, event }) => hasSeenMcc(card, event.merchant.mcc),
    ),
    remembers: 'mccs',
  },
  {
    ...yesNo(
      'currency_seen',
      `The card was approved in this currency of the merchant before: one of the last ${maxSeenCurrencies} that it used`,
      ({ card, event }) => hasSeenCurrency(card, askedCurrency(event)),
    ),
    remembers: 'currencies',
  },
  {
    ...number(
      'declines_in_row',
      `Declined asks of the card since the last that was approved above zero; at most ${maxDeclinesInRow}`,
      ({ card }) => card.declinesInRow,
      maxDeclinesInRow,
    ),
    remembers: 'declines',
  },
  {
    ...yesNo(
      'country_changed',
      'The merchant is in another country than the one where the card was approved last',
      ({ card, event }) =>
        card.lastCountry !== '' &&
        event.merchant.country !== '' &&
        card.lastCountry !== event.merchant.country,
    ),
    remembers: 'place',
  },
  {
    ...number(
      'minutes_since_last_place',
      `Whole minutes since the card was last approved at a merchant that said its country, ${maxMinutesSinceLastAsk} when it never was`,
      ({ card, atMs }) => minutesSince(card.lastPlaceAtMs, atMs),
      maxMinutesSinceLastAsk,
    ),
    remembers: 'place',
  },
  {
    ...text(
      'last_country',
      'Country where the card was approved last',
      ({ card }) => card.lastCountry,
      countryForm,
    ),
    remembers: 'place',
    isPresent: ({ card }) => card.lastCountry !== '',
  },
  {
    ...text('last_city', 'City where the card was approved last', ({ card }) => card.lastCity),
    remembers: 'place',
    isPresent: ({ card }) => card.lastCity !== '',
  },
  {
    ...number(
      'distance_km',
      'Whole kilometres from where the card was last approved, by the latitude and longitude of both',
      (ask) => Math.floor(kilometresFromLast(ask) ?? 0),
      maxDistanceKm,
    ),
    remembers: 'location',
    isPresent: (ask) => kilometresFromLast(ask) !== null,
  },
  {
    ...number(
      'speed_kmh',
      'Speed of a card that went so far since then, in whole km/h; less than a minute counts as one',
      (ask) => Math.floor((kilometresFromLast(ask) ?? 0) / hoursSinceLast(ask)),
      maxDistanceKm * 60,
    ),
    remembers: 'location',
    isPresent: (ask) => kilometresFromLast(ask) !== null,
  },
]

/** null where one of the two was not said. */
function kilometresFromLast({ card, event }: WindowFacts): number | null {
  if (card.lastLocation === '') return null
  const here = parseLocation(event.details?.location ?? '')
  const last = parseLocation(card.lastLocation)
  return here === null || last === null ? null : kilometresBetween(last, here)
}

function hoursSinceLast({ card, atMs }: WindowFacts): number {
  return Math.max(60_000, atMs - card.lastLocationAtMs) / 3_600_000
}
