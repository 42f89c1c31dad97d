import { cardStatuses } from '../domain/record/card.ts'
import type { Aggregates } from '../engine/aggregates.ts'
import { ChangeDamaged } from '../engine/change/account-change.ts'
import type { Engine } from '../engine/engine.ts'
import {
  decodeAccountCards,
  encodeAccountCards,
  isFull,
  negativeEntries,
  noCards,
  withCard,
} from '../engine/format/account-cards.ts'
import { cardEntryIn, cardIndexEntries } from '../engine/format/card-index.ts'
import { accountCardsKey, indexes, projectionAggregate } from '../engine/format/layout.ts'
import type { IndexEntryPut, IndexKey, Store } from '../store/port.ts'
import { encodeProgress, noProgress } from './lease.ts'

/** A card by the index of all cards. */
export interface CardPlace {
  readonly cardId: string
  readonly accountId: string
}

const entriesAtOnce = 500

/** Every card that there is, in pages. */
export async function* cardPlaces(store: Store): AsyncGenerator<readonly CardPlace[]> {
  for (let after = ''; ; ) {
    const page = await store.range(indexes.cards, after, entriesAtOnce)
    if (page.length > 0) {
      yield page.map(({ sortKey, value }) => ({ cardId: sortKey, accountId: value }))
    }
    if (page.length < entriesAtOnce) return
    after = page.at(-1)!.sortKey
  }
}

/**
 * Puts cards into the lists of their organization and customer, and takes them out of those they are not in.
 * Cards of earlier releases are in none, and those that were adopted stand where nobody owns them. Gives how many.
 */
export async function indexCards(
  engine: Engine,
  places: readonly CardPlace[],
  onUnreadable: (accountId: string) => void = () => {},
): Promise<number> {
  const byAccount = new Map<string, string[]>()
  for (const { cardId, accountId } of places) {
    byAccount.set(accountId, [...(byAccount.get(accountId) ?? []), cardId])
  }
  const counts = await Promise.all(
    [...byAccount].map(async ([accountId, ids]) => {
      try {
        await indexAccount(engine, accountId, ids)
        return ids.length
      } catch (error) {
        if (!(error instanceof ChangeDamaged)) throw error
        onUnreadable(accountId)
        return 0
      }
    }),
  )
  return counts.reduce((sum, count) => sum + count, 0)
}

function indexAccount(
  engine: Engine,
  accountId: string,
  cardIds: readonly string[],
): Promise<void> {
  return engine.change({
    accountId,
    origin: '',
    reads: [accountCardsKey],
    decide(view) {
      const { account } = view
      const cards = view.cards(cardIds).flatMap((card) => card ?? [])
      if (account === null) return { result: undefined, write: null }
      const { organizationId } = account
      const found = decodeAccountCards(view.child(accountCardsKey)) ?? noCards
      // Whoever calls this comes by with all cards of the account, page by page: only what is full may lack some.
      const more = found.more && isFull(found)
      const known = cards.reduce(withCard, { cards: found.cards, more })
      const negative = negativeEntries(organizationId, account, known)
      const index: IndexEntryPut[] = account.postedMinor < 0 ? [...negative] : []
      // An account whose cards were not known has an entry of its own until they are.
      const all = { ...known, more: true }
      const unindex: IndexKey[] = negativeEntries(organizationId, account, all)
      if (organizationId !== '') unindex.push(...negativeEntries('', account, all))
      for (const card of cards) {
        index.push(...cardIndexEntries(account, card))
        if (organizationId !== '') {
          unindex.push(...cardIndexEntries({ ...account, organizationId: '' }, card))
        }
        for (const status of cardStatuses) unindex.push(cardEntryIn(organizationId, status, card))
      }
      const put = [{ ...accountCardsKey, value: encodeAccountCards(known) }]
      return { result: undefined, write: { put, index, unindex } }
    },
  })
}

/** Lets the transactions list follow the log from its beginning; rows that are there stay as they are. */
export function restartProjection(aggregates: Aggregates): Promise<void> {
  return aggregates.change({
    aggregate: projectionAggregate,
    // What stood there is not read: it may be what cannot be read.
    decide: () => ({ result: undefined, write: { root: encodeProgress(noProgress) } }),
  })
}
