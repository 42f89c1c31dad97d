import type { Entry } from '../../domain/ledger/entry.ts'
import type { Account } from '../../domain/record/account.ts'
import type { Card } from '../../domain/record/card.ts'
import { accountCodec, cardCodec } from '../../engine/format/codec.ts'
import { createReplayBook } from './replay-book.ts'
import { createReplayedAccount, type ReplayedAccount } from './replayed-account.ts'

/** The records of an account as the store has them now, encoded. */
export interface Snapshot {
  readonly account: string
  readonly cards: readonly string[]
}

/**
 * The account as it was when the log began, as far as it can be told: its money now, less what the log
 * has moved since; its cards with their present settings; no earlier transaction and no window.
 */
export function accountBeforeLog(snapshot: Snapshot, entries: readonly Entry[]): ReplayedAccount {
  const account = accountCodec.decode(snapshot.account)
  const cards = snapshot.cards.map((text) => cardBefore(cardCodec.decode(text), entries))
  const blank = { ...account, ...noMoney, windows: {}, lastArrivalMs: 0 }
  const moved = accountWith(blank, cards)
  for (const entry of entries) moved.follow(entry)
  const after = moved.book.account() ?? blank
  return accountWith(
    {
      ...blank,
      postedMinor: account.postedMinor - after.postedMinor,
      heldMinor: Math.max(0, account.heldMinor - after.heldMinor),
      withheldMinor: Math.max(0, account.withheldMinor - after.withheldMinor),
      entryCount: entries[0]?.n ?? 0,
    },
    cards,
  )
}

const noMoney = {
  postedMinor: 0,
  heldMinor: 0,
  withheldMinor: 0,
  chargesTakenMinor: 0,
  chargesPendingMinor: 0,
  grantedMinor: 0,
} as const

function accountWith(account: Account, cards: readonly Card[]): ReplayedAccount {
  const book = createReplayBook()
  book.put({ account, cards, transactions: [], aliases: [], forgotten: null, event: null })
  return createReplayedAccount(book)
}

/** A card whose status changes in the log begins as Active: its earlier status is not known. */
function cardBefore(card: Card, entries: readonly Entry[]): Card {
  const restated = entries.some(
    ({ cardId, changes }) =>
      cardId === card.cardId &&
      changes.some(
        (change) =>
          change.type === 'cardTerminated' ||
          (change.type === 'cardChanged' && change.set.status !== undefined),
      ),
  )
  const status = restated ? ({ status: 'Active', terminatedBy: '' } as const) : {}
  const declinesInRow = declinesBefore(card, entries)
  return { ...card, ...status, windows: {}, recentAsks: [], lastAskAtMs: 0, declinesInRow }
}

/** What the first entry that tells of it had counted on; what seeding put came from the log itself. */
function declinesBefore(card: Card, entries: readonly Entry[]): number {
  for (const { cardId, changes } of entries) {
    if (cardId !== card.cardId) continue
    for (const change of changes) {
      if (change.type === 'seeded' && change.remembered.declinesInRow !== undefined) return 0
      if (change.type !== 'askNoted' || change.noted.declines === undefined) continue
      return Math.max(0, change.noted.declines - 1)
    }
  }
  return card.declinesInRow
}
