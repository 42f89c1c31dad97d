import { type Remembers, remembersNothing } from '../../domain/decide/ask-memory.ts'
import { type AskFacts, isForeign } from '../../domain/decide/pack.ts'
import { type WindowDefinition, type WindowValue, windowAt } from '../../domain/decide/window.ts'
import { availableMinor } from '../../domain/record/account.ts'
import { cardStatuses, cardTypes } from '../../domain/record/card.ts'
import {
  hasSeenCountry,
  hasSeenMerchant,
  maxMinutesSinceLastAsk,
  minutesSinceLastAsk,
} from '../../domain/record/familiarity.ts'
import { netAuthorized, openHold } from '../../domain/record/transaction.ts'
import { askTypes, type Fact, type FactTable, type Reader } from './fact.ts'
import { countryForm, currencyForm, mccForm, oneOf, type TextForm } from './text-form.ts'

const optionalCurrencyForm: TextForm = {
  ...currencyForm,
  accepts: (text) => text === '' || currencyForm.accepts(text),
}

const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const

const text = (
  name: string,
  says: string,
  read: Reader<string>,
  form?: TextForm,
): Extract<Fact, { type: 'text' }> => ({
  name,
  type: 'text',
  says,
  read,
  ...(form === undefined ? {} : { form }),
})
const number = (name: string, says: string, read: Reader<number>): Fact => ({
  name,
  type: 'number',
  says,
  read,
})
const money = (name: string, says: string, read: Reader<number>): Fact => ({
  name,
  type: 'money',
  unit: 'currency',
  says,
  read,
})
const yesNo = (name: string, says: string, read: Reader<boolean>): Fact => ({
  name,
  type: 'yes/no',
  says,
  read,
})

/** The facts that all packs have; windows and lists are those of each pack. */
export const factTable: readonly Fact[] = [
  money('amount', 'What is asked for', ({ event }) => event.amountMinor ?? 0),
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
    optionalCurrencyForm,
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
  number('hour', 'Hour of arrival in the zone of the pack, 0 to 23', ({ atMs }, zone) =>
    zone.hourOf(atMs),
  ),
  text(
    'weekday',
    'Day of arrival in the zone of the pack',
    ({ atMs }, zone) => weekdays[zone.weekdayOf(atMs) - 1]!,
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
      'card.swipesLeft',
      'Swipes that a lite card still has',
      ({ card }) => card.swipesLeft ?? 0,
    ),
    isPresent: ({ card }) => card.swipesLeft !== null,
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
  money('account.posted', 'Posted, before this ask', ({ account }) => account.postedMinor),
  money('account.held', 'Held, before this ask', ({ account }) => account.heldMinor),
  money('account.available', 'Available, before this ask', ({ account }) =>
    availableMinor(account),
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
  money('transaction.held', 'Held for it so far', ({ transaction }) => openHold(transaction)),
  money('transaction.settled', 'Settled so far', ({ transaction }) => transaction.settledMinor),
  money('transaction.refunded', 'Refunded so far', ({ transaction }) => transaction.refundedMinor),
  {
    ...number(
      'minutes_since_last_ask',
      `Whole minutes since the last ask of the card, ${maxMinutesSinceLastAsk} when there was none`,
      ({ card, atMs }) => minutesSinceLastAsk(card, atMs),
    ),
    remembers: 'lastAsk',
  },
  {
    ...yesNo('merchant_seen', 'The card was approved at this merchant before', ({ card, event }) =>
      hasSeenMerchant(card, event.merchant.mid),
    ),
    remembers: 'merchants',
  },
  {
    ...yesNo('country_seen', 'The card was approved in this country before', ({ card, event }) =>
      hasSeenCountry(card, event.merchant.country),
    ),
    remembers: 'countries',
  },
]

interface WindowPart {
  readonly name: string
  readonly type: 'number' | 'money'
  readonly says: string
  readonly read: (value: WindowValue) => number
}

/** The facts of each window: `windows.NAME.sum`. */
export const windowParts: readonly WindowPart[] = [
  {
    name: 'sum',
    type: 'money',
    says: 'Sum of the window, before this ask',
    read: (value) => value.sumMinor,
  },
  {
    name: 'count',
    type: 'number',
    says: 'Number of transactions or asks in the window, before this ask',
    read: (value) => value.count,
  },
  {
    name: 'distinct',
    type: 'number',
    says: 'Number of merchants in the window, before this ask, where the window says distinct: true',
    read: (value) => value.distinct,
  },
]

/** What cards must remember for the facts that rules use. */
export function remembersFor(uses: (factName: string) => boolean): Remembers {
  const remembers = { ...remembersNothing }
  for (const fact of factTable) {
    if (fact.remembers !== undefined && uses(fact.name)) remembers[fact.remembers] = true
  }
  return remembers
}

/** The facts that a pack with these windows has, by name. */
export function factsOf(windows: readonly WindowDefinition[]): FactTable {
  const all = [...factTable, ...windows.flatMap(factsOfWindow)]
  return new Map(all.map((fact) => [fact.name, fact]))
}

function factsOfWindow(definition: WindowDefinition): Fact[] {
  // The buckets of a window are added up once per ask, for all facts of the window.
  let lastAsk: AskFacts | null = null
  let last: WindowValue | null = null
  const readingOf = (ask: AskFacts): WindowValue => {
    if (last === null || ask !== lastAsk) {
      last = windowAt(definition, ask)
      lastAsk = ask
    }
    return last
  }
  const parts = windowParts.filter(({ name }) => name !== 'distinct' || definition.distinct)
  return parts.map(({ name, type, says, read }): Fact => {
    const base = {
      name: `windows.${definition.name}.${name}`,
      says,
      read: (ask: AskFacts) => read(readingOf(ask)),
      costly: true,
    } as const
    return type === 'money' ? { ...base, type, unit: 'currency' } : { ...base, type }
  })
}
