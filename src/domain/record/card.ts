import type { Fresh } from './fresh.ts'
import type { MerchantCounts } from './merchant-counts.ts'
import type { WindowStates } from './window-state.ts'

export const cardTypes = ['retail', 'corporate', 'lite'] as const
type CardType = (typeof cardTypes)[number]

export const cardStatuses = ['Active', 'Frozen', 'Terminated'] as const
type CardStatus = (typeof cardStatuses)[number]

export const customerTypes = ['individual', 'business'] as const

/** Like no other card, again on the same balance, again with a balance of its own, or from a file. */
export const cardOrigins = ['new', 'reissue-shared', 'reissue-own', 'imported'] as const

export interface Card {
  readonly cardId: string
  readonly customerId: string
  readonly accountId: string
  readonly type: CardType
  readonly status: CardStatus
  /** Why a Terminated card is: asks under a running transaction outlive the last swipe only. */
  readonly terminatedBy: '' | 'swipes' | 'exhausted' | 'operator'
  /** One that ended frozen is frozen again when its end is undone. */
  readonly endedFrozen: boolean
  /** The last month it is good for, as '2029-12'; '' for none. */
  readonly expiry: string
  /** The card that this one was issued for again. */
  readonly replaces: string
  readonly dailyLimitMinor: number | null
  readonly transactionLimitMinor: number | null
  /** An empty list is no list: no restriction. */
  readonly allowedMccs: readonly string[]
  readonly blockedMccs: readonly string[]
  readonly allowedMids: readonly string[]
  readonly blockedMids: readonly string[]
  /** MIDs on the blocked list that one ask may still use. */
  readonly unblockedMids: readonly string[]
  readonly swipesLeft: number | null
  /** Approved asks of the last minute, newest last: they tell a possible repeat. */
  readonly recentAsks: readonly RecentAsk[]
  readonly lastAskAtMs: number
  readonly windows: WindowStates
  /** The merchant that was counted last at the end. */
  readonly merchantCounts: readonly MerchantCounts[]
  /** Hashes of merchants, and countries, of one width each and used last at the end. */
  readonly seenMerchants: string
  readonly seenCountries: string
  readonly seenMccs: string
  readonly seenCurrencies: string
  /** Declined asks since the last that was approved above zero. */
  readonly declinesInRow: number
  /** Where it was last approved above zero, as far as the merchant said; 0 for never. */
  readonly lastCountry: string
  readonly lastCity: string
  readonly lastPlaceAtMs: number
  /** The same of its latitude and longitude. */
  readonly lastLocation: string
  readonly lastLocationAtMs: number
  readonly issuedAtMs: number
  readonly contactlessPayment: boolean
  /** Of its holder; '' when nobody said. */
  readonly customerType: '' | (typeof customerTypes)[number]
  /** How it came to be; '' for a card from before this was kept. */
  readonly issued: '' | (typeof cardOrigins)[number]
  /** Names and values in turn, for rules; what is shown of a card has them too. */
  readonly metadata: readonly string[]
}

export interface RecentAsk {
  readonly atMs: number
  readonly mid: string
  readonly amountMinor: number
}

/** The metadata of a card by name. */
export function metadataOf({ metadata }: Card): Record<string, string> {
  const names = metadata.filter((_, i) => i % 2 === 0)
  return Object.fromEntries(names.map((name, i) => [name, metadata[2 * i + 1]!]))
}

export const maxListedMccs = 1000
export const maxListedMids = 10_000

export const repeatWithinMs = 60_000
/** A card with more approved asks a minute than this tells repeats among the newest only. */
export const maxRecentAsks = 8

export const noCard: Card = {
  cardId: '',
  customerId: '',
  accountId: '',
  type: 'retail',
  status: 'Active',
  terminatedBy: '',
  endedFrozen: false,
  expiry: '',
  replaces: '',
  dailyLimitMinor: null,
  transactionLimitMinor: null,
  allowedMccs: [],
  blockedMccs: [],
  allowedMids: [],
  blockedMids: [],
  unblockedMids: [],
  swipesLeft: null,
  recentAsks: [],
  lastAskAtMs: 0,
  windows: {},
  merchantCounts: [],
  seenMerchants: '',
  seenCountries: '',
  seenMccs: '',
  seenCurrencies: '',
  declinesInRow: 0,
  lastCountry: '',
  lastCity: '',
  lastPlaceAtMs: 0,
  lastLocation: '',
  lastLocationAtMs: 0,
  issuedAtMs: 0,
  contactlessPayment: false,
  customerType: '',
  issued: '',
  metadata: [],
}

export function copyCard(c: Card): Fresh<Card> {
  return {
    cardId: c.cardId,
    customerId: c.customerId,
    accountId: c.accountId,
    type: c.type,
    status: c.status,
    terminatedBy: c.terminatedBy,
    endedFrozen: c.endedFrozen,
    expiry: c.expiry,
    replaces: c.replaces,
    dailyLimitMinor: c.dailyLimitMinor,
    transactionLimitMinor: c.transactionLimitMinor,
    allowedMccs: c.allowedMccs,
    blockedMccs: c.blockedMccs,
    allowedMids: c.allowedMids,
    blockedMids: c.blockedMids,
    unblockedMids: c.unblockedMids,
    swipesLeft: c.swipesLeft,
    recentAsks: c.recentAsks,
    lastAskAtMs: c.lastAskAtMs,
    windows: c.windows,
    merchantCounts: c.merchantCounts,
    seenMerchants: c.seenMerchants,
    seenCountries: c.seenCountries,
    seenMccs: c.seenMccs,
    seenCurrencies: c.seenCurrencies,
    declinesInRow: c.declinesInRow,
    lastCountry: c.lastCountry,
    lastCity: c.lastCity,
    lastPlaceAtMs: c.lastPlaceAtMs,
    lastLocation: c.lastLocation,
    lastLocationAtMs: c.lastLocationAtMs,
    issuedAtMs: c.issuedAtMs,
    contactlessPayment: c.contactlessPayment,
    customerType: c.customerType,
    issued: c.issued,
    metadata: c.metadata,
  }
}
