import { type Book, isAlias, maxReissues } from '../domain/change/book.ts'
import { transactionKey } from '../domain/ledger/ledger.ts'
import type { Account } from '../domain/record/account.ts'
import type { Card } from '../domain/record/card.ts'
import type { CardEvent } from '../domain/record/event.ts'
import type { Alias, Transaction } from '../domain/record/transaction.ts'
import { accountCodec, cardCodec, transactionCodec } from '../engine/format/codec.ts'
import { accountAggregate, cardKey, transactionChild } from '../engine/format/layout.ts'
import type { ChildKey, Store } from '../store/port.ts'
import { withCounts } from './counted-card.ts'
import { accountIdOf } from './show.ts'

/**
 * The records of the store that a decision on this event would see, read once and only read. Its own
 * record is left out: the event is looked at as if it came for the first time. null: no such card.
 */
export async function readBook(store: Store, event: CardEvent): Promise<Book | null> {
  const accountId = await accountIdOf(store, event.cardId)
  if (accountId === null) return null
  const aggregate = accountAggregate(accountId)
  const cards = new Map<string, Card>()
  const transactions = new Map<string, Transaction | Alias>()

  async function read<T>(key: ChildKey, decode: (value: string) => T): Promise<T | null> {
    const [found] = await store.load([{ aggregate, ...key }])
    return found === undefined ? null : decode(found.value)
  }

  async function readTransaction(cardId: string, id: string): Promise<void> {
    const found = await read(transactionChild(cardId, id), transactionCodec.decode)
    if (found === null) return
    transactions.set(transactionKey(cardId, id), found)
    const [ofCard, name] = isAlias(found)
      ? [found.cardId, found.aliasOf]
      : [found.linkedCardId || found.cardId, found.linkedTo]
    if (name !== '' && !transactions.has(transactionKey(ofCard, name))) {
      await readTransaction(ofCard, name)
    }
  }

  const account: Account | null = await read({ group: '', id: '' }, accountCodec.decode)
  let cardId = event.cardId
  for (let i = 0; cardId !== '' && i < maxReissues; i++) {
    const card = await read(cardKey(cardId), cardCodec.decode)
    if (card === null) break
    cards.set(cardId, await withCounts(store, aggregate, card))
    for (const id of [event.transactionId, event.originalTransactionId]) {
      if (id !== '') await readTransaction(cardId, id)
    }
    cardId = card.replaces
  }
  return {
    account: () => account,
    card: (id) => cards.get(id) ?? null,
    transaction: (ofCard, id) => transactions.get(transactionKey(ofCard, id)) ?? null,
    event: () => null,
  }
}
