import type { Account } from '../../domain/record/account.ts'
import type { Card } from '../../domain/record/card.ts'
import type { IndexEntryPut } from '../../store/port.ts'
import { accountPlaceKey, customerCardsPrefix, indexes } from './layout.ts'
import { newestFirst } from './newest-first.ts'

/** What a list of an organization's cards is narrowed by: each has entries of its own. No two look alike. */
export type CardNarrowing = Card['status'] | Card['type'] | Account['currency'] | 'negative' | ''

/** What the sort keys of a list of an organization's cards begin with. */
export function organizationCardsPrefix(organizationId: string, narrowing: CardNarrowing): string {
  return `${organizationId}\n${narrowing}\n`
}

type Owner = Pick<Account, 'organizationId' | 'currency'>

/** Where a card stands in the lists of all cards, of its organization, its customer and its account. */
export function cardIndexEntries(owner: Owner, card: Card): IndexEntryPut[] {
  const { organizationId, currency } = owner
  const { cardId, customerId, accountId: value, type, status } = card
  const ofCustomer = customerCardsPrefix(organizationId, customerId) + placeOf(card)
  return [
    { index: indexes.cards, sortKey: cardId, value },
    ...['', type, status, currency].map((narrowing) =>
      cardEntryIn(organizationId, narrowing, card),
    ),
    { index: indexes.customerCards, sortKey: ofCustomer, value },
    { index: indexes.accounts, sortKey: accountPlaceKey(card), value: '' },
  ]
}

/** Its entry in one list of its organization. */
export function cardEntryIn(
  organizationId: string,
  narrowing: CardNarrowing,
  card: Pick<Card, 'cardId' | 'accountId' | 'issuedAtMs'>,
): IndexEntryPut {
  const sortKey = organizationCardsPrefix(organizationId, narrowing) + placeOf(card)
  return { index: indexes.organizationCards, sortKey, value: card.accountId }
}

function placeOf({ issuedAtMs, cardId }: Pick<Card, 'cardId' | 'issuedAtMs'>): string {
  return `${newestFirst(issuedAtMs)}\n${cardId}`
}
