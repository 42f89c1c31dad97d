import { isAlias } from '../domain/change/book.ts'
import type { Account } from '../domain/record/account.ts'
import type { Card } from '../domain/record/card.ts'
import { formatMinor } from '../domain/record/money.ts'
import { heldPart, type Transaction } from '../domain/record/transaction.ts'
import { cardCodec, transactionCodec } from '../engine/format/codec.ts'
import { accountAggregate, cardKey, transactionChild } from '../engine/format/layout.ts'
import type { ChildKey, Store } from '../store/port.ts'
import { allTime, readPage } from './listing.ts'
import type { TransactionRow } from './row.ts'
import { rowListing } from './row-desk.ts'

/** As many cards as are looked through for a transaction of a card that was issued again. */
const maxReissues = 8
const maxRows = 100
/** Rows of other accounts with the same transaction id are passed over. */
const maxPages = 10

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

/** The newest rows of a lifecycle. */
export async function rowsOfTransaction(
  store: Store,
  { organizationId, accountId }: Account,
  transactionId: string,
): Promise<TransactionRow[]> {
  const listing = rowListing(store, organizationId, { transactionId }, allTime)
  const rows: TransactionRow[] = []
  let place: string | null = ''
  for (let pages = 0; place !== null && rows.length < maxRows && pages < maxPages; pages++) {
    const { items, next }: Awaited<ReturnType<typeof readPage<TransactionRow>>> = await readPage(
      store,
      listing,
      place,
      maxRows,
    )
    rows.push(...items.filter((row) => row.accountId === accountId))
    place = next
  }
  return rows.slice(0, maxRows)
}

/** The sums of a lifecycle as they are now, in major units. */
export function shownTransaction(t: Transaction, { currency }: Account) {
  const major = (minor: number) => Number(formatMinor(minor, currency))
  return {
    transactionId: t.transactionId,
    cardId: t.cardId,
    currency,
    authorized: major(Math.max(t.preauthorizedMinor, t.authorizedMinor)),
    reversed: major(t.reversedMinor),
    settled: major(t.settledMinor),
    refunded: major(t.refundedMinor),
    held: major(heldPart(t)),
    chargesTaken: major(t.chargeTakenMinor),
    chargesPending: major(t.chargePendingMinor),
    voided: t.voided,
    closed: t.closed,
    expired: t.expired,
    // Posted cash never expires; the time is kept for what it would be as a hold.
    expiresAt: t.expiresAtMs === 0 || t.cashPosted ? null : new Date(t.expiresAtMs).toISOString(),
  }
}
