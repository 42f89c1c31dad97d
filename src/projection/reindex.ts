import { cardStatuses } from '../domain/record/card.ts'
import type { Aggregates } from '../engine/aggregates.ts'
import type { Engine } from '../engine/engine.ts'
import { cardIndexEntries, cardStatusEntry } from '../engine/format/card-index.ts'
import { indexes, projectionAggregate } from '../engine/format/layout.ts'
import type { IndexEntryPut, IndexKey, Store } from '../store/port.ts'
import { noProgress } from './lease.ts'

/** A card by the index of all cards. */
export interface CardPlace {
  readonly cardId: string
  readonly accountId: string
}

const cardsAtOnce = 500

/** Every card that there is, in pages. */
export async function* cardPlaces(store: Store): AsyncGenerator<readonly CardPlace[]> {
  for (let after = ''; ; ) {
    const page = await store.range(indexes.cards, after, cardsAtOnce)
    if (page.length > 0)
      yield page.map(({ sortKey, value }) => ({ cardId: sortKey, accountId: value }))
    if (page.length < cardsAtOnce) return
    after = page.at(-1)!.sortKey
  }
}

/**
 * Puts cards into the lists of their organization and customer, and takes them out of those they are not in.
 * Cards of earlier releases are in none, and those that were adopted stand where nobody owns them.
 */
export async function indexCards(engine: Engine, places: readonly CardPlace[]): Promise<void> {
  const byAccount = new Map<string, string[]>()
  for (const { cardId, accountId } of places) {
    byAccount.set(accountId, [...(byAccount.get(accountId) ?? []), cardId])
  }
  await Promise.all([...byAccount].map(([accountId, ids]) => indexAccount(engine, accountId, ids)))
}

function indexAccount(
  engine: Engine,
  accountId: string,
  cardIds: readonly string[],
): Promise<void> {
  return engine.change({
    accountId,
    origin: '',
    decide(view) {
      const { account } = view
      const cards = cardIds.flatMap((cardId) => view.card(cardId) ?? [])
      if (account === null) return { result: undefined, write: null }
      const { organizationId } = account
      const index: IndexEntryPut[] = []
      const unindex: IndexKey[] = []
      for (const card of cards) {
        index.push(...cardIndexEntries(organizationId, card))
        if (organizationId !== '') unindex.push(...cardIndexEntries('', card))
        for (const status of cardStatuses) {
          unindex.push(...[cardStatusEntry(organizationId, { ...card, status }) ?? []].flat())
        }
      }
      return { result: undefined, write: { index, unindex } }
    },
  })
}

/** Lets the transactions list follow the log from its beginning; rows that are there stay as they are. */
export function restartProjection(aggregates: Aggregates): Promise<void> {
  return aggregates.change({
    aggregate: projectionAggregate,
    // What stood there is not read: it may be what cannot be read.
    decide: () => ({ result: undefined, write: { root: JSON.stringify(noProgress) } }),
  })
}
