import { isAlias, maxReissues } from '../domain/change/book.ts'
import type { Card } from '../domain/record/card.ts'
import type { Transaction } from '../domain/record/transaction.ts'
import { cardCodec, transactionCodec } from '../engine/format/codec.ts'
import { accountAggregate, cardKey, transactionChild } from '../engine/format/layout.ts'
import { unlessUnreadable } from '../engine/format/row-codec.ts'
import type { ChildKey, Store } from '../store/port.ts'

/** The record of a lifecycle by any of its names, on the card or on one that it replaces; null for none. */
export async function readTransaction(
  store: Store,
  card: Card,
  transactionId: string,
): Promise<Transaction | null> {
  const aggregate = accountAggregate(card.accountId)
  async function read<T>(key: ChildKey, decode: (value: string) => T): Promise<T | null> {
    const [found] = await store.load([{ aggregate, ...key }])
    return found === undefined ? null : decode(found.value)
  }
  let of: Card | null = card
  for (let i = 0; of !== null && i < maxReissues; i++) {
    const found = await read(transactionChild(of.cardId, transactionId), transactionCodec.decode)
    if (found !== null && !isAlias(found)) return found
    if (found !== null) {
      const home = transactionChild(found.cardId, found.aliasOf)
      const named = await read(home, transactionCodec.decode)
      return named === null || isAlias(named) ? null : named
    }
    of = of.replaces === '' ? null : await read(cardKey(of.replaces), cardCodec.decode)
  }
  return null
}

/**
 * Tells of the cards of an account whether a transaction is theirs: by the same id another card may have one of its
 * own, and one that was issued again goes on with those of the card that it replaces.
 */
export function ownersOfTransaction(
  store: Store,
  accountId: string,
  { cardId: first, transactionId }: Pick<Transaction, 'cardId' | 'transactionId'>,
): (cardId: string) => Promise<boolean> {
  const known = new Map([[first, Promise.resolve(true)]])

  async function isOwner(cardId: string): Promise<boolean> {
    const [found] = await store.load([
      { aggregate: accountAggregate(accountId), ...cardKey(cardId) },
    ])
    const card = found && unlessUnreadable(() => cardCodec.decode(found.value))
    const own = card ? await readTransaction(store, card, transactionId) : null
    return own?.cardId === first && own.transactionId === transactionId
  }

  return (cardId) => {
    const owns = known.get(cardId) ?? isOwner(cardId)
    known.set(cardId, owns)
    return owns
  }
}
