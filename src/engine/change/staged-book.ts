import { type Book, setNames, type TouchedRecords } from '../../domain/change/book.ts'
import { transactionKey } from '../../domain/ledger/ledger.ts'
import type { Account } from '../../domain/record/account.ts'
import type { Card } from '../../domain/record/card.ts'
import type { EventRecord } from '../../domain/record/event-record.ts'
import type { Alias, Transaction } from '../../domain/record/transaction.ts'

/** What a change has made of a book so far, without touching it: it may still be refused, or lack a record. */
export interface StagedBook extends Book {
  put(touched: TouchedRecords): void
}

export function stageOn(book: Book): StagedBook {
  let account: Account | null = null
  const cards = new Map<string, Card>()
  const transactions = new Map<string, Transaction | Alias | null>()
  const events = new Map<string, EventRecord>()

  return {
    account: () => account ?? book.account(),
    card: (cardId) => cards.get(cardId) ?? book.card(cardId),
    transaction(cardId, id) {
      const staged = transactions.get(transactionKey(cardId, id))
      return staged === undefined ? book.transaction(cardId, id) : staged
    },
    event: (eventKey) => events.get(eventKey) ?? book.event(eventKey),
    put(touched) {
      account = touched.account
      for (const card of touched.cards) cards.set(card.cardId, card)
      setNames(touched, (cardId, name, found) => {
        transactions.set(transactionKey(cardId, name), found)
      })
      if (touched.event !== null) events.set(touched.event.key, touched.event.record)
    },
  }
}
