import type { MemoryBook } from '../../src/domain/ledger/ledger.ts'
import { accountCardsOf, encodeAccountCards } from '../../src/engine/format/account-cards.ts'
import {
  accountCodec,
  cardCodec,
  eventCodec,
  transactionCodec,
} from '../../src/engine/format/codec.ts'

import { encodeMerchantCounts } from '../../src/engine/format/window-codec.ts'

/** All records of a book as a store would keep them. */
export function encodeBook(book: MemoryBook): Record<string, string> {
  const rows: Record<string, string> = {}
  const account = book.account()
  if (account !== null) rows.account = accountCodec.encode(account)
  for (const [id, card] of book.cards) {
    rows[`card ${id}`] = cardCodec.encode(card)
    for (const counts of card.merchantCounts) {
      rows[`counts ${id} ${counts.mid}`] = encodeMerchantCounts(counts)
    }
  }
  if (book.cards.size > 0) rows.cards = encodeAccountCards(accountCardsOf(book.cards.values()))
  for (const [id, t] of book.transactions) rows[`transaction ${id}`] = transactionCodec.encode(t)
  for (const [id, record] of book.events) rows[`event ${id}`] = eventCodec.encode(record)
  return rows
}
