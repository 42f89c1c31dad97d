import { accountPlaceKey, indexes } from '../../engine/format/layout.ts'
import type { Store } from '../../store/port.ts'
import type { WholeCard } from '../card.ts'

const perRead = 500
/** Of one account; those beyond it are not looked at. */
const maxCards = 5_000

/**
 * The cards that draw on the account of this one, itself among them, of whichever customer. It is read, not
 * locked: a card that joins at the same time may be missed.
 */
export async function cardsOfAccount(
  store: Store,
  { account: { accountId }, card }: Pick<WholeCard, 'account' | 'card'>,
): Promise<readonly string[]> {
  const prefix = accountPlaceKey({ accountId, cardId: '' })
  const found = new Set([card.cardId])
  for (let after = prefix, read = 0; read < maxCards; read += perRead) {
    const entries = await store.range(indexes.accounts, after, perRead)
    const own = entries.filter(({ sortKey }) => sortKey.startsWith(prefix))
    for (const { sortKey } of own) found.add(sortKey.slice(prefix.length))
    if (own.length < perRead) break
    after = own.at(-1)!.sortKey
  }
  return [...found]
}
