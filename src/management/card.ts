import { type Account, availableMinor } from '../domain/record/account.ts'
import type { Card } from '../domain/record/card.ts'
import { majorOf } from '../domain/record/money.ts'
import type { Engine } from '../engine/engine.ts'
import { type CardDetails, decodeDetails } from '../engine/format/card-details.ts'
import { accountAggregate, cardDetailsKey, cardKey } from '../engine/format/layout.ts'
import { unlessUnreadable } from '../engine/format/row-codec.ts'
import { decodeAccount, decodeCard } from '../engine/quarantine/damage.ts'
import type { Store } from '../store/port.ts'

/** A card with what it draws on. */
export interface WholeCard {
  readonly account: Account
  readonly card: Card
  readonly details: CardDetails
}

/** Where cards are read: the directory remembers which account a card belongs to. */
export interface CardSource {
  readonly store: Store
  readonly engine: Pick<Engine, 'directory'>
}

/** null for a card that nobody knows, and for that of another organization. */
export async function readCard(
  source: CardSource,
  organizationId: string,
  cardId: string,
): Promise<WholeCard | null> {
  const accountId = await accountIdOfCard(source, cardId)
  if (accountId === null) return null
  const [found = null] = await readCards(source.store, [{ cardId, accountId }])
  return found?.account.organizationId === organizationId ? found : null
}

/** Which account a card belongs to, for good; null when the card is not known, or its entry cannot be read. */
export async function accountIdOfCard(
  { engine }: Pick<CardSource, 'engine'>,
  cardId: string,
): Promise<string | null> {
  const accounts = await engine.directory.resolve([cardId])
  return accounts.get(cardId) || null
}

interface CardPlace {
  readonly cardId: string
  readonly accountId: string
}

/** In the order given; null where there is no such card. */
export async function readCards(
  store: Store,
  places: readonly CardPlace[],
): Promise<(WholeCard | null)[]> {
  return (await loadCards(store, places)).map((read) => read())
}

/** For lists, which one damaged card must not stop; null also for such. */
export async function readableCards(
  store: Store,
  places: readonly CardPlace[],
  onUnreadable: (cardId: string) => void = () => {},
): Promise<(WholeCard | null)[]> {
  return (await loadCards(store, places)).map((read, i) => {
    const found = unlessUnreadable(() => ({ card: read() }))
    if (found === null) onUnreadable(places[i]!.cardId)
    return found?.card ?? null
  })
}

async function loadCards(
  store: Store,
  places: readonly CardPlace[],
): Promise<(() => WholeCard | null)[]> {
  const keys = places.flatMap(({ cardId, accountId }) => {
    const aggregate = accountAggregate(accountId)
    const root = { group: '', id: '' }
    const own = [root, cardKey(cardId), cardDetailsKey(cardId)]
    return own.map(({ group, id }) => ({ aggregate, group, id }))
  })
  const loaded = await store.load(keys)
  return places.map(({ cardId, accountId }, i) => () => {
    const [root, card, own] = loaded.slice(3 * i, 3 * i + 3)
    if (root === undefined || card === undefined) return null
    return {
      account: decodeAccount(accountAggregate(accountId), root.value),
      card: decodeCard(cardId, card.value),
      details: decodeDetails(own?.value ?? null),
    }
  })
}

/**
 * A card for people and for the API; amounts in major units. One literal: put together from parts by spreads it
 * took seven times as long, 29 µs, because V8 makes a dictionary of so many fields.
 */
export function shownCard({ account, card, details }: WholeCard) {
  const major = (minor: number) => majorOf(minor, account.currency)
  const limit = (minor: number | null) => (minor === null ? null : major(minor))
  return {
    cardId: card.cardId,
    customerId: card.customerId,
    accountId: account.accountId,
    type: card.type,
    status: card.status,
    terminatedBy: card.terminatedBy || null,
    maskedPan: details.maskedPan || null,
    expiry: card.expiry || null,
    currency: account.currency,
    balances: balancesOf(account),
    cardLimits: {
      dailyLimit: limit(card.dailyLimitMinor),
      transactionLimit: limit(card.transactionLimitMinor),
    },
    whiteListedMccs: [...card.allowedMccs],
    blackListedMccs: [...card.blockedMccs],
    whiteListedMids: [...card.allowedMids],
    blackListedMids: [...card.blockedMids],
    unblockedMids: [...card.unblockedMids],
    swipesLeft: card.swipesLeft,
    replaces: card.replaces || null,
    contactlessPayment: card.contactlessPayment,
    nameOnCard: details.nameOnCard || null,
    address: details.address,
    metadata: details.metadata,
    createdAt: card.issuedAtMs === 0 ? null : new Date(card.issuedAtMs).toISOString(),
  }
}

/** As an item of a list: how many MIDs its lists have, and not which. */
export function listedCard(whole: WholeCard) {
  const shown = shownCard(whole)
  return {
    cardId: shown.cardId,
    customerId: shown.customerId,
    accountId: shown.accountId,
    type: shown.type,
    status: shown.status,
    terminatedBy: shown.terminatedBy,
    maskedPan: shown.maskedPan,
    expiry: shown.expiry,
    currency: shown.currency,
    balances: shown.balances,
    cardLimits: shown.cardLimits,
    whiteListedMccs: shown.whiteListedMccs,
    blackListedMccs: shown.blackListedMccs,
    midCounts: {
      whiteListed: shown.whiteListedMids.length,
      blackListed: shown.blackListedMids.length,
      unblocked: shown.unblockedMids.length,
    },
    swipesLeft: shown.swipesLeft,
    replaces: shown.replaces,
    contactlessPayment: shown.contactlessPayment,
    nameOnCard: shown.nameOnCard,
    address: shown.address,
    metadata: shown.metadata,
    createdAt: shown.createdAt,
  }
}

/** What an account has, in major units. */
export function balancesOf(account: Account) {
  const major = (minor: number) => majorOf(minor, account.currency)
  return {
    posted: major(account.postedMinor),
    held: major(account.heldMinor),
    withheld: major(account.withheldMinor),
    available: major(availableMinor(account)),
    chargesPending: major(account.chargesPendingMinor),
  }
}
