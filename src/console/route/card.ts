import { z } from 'zod'
import { createFilter, searchPage } from '../../backoffice/log-search.ts'
import { accountIdOf, readAccount } from '../../backoffice/show.ts'
import { isAlias } from '../../domain/change/book.ts'
import { dailyWindow, windowValue } from '../../domain/decide/window.ts'
import type { Account } from '../../domain/record/account.ts'
import type { Card } from '../../domain/record/card.ts'
import { openHold } from '../../domain/record/transaction.ts'
import {
  accountAggregate,
  accountPlaceKey,
  cardKey,
  indexes,
  splitSortKey,
  transactionChild,
} from '../../engine/format/layout.ts'
import { unlessUnreadable } from '../../engine/format/row-codec.ts'
import { readBlocks } from '../../engine/notice/block-list.ts'
import { decodeCard, decodeTransaction } from '../../engine/quarantine/damage.ts'
import type { IndexEntry } from '../../store/port.ts'
import { lookBounds, type Office, packCursor, personId } from '../office.ts'
import { ConsoleRefused, type ConsoleRoute, defineConsoleRoute } from '../route.ts'
import type { Who } from '../session.ts'
import type { DecisionList } from '../shape/decision.ts'
import type { AccountShown, CardShown, HoldsShown, ShownCard, ShownHold } from '../shape/record.ts'
import { shownBalances } from './decision.ts'
import { decisionRow, isDecision } from './decision-row.ts'

const input = z.object({ id: z.string().min(1).max(200) })
const recentRows = 20
const maxShown = 100
/** Entries of an index that are read at once for those of one account. */
const pageSize = 1_000

export function cardPageRoutes(office: Office): ConsoleRoute[] {
  return [
    defineConsoleRoute({
      method: 'GET',
      path: '/data/card',
      input,
      handle: ({ id }, who) => showCardPage(id, who, office),
    }),
    defineConsoleRoute({
      method: 'GET',
      path: '/data/account',
      input,
      handle: ({ id }) => showAccountPage(id, office),
    }),
  ]
}

/** The account that a card belongs to; throws when nobody knows the card. */
export async function placeOfCard(cardId: string, { store }: Office): Promise<string> {
  const accountId = await accountIdOf(store, cardId)
  if (accountId === null) throw new ConsoleRefused(404, `there is no card ${cardId}`)
  return accountId
}

export async function findAccountOf(accountId: string, { store }: Office): Promise<Account> {
  const account = await readAccount(store, accountId)
  if (account === null) throw new ConsoleRefused(404, `there is no account ${accountId}`)
  return account
}

async function showCardPage(cardId: string, who: Who, office: Office): Promise<CardShown> {
  const { store, clock } = office
  const accountId = await placeOfCard(cardId, office)
  const account = await findAccountOf(accountId, office)
  const [found] = await store.load([{ aggregate: accountAggregate(accountId), ...cardKey(cardId) }])
  if (found === undefined) throw new ConsoleRefused(404, `there is no card ${cardId}`)
  const card = decodeCard(cardId, found.value)
  const blocks = await readBlocks(store, clock.nowMs())
  const block = blocks.find(({ kind, value }) => kind === 'card' && value === cardId)
  const recent = await recentOf({ card: cardId, account: accountId }, office)
  return {
    card: {
      ...shownCard(card, account.country, office),
      customerId: personId(card.customerId, who),
      blockedUntilMs: block?.untilMs ?? null,
    },
    balances: shownBalances(account),
    recent,
    ...(await holdsOf(account, office)),
  }
}

function shownCard(
  card: Card,
  country: string,
  { packs, clock }: Office,
): Omit<ShownCard, 'blockedUntilMs'> {
  const { allowedMccs, blockedMccs, allowedMids, blockedMids, unblockedMids } = card
  const daily = packs.pack().windows.find(({ name }) => name === dailyWindow)!
  return {
    cardId: card.cardId,
    accountId: card.accountId,
    customerId: card.customerId,
    type: card.type,
    status: card.status,
    terminatedBy: card.terminatedBy,
    expiry: card.expiry,
    replaces: card.replaces,
    dailyLimitMinor: card.dailyLimitMinor,
    transactionLimitMinor: card.transactionLimitMinor,
    usedTodayMinor: windowValue(card.windows, daily, clock.nowMs(), country).sumMinor,
    swipesLeft: card.swipesLeft,
    lists: { allowedMccs, blockedMccs, allowedMids, blockedMids, unblockedMids },
  }
}

async function showAccountPage(accountId: string, office: Office): Promise<AccountShown> {
  const account = await findAccountOf(accountId, office)
  return {
    accountId,
    organizationId: account.organizationId,
    country: account.country,
    openingMinor: account.openingMinor,
    transfersMinor: account.transfersMinor,
    chargesTakenMinor: account.chargesTakenMinor,
    chargesPendingMinor: account.chargesPendingMinor,
    balances: shownBalances(account),
    ...(await cardsOf(accountId, office)),
    recent: await recentOf({ account: accountId }, office),
    ...(await holdsOf(account, office)),
  }
}

async function recentOf(
  filters: { readonly card?: string; readonly account: string },
  office: Office,
): Promise<DecisionList> {
  const filter = createFilter(filters)
  const bounds = { ...lookBounds(office), limit: recentRows }
  const { found, looked, lookedToMs, next } = await searchPage(
    office.store,
    (line) => {
      const match = filter(line)
      return match !== null && isDecision(match.entry) ? match : null
    },
    '',
    bounds,
  )
  return {
    rows: found.map(({ cursor, entry }) =>
      decisionRow(cursor, entry, office.figures.delivered(entry.slot)),
    ),
    looked,
    lookedToMs,
    next: next === '' ? '' : packCursor(next),
  }
}

async function cardsOf(
  accountId: string,
  { store }: Office,
): Promise<Pick<AccountShown, 'cardIds' | 'allCards'>> {
  const prefix = accountPlaceKey({ accountId, cardId: '' })
  const entries = await store.range(indexes.accounts, prefix, maxShown + 1)
  const cardIds = entries
    .filter(({ sortKey }) => sortKey.startsWith(prefix))
    .map(({ sortKey }) => sortKey.slice(prefix.length))
  return { cardIds: cardIds.slice(0, maxShown), allCards: cardIds.length <= maxShown }
}

/** What a transaction holds is due one day, so that the list of what is due names it: it is read until all is found. */
async function holdsOf({ accountId, heldMinor }: Account, office: Office): Promise<HoldsShown> {
  const { maxLooked, mayGoOn } = lookBounds(office)
  const holds: ShownHold[] = []
  let missingMinor = heldMinor
  let after = ''
  const isFull = () => holds.length >= maxShown
  for (
    let looked = 0;
    missingMinor > 0 && !isFull() && looked < maxLooked && mayGoOn();
    looked += pageSize
  ) {
    const entries = await office.store.range(indexes.due, after, pageSize)
    for (const hold of await holdsAmong(entries, accountId, office)) {
      if (isFull()) break
      missingMinor -= hold.heldMinor
      holds.push(hold)
    }
    if (entries.length < pageSize) break
    after = entries.at(-1)!.sortKey
  }
  holds.sort((a, b) => a.expiresAtMs - b.expiresAtMs)
  return { holds, allHolds: missingMinor <= 0 }
}

async function holdsAmong(
  due: readonly IndexEntry[],
  accountId: string,
  { store }: Office,
): Promise<ShownHold[]> {
  const aggregate = accountAggregate(accountId)
  const places = due.flatMap(({ sortKey }) => {
    const [ofAccount, cardId = '', transactionId = ''] = splitSortKey(sortKey).parts
    return ofAccount === accountId ? [{ cardId, transactionId }] : []
  })
  const loaded = await store.load(
    places.map(({ cardId, transactionId }) => ({
      aggregate,
      ...transactionChild(cardId, transactionId),
    })),
  )
  return loaded.flatMap((found, i) => {
    const { cardId, transactionId } = places[i]!
    // One that cannot be read is missing from the list, which says that there is more.
    const record =
      found && unlessUnreadable(() => decodeTransaction(cardId, transactionId, found.value))
    if (!record || isAlias(record) || record.cashPosted) return []
    const held = openHold(record)
    if (held === 0) return []
    return [{ cardId, transactionId, heldMinor: held, expiresAtMs: record.expiresAtMs }]
  })
}
