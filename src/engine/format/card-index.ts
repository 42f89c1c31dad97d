import type { Card } from '../../domain/record/card.ts'
import type { IndexEntryPut } from '../../store/port.ts'
import { accountPlaceKey, customerCardsPrefix, indexes } from './layout.ts'
import { newestFirst } from './newest-first.ts'

/** What most cards are: these have no list of their own, and are found among all cards. */
const commonStatus: Card['status'] = 'Active'
const commonType: Card['type'] = 'retail'

/** What the sort keys of a list of an organization's cards begin with: all, or those with what few have. */
export function organizationCardsPrefix(
  organizationId: string,
  narrowed: {
    readonly status?: Card['status'] | undefined
    readonly type?: Card['type'] | undefined
  },
): string {
  const { status = commonStatus, type = commonType } = narrowed
  if (status !== commonStatus) return `${organizationId}\n${status}\n`
  return type === commonType ? `${organizationId}\n\n` : `${organizationId}\n${type}\n`
}

/** Where a card stands in the lists of all cards, of its organization, its customer and its account. */
export function cardIndexEntries(organizationId: string, card: Card): IndexEntryPut[] {
  const { cardId, customerId, accountId: value, type } = card
  const prefixes = [
    organizationCardsPrefix(organizationId, {}),
    organizationCardsPrefix(organizationId, { type }),
    organizationCardsPrefix(organizationId, { status: card.status }),
  ]
  const ofCustomer = customerCardsPrefix(organizationId, customerId) + placeOf(card)
  return [
    { index: indexes.cards, sortKey: cardId, value },
    ...[...new Set(prefixes)].map((prefix) => ofOrganization(prefix, card)),
    { index: indexes.customerCards, sortKey: ofCustomer, value },
    { index: indexes.accounts, sortKey: accountPlaceKey(card), value: '' },
  ]
}

/** Its entry in the list of its status; null for the status that most have. */
export function cardStatusEntry(organizationId: string, card: Card): IndexEntryPut | null {
  if (card.status === commonStatus) return null
  return ofOrganization(organizationCardsPrefix(organizationId, { status: card.status }), card)
}

function ofOrganization(prefix: string, card: Card): IndexEntryPut {
  const sortKey = prefix + placeOf(card)
  return { index: indexes.organizationCards, sortKey, value: card.accountId }
}

function placeOf({ issuedAtMs, cardId }: Card): string {
  return `${newestFirst(issuedAtMs)}\n${cardId}`
}
