import { decodeAccountCards } from '../../engine/format/account-cards.ts'
import {
  accountAggregate,
  accountCardsKey,
  customerCardsPrefix,
  indexes,
} from '../../engine/format/layout.ts'
import type { Store } from '../../store/port.ts'
import type { WholeCard } from '../card.ts'

const perRead = 500
/** Of one customer; those beyond it are not looked at. */
const maxCards = 5_000

/**
 * The cards that draw on the account of this one, itself among them: those that the account names, of whichever
 * customer, and those of its own customer in the list, for the account may name none or not all. It is read, not
 * locked: a card that joins at the same time may be missed.
 */
export async function cardsOfAccount(
  store: Store,
  { account, card }: Pick<WholeCard, 'account' | 'card'>,
): Promise<readonly string[]> {
  const prefix = customerCardsPrefix(account.organizationId, card.customerId)
  const aggregate = accountAggregate(account.accountId)
  const [named] = await store.load([{ aggregate, ...accountCardsKey }])
  const known = decodeAccountCards(named?.value ?? null)?.cards ?? []
  const found = new Set([card.cardId, ...known.map(([cardId]) => cardId)])
  let read = 0
  for (let after = prefix; read < maxCards; read += perRead) {
    const entries = await store.range(indexes.customerCards, after, perRead)
    const own = entries.filter(({ sortKey }) => sortKey.startsWith(prefix))
    for (const { sortKey, value } of own) {
      if (value === account.accountId) found.add(sortKey.slice(sortKey.lastIndexOf('\n') + 1))
    }
    if (own.length < perRead) break
    after = own.at(-1)!.sortKey
  }
  return [...found]
}
