import { type Book, isAlias, setNames, type TouchedRecords } from '../../domain/change/book.ts'
import type { Account } from '../../domain/record/account.ts'
import type { Card } from '../../domain/record/card.ts'
import type { EventRecord } from '../../domain/record/event-record.ts'
import type { Alias, Transaction } from '../../domain/record/transaction.ts'

/**
 * A book held whole in memory, for many accounts with many entries: transactions are found by card and
 * then by name, because a key put together of both takes longer to make than to find.
 */
export interface ReplayBook extends Book {
  cards(): Iterable<Card>
  transactions(): Iterable<Transaction>
  put(touched: TouchedRecords): void
  /** With all that this one has: records never change, so the two share them. */
  copy(): ReplayBook
}

interface Records {
  readonly account: Account | null
  readonly cards: ReadonlyMap<string, Card>
  readonly transactions: ReadonlyMap<string, ReadonlyMap<string, Transaction | Alias>>
  readonly events: ReadonlyMap<string, EventRecord>
}

const nothing: Records = {
  account: null,
  cards: new Map(),
  transactions: new Map(),
  events: new Map(),
}

export function createReplayBook(from = nothing): ReplayBook {
  let { account } = from
  const cards = new Map(from.cards)
  const transactions = new Map<string, Map<string, Transaction | Alias>>()
  for (const [cardId, some] of from.transactions) transactions.set(cardId, new Map(some))
  const events = new Map(from.events)

  function setTransaction(cardId: string, name: string, found: Transaction | Alias | null): void {
    const ofCard = transactions.get(cardId)
    if (found === null) ofCard?.delete(name)
    else if (ofCard === undefined) transactions.set(cardId, new Map([[name, found]]))
    else ofCard.set(name, found)
  }

  return {
    account: () => account,
    card: (cardId) => cards.get(cardId) ?? null,
    transaction: (cardId, id) => transactions.get(cardId)?.get(id) ?? null,
    event: (eventKey) => events.get(eventKey) ?? null,
    cards: () => cards.values(),
    *transactions() {
      for (const some of transactions.values()) {
        for (const one of some.values()) if (!isAlias(one)) yield one
      }
    },
    put(touched) {
      account = touched.account
      for (const card of touched.cards) cards.set(card.cardId, card)
      setNames(touched, setTransaction)
      if (touched.event !== null) events.set(touched.event.key, touched.event.record)
    },
    copy: () => createReplayBook({ account, cards, transactions, events }),
  }
}
