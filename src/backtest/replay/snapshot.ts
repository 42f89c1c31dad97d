import type { Change } from '../../domain/change/change.ts'
import type { Entry } from '../../domain/ledger/entry.ts'
import type { Account } from '../../domain/record/account.ts'
import { type Card, noCard } from '../../domain/record/card.ts'
import { withoutSeen } from '../../domain/record/familiarity.ts'
import { accountCodec, cardCodec } from '../../engine/format/codec.ts'
import { createReplayBook } from './replay-book.ts'
import { createReplayedAccount, type ReplayedAccount } from './replayed-account.ts'

/** The records of an account as the store has them now, encoded. */
export interface Snapshot {
  readonly account: string
  readonly cards: readonly string[]
}

/**
 * The account as it was when the log began, as far as it can be told: its money now, less what the log
 * has moved since; its cards with their present settings and what they saw before; no earlier transaction
 * and no window.
 */
export function accountBeforeLog(snapshot: Snapshot, entries: Iterable<Entry>): ReplayedAccount {
  const account = accountCodec.decode(snapshot.account)
  const cards = snapshot.cards.map((text) => cardCodec.decode(text))
  const blank = { ...account, ...noMoney, windows: {}, lastArrivalMs: 0 }
  const moved = accountWith(blank, cards)
  const told = new Map<string, Change[]>(cards.map(({ cardId }) => [cardId, []]))
  let first: Entry | null = null
  for (const entry of entries) {
    first ??= entry
    moved.follow(entry)
    told.get(entry.cardId)?.push(...entry.changes.filter(({ type }) => tellsOfCard.has(type)))
  }
  const after = moved.book.account() ?? blank
  return accountWith(
    {
      ...blank,
      // Below zero, too, where the log tells of transactions from before it: so the end is as the records say.
      postedMinor: account.postedMinor - after.postedMinor,
      heldMinor: account.heldMinor - after.heldMinor,
      withheldMinor: account.withheldMinor - after.withheldMinor,
      entryCount: first?.n ?? 0,
    },
    cards.map((card) => cardBefore(card, told.get(card.cardId)!)),
  )
}

const noMoney = {
  postedMinor: 0,
  heldMinor: 0,
  withheldMinor: 0,
  chargesTakenMinor: 0,
  chargesPendingMinor: 0,
  grantedMinor: 0,
} as const

function accountWith(account: Account, cards: readonly Card[]): ReplayedAccount {
  const book = createReplayBook()
  book.put({ account, cards, transactions: [], aliases: [], forgotten: null, event: null })
  return createReplayedAccount(book)
}

/**
 * What the log tells of a card is taken back: what it saw, used and counted there it has not yet when the log
 * begins. A status that changes in the log was another before it, which can only be guessed.
 */
function cardBefore(card: Card, changes: readonly Change[]): Card {
  const restated = changes.some(
    (change) =>
      change.type === 'cardTerminated' ||
      (change.type === 'cardChanged' && change.set.status !== undefined),
  )
  const status = restated ? ({ status: 'Active', terminatedBy: '' } as const) : {}
  const counted = { windows: {}, merchantCounts: [], recentAsks: [], lastAskAtMs: 0 }
  const swipesLeft = swipesBefore(card, changes)
  return { ...card, ...status, ...counted, swipesLeft, ...rememberedBefore(card, changes) }
}

const tellsOfCard: ReadonlySet<Change['type']> = new Set([
  'cardTerminated',
  'cardChanged',
  'swipeUsed',
  'swipeReturned',
  'merchantSeen',
  'countrySeen',
  'askNoted',
  'seeded',
])

function swipesBefore({ swipesLeft }: Card, changes: readonly Change[]): number | null {
  const used = changes.filter(({ type }) => type === 'swipeUsed').length
  const returned = changes.filter(({ type }) => type === 'swipeReturned').length
  return swipesLeft === null ? null : Math.max(0, swipesLeft + used - returned)
}

const noPlace = { lastCountry: '', lastCity: '', lastPlaceAtMs: 0 }
const noLocation = { lastLocation: '', lastLocationAtMs: 0 }

function rememberedBefore(card: Card, changes: readonly Change[]): Partial<Card> {
  const merchants = changes.flatMap((change) =>
    change.type === 'merchantSeen' ? [change.hash] : [],
  )
  const countries = changes.flatMap((change) =>
    change.type === 'countrySeen' ? [change.country] : [],
  )
  const noted = changes.flatMap((change) => (change.type === 'askNoted' ? [change.noted] : []))
  const declines = noted.find((one) => one.declines !== undefined)?.declines
  return {
    seenMerchants: withoutSeen(card.seenMerchants, merchants),
    seenCountries: withoutSeen(card.seenCountries, countries),
    seenMccs: withoutSeen(
      card.seenMccs,
      noted.flatMap(({ mcc }) => mcc ?? []),
    ),
    seenCurrencies: withoutSeen(
      card.seenCurrencies,
      noted.flatMap(({ currency }) => currency ?? []),
    ),
    ...(noted.some(({ place }) => place !== undefined) ? noPlace : {}),
    ...(noted.some(({ location }) => location !== undefined) ? noLocation : {}),
    ...(declines === undefined ? {} : { declinesInRow: Math.max(0, declines - 1) }),
    ...notSeeded(changes),
  }
}

/** What seeding put came from the log itself: before it the card kept nothing of that kind. */
function notSeeded(changes: readonly Change[]): Partial<Card> {
  const told = changes.flatMap((change) =>
    change.type === 'seeded' ? Object.keys(change.remembered) : [],
  )
  return Object.fromEntries(told.map((name) => [name, noCard[name as keyof Card]]))
}
