import { customerCardsPrefix, indexes } from '../../engine/format/layout.ts'
import type { Store } from '../../store/port.ts'
import type { WholeCard } from '../card.ts'

const perRead = 500
/** Of one customer; those beyond it are not looked at. */
const maxCards = 5_000

/**
 * The cards that draw on the account of this one, itself among them: those of its customer in the list. It is
 * read, not locked: a card that joins at the same time may be missed.
 */
export async function cardsOfAccount(
  store: Store,
  { account, card }: Pick<WholeCard, 'account' | 'card'>,
): Promise<readonly string[]> {
  const prefix = customerCardsPrefix(account.organizationId, card.customerId)
  const found = new Set([card.cardId])
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
