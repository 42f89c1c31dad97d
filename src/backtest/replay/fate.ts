import type { Book } from '../../domain/change/book.ts'
import type { Change } from '../../domain/change/change.ts'
import { transactionKey } from '../../domain/ledger/ledger.ts'
import { isAsk } from '../../domain/record/event.ts'
import type { OpenEntry } from '../../engine/format/entry-codec.ts'
import { transactionIn } from './replayed-account.ts'

/** What became of a transaction by the end of the log. */
export interface Fate {
  settled: boolean
  refunded: boolean
  reversed: boolean
}

/** The fates of the transactions that somebody asked for, kept true to the end of the log. */
interface Fates {
  of(transaction: readonly [cardId: string, id: string]): Fate
  note(entry: OpenEntry): void
}

export function createFates(book: Book): Fates {
  const fates = new Map<string, Fate>()
  return {
    of([cardId, id]) {
      const key = transactionKey(cardId, id)
      const known = fates.get(key)
      if (known !== undefined) return known
      const t = transactionIn(book, cardId, id)
      const fate = {
        settled: (t?.settledMinor ?? 0) > 0,
        refunded: (t?.refundedMinor ?? 0) > 0 || (t?.linkedCreditMinor ?? 0) > 0,
        reversed: t?.voided === true || (t?.reversedMinor ?? 0) > 0,
      }
      fates.set(key, fate)
      return fate
    },
    note({ head: { transaction, linked, event }, whole }) {
      // No ask settles, refunds or reverses.
      if (fates.size === 0 || (event !== null && isAsk(event))) return
      const fate = fates.get(transactionKey(...transaction))
      const original = linked === null ? undefined : fates.get(transactionKey(...linked))
      if (fate === undefined && original === undefined) return
      for (const change of whole().changes) {
        if (fate !== undefined) noteChange(fate, change)
        if (original !== undefined && change.type === 'refunded') original.refunded = true
      }
    },
  }
}

function noteChange(fate: Fate, change: Change): void {
  if (change.type === 'captured') fate.settled ||= change.amountMinor > 0
  else if (change.type === 'refunded') fate.refunded = true
  else if (change.type === 'voided' || change.type === 'reduced') fate.reversed = true
}
