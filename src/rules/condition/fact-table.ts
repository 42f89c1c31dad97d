import { type Remembers, remembersNothing } from '../../domain/decide/ask-memory.ts'
import { maxAskMinor } from '../../domain/decide/check.ts'
import { isForeign } from '../../domain/decide/pack.ts'
import { dailyWindow, type WindowDefinition } from '../../domain/decide/window.ts'
import { availableMinor } from '../../domain/record/account.ts'
import { dayMs } from '../../domain/record/calendar.ts'
import {
  type Card,
  cardOrigins,
  cardStatuses,
  cardTypes,
  customerTypes,
} from '../../domain/record/card.ts'
import { heldPart, netAuthorized } from '../../domain/record/transaction.ts'
import { detailFacts, namedFact } from './detail-fact.ts'
import { askTypes, type Fact, type FactTable } from './fact.ts'
import { anyAmount, money, number, text, yesNo } from './fact-kind.ts'
import { memoryFacts } from './memory-fact.ts'
import { countryForm, currencyForm, mccForm, oneOf, orNone } from './text-form.ts'
import { factsOfWindow } from './window-fact.ts'
import { hasRates, type Rates, rateFact } from './worth.ts'

/** 0 also where nobody knows since when. */
const daysSince = (sinceMs: number, atMs: number) =>
  sinceMs === 0 ? 0 : Math.max(0, Math.floor((atMs - sinceMs) / dayMs))

function spentOn({ windows }: Card, day: number): number {
  const buckets = windows[dailyWindow]?.buckets ?? []
  return buckets.find(({ index }) => index === day)?.sumMinor ?? 0
}

/** A limit of nothing is used up. */
function percentOfLimit(usedMinor: number, limitMinor: number | null): number {
  if (limitMinor === null) return 0
  return limitMinor === 0 ? 100 : Math.floor((usedMinor * 100) / limitMinor)
}

const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const

/** The facts that all packs have; windows and lists are those of each pack. */
export const factTable: readonly Fact[] = [
  money('amount', 'What is asked for', ({ event }) => event.amountMinor ?? 0, {
    least: 0,
    most: maxAskMinor,
  }),
  text(
    'currency',
    'Currency of the ask and of its account',
    ({ event }) => event.currency,
    currencyForm,
  ),
  text('requestType', 'Kind of ask', ({ event }) => event.requestType, oneOf(askTypes)),
  text('channel', 'Channel as the relay names it', ({ event }) => event.channel),
  text('entryMode', 'Entry mode as the relay names it', ({ event }) => event.entryMode),
  yesNo(
    'partialApprovalSupported',
    'The terminal takes a partial approval',
    ({ event }) => event.partialApprovalSupported,
  ),
  {
    ...money(
      'merchantAmount',
      'The amount at the merchant, in merchantCurrency',
      ({ event }) => event.merchantAmountMinor,
    ),
    unit: 'merchantCurrency',
    isPresent: ({ event }) => event.merchantCurrency !== '',
  } as Fact,
  text(
    'merchantCurrency',
    'Currency at the merchant',
    ({ event }) => event.merchantCurrency,
    orNone(currencyForm),
  ),
  {
    ...yesNo(
      'final',
      'The relay says that no further ask follows',
      ({ event }) => event.final === true,
    ),
    isPresent: ({ event }) => event.final !== null,
  },
  yesNo('foreign', 'The merchant is in another country than the account', ({ event, account }) =>
    isForeign(event, account),
  ),
  number(
    'hour',
    'Hour of arrival in the zone of the account, 0 to 23',
    ({ account, atMs }, zone) => zone.of(account.country).hourOf(atMs),
    23,
  ),
  text(
    'weekday',
    'Day of arrival in the zone of the account',
    ({ account, atMs }, zone) => weekdays[zone.of(account.country).weekdayOf(atMs) - 1]!,
    oneOf(weekdays),
  ),

  text('merchant.mid', 'Merchant id', ({ event }) => event.merchant.mid),
  text('merchant.mcc', 'Merchant category code', ({ event }) => event.merchant.mcc, mccForm),
  text('merchant.name', 'Name of the merchant', ({ event }) => event.merchant.name),
  text('merchant.city', 'City of the merchant', ({ event }) => event.merchant.city),
  text(
    'merchant.country',
    'Country of the merchant',
    ({ event }) => event.merchant.country,
    countryForm,
  ),

  text('card.id', 'Card id', ({ card }) => card.cardId),
  text('card.customerId', 'Customer who has the card', ({ card }) => card.customerId),
  text('card.type', 'Type of the card', ({ card }) => card.type, oneOf(cardTypes)),
  text('card.status', 'Status of the card', ({ card }) => card.status, oneOf(cardStatuses)),
  text(
    'card.expiry',
    'Last month that the card is good for, such as 2029-12',
    ({ card }) => card.expiry,
  ),
  text('card.replaces', 'The card that this one was issued for again', ({ card }) => card.replaces),
  {
    ...money(
      'card.transactionLimit',
      'Limit of one transaction',
      ({ card }) => card.transactionLimitMinor ?? 0,
    ),
    isPresent: ({ card }) => card.transactionLimitMinor !== null,
  },
  {
    ...money('card.dailyLimit', 'Limit of one day', ({ card }) => card.dailyLimitMinor ?? 0),
    isPresent: ({ card }) => card.dailyLimitMinor !== null,
  },
  {
    ...number(
      'card.daily_limit_used',
      'Whole percent of the limit of one day that is spent, before this ask',
      ({ card, account, atMs }, zone) =>
        percentOfLimit(spentOn(card, zone.of(account.country).dayOf(atMs)), card.dailyLimitMinor),
    ),
    isPresent: ({ card }) => card.dailyLimitMinor !== null,
  },
  {
    ...number(
      'card.transaction_limit_used',
      'Whole percent of the limit of one transaction that this ask is',
      ({ card, event }) => percentOfLimit(event.amountMinor ?? 0, card.transactionLimitMinor),
    ),
    isPresent: ({ card }) => card.transactionLimitMinor !== null,
  },
  {
    ...number(
      'card.swipesLeft',
      'Swipes that a lite card still has',
      ({ card }) => card.swipesLeft ?? 0,
    ),
    isPresent: ({ card }) => card.swipesLeft !== null,
  },
  yesNo(
    'card.contactlessPayment',
    'The card may pay without contact',
    ({ card }) => card.contactlessPayment,
  ),
  {
    ...number(
      'card.age_days',
      'Whole days since the card was issued or imported',
      ({ card, atMs }) => daysSince(card.issuedAtMs, atMs),
    ),
    isPresent: ({ card }) => card.issuedAtMs !== 0,
  },
  {
    ...text(
      'card.issued',
      'How the card came to be: again on a shared balance or with its own, or from a file',
      ({ card }) => card.issued,
      orNone(oneOf(cardOrigins)),
    ),
    isPresent: ({ card }) => card.issued !== '',
  },
  {
    ...text(
      'customer.type',
      'What the customer is, where somebody said so',
      ({ card }) => card.customerType,
      orNone(oneOf(customerTypes)),
    ),
    isPresent: ({ card }) => card.customerType !== '',
  },

  text('account.id', 'Account behind the card', ({ account }) => account.accountId),
  text(
    'account.organizationId',
    'Organization that has the account',
    ({ account }) => account.organizationId,
  ),
  text('account.country', 'Country of the account', ({ account }) => account.country, countryForm),
  text(
    'account.currency',
    'Currency of the account',
    ({ account }) => account.currency,
    currencyForm,
  ),
  {
    ...number(
      'account.age_days',
      'Whole days since the account was opened here',
      ({ account, atMs }) => daysSince(account.openedAtMs, atMs),
    ),
    isPresent: ({ account }) => account.openedAtMs !== 0,
  },
  money(
    'account.posted',
    'Posted, before this ask',
    ({ account }) => account.postedMinor,
    anyAmount,
  ),
  money('account.held', 'Held, before this ask', ({ account }) => account.heldMinor),
  money(
    'account.available',
    'Available, before this ask',
    ({ account }) => availableMinor(account),
    anyAmount,
  ),

  text(
    'transaction.id',
    'Id of the transaction that the ask belongs to',
    ({ transaction }) => transaction.transactionId,
  ),
  number(
    'transaction.asks',
    'Its approved asks so far',
    ({ transaction }) => transaction.asks.length,
  ),
  money('transaction.authorized', 'Authorized and not reversed so far', ({ transaction }) =>
    netAuthorized(transaction),
  ),
  money('transaction.held', 'Held for it so far', ({ transaction }) => heldPart(transaction)),
  money('transaction.settled', 'Settled so far', ({ transaction }) => transaction.settledMinor),
  money('transaction.refunded', 'Refunded so far', ({ transaction }) => transaction.refundedMinor),
  ...detailFacts,
  ...memoryFacts,
]

type TextFact = Extract<Fact, { type: 'text' }>

const textFacts = factTable.filter((fact): fact is TextFact => fact.type === 'text')

export const textFactNames = textFacts.map(({ name }) => name)

/** Reads a text by its name, which must be one of `textFactNames`. */
export function textReaderOf(name: string): TextFact['read'] {
  const fact = textFacts.find((one) => one.name === name)
  if (fact === undefined) throw new Error(`no text ${name}`)
  return fact.read
}

/** What cards must remember for the facts that rules use. */
export function remembersFor(uses: (factName: string) => boolean): Remembers {
  const remembers = { ...remembersNothing }
  for (const fact of factTable) {
    if (fact.remembers !== undefined && uses(fact.name)) remembers[fact.remembers] = true
  }
  return remembers
}

/** The facts that a pack with these windows has, by name. */
export function factsOf(windows: readonly WindowDefinition[], rates: Rates): FactTable {
  const converting = hasRates(rates) ? [rateFact(rates)] : []
  const all = [...factTable, ...windows.flatMap(factsOfWindow), ...converting]
  const table = new Map(all.map((fact) => [fact.name, fact]))
  const known = table.get.bind(table)
  table.get = (name) => known(name) ?? namedFact(name)
  return table
}
