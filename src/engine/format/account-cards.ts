import { z } from 'zod'
import type { Account } from '../../domain/record/account.ts'
import type { Card } from '../../domain/record/card.ts'
import type { IndexEntryPut } from '../../store/port.ts'
import { cardEntryIn } from './card-index.ts'
import { indexes } from './layout.ts'

const record = z.object({
  format: z.literal(1),
  cards: z.array(z.tuple([z.string(), z.string(), z.number()])),
  more: z.boolean(),
})

/**
 * Which cards draw on an account. Whoever moves it below zero, or above, puts all of them into the lists of
 * what is negative, or takes them out, in the same commit; no other decision reads it.
 */
export interface AccountCards {
  /** The first of them, as [card, customer, when it was issued]. */
  readonly cards: readonly (readonly [cardId: string, customerId: string, issuedAtMs: number])[]
  /** There are others: while the account is negative, lists of what is negative read all cards. */
  readonly more: boolean
}

const maxCards = 100

/** null without a record that can be read: no decision may fail for it. */
export function decodeAccountCards(value: string | null): AccountCards | null {
  if (value === null) return null
  try {
    return record.parse(JSON.parse(value))
  } catch {
    return null
  }
}

export function encodeAccountCards({ cards, more }: AccountCards): string {
  return JSON.stringify({ format: 1, cards, more })
}

export const noCards: AccountCards = { cards: [], more: false }

/** All that it is for an account of these cards. */
export function accountCardsOf(cards: Iterable<Card>): AccountCards {
  return [...cards].reduce(withCard, noCards)
}

/** Whether a further card would only be known to be there. */
export function isFull({ cards }: AccountCards): boolean {
  return cards.length >= maxCards
}

/** With one more card, in the order of their ids; the same when it has it. */
export function withCard(known: AccountCards, card: Card): AccountCards {
  const { cards } = known
  const { cardId, customerId, issuedAtMs } = card
  if (cardId === '' || cards.some(([id]) => id === cardId)) return known
  if (isFull(known)) return known.more ? known : { cards, more: true }
  const after = cards.findIndex(([id]) => id > cardId)
  const place = after < 0 ? cards.length : after
  return { ...known, cards: cards.toSpliced(place, 0, [cardId, customerId, issuedAtMs]) }
}

/** What the sort keys of a customer's accounts below zero begin with; '' for accounts with more cards than are known. */
export function negativePrefix(organizationId: string, customerId: string): string {
  return `${organizationId}\n${customerId}\n`
}

/** The entries of an account's cards in the lists of what is negative. */
export function negativeEntries(
  organizationId: string,
  { accountId }: Pick<Account, 'accountId'>,
  { cards, more }: AccountCards,
): IndexEntryPut[] {
  const ofCustomer = (customerId: string): IndexEntryPut => {
    const sortKey = negativePrefix(organizationId, customerId) + accountId
    return { index: indexes.negative, sortKey, value: '' }
  }
  const customerIds = new Set(cards.map(([, customerId]) => customerId))
  return [
    ...cards.map(([cardId, , issuedAtMs]) =>
      cardEntryIn(organizationId, 'negative', { cardId, accountId, issuedAtMs }),
    ),
    ...[...customerIds].map(ofCustomer),
    ...(more ? [ofCustomer('')] : []),
  ]
}
