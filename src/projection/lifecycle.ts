import type { Account } from '../domain/record/account.ts'
import { majorOf } from '../domain/record/money.ts'
import { heldPart, type Transaction } from '../domain/record/transaction.ts'
import { ownersOfTransaction } from '../management/transaction.ts'
import type { Store } from '../store/port.ts'
import { allTime, readPage } from './listing.ts'
import type { TransactionRow } from './row.ts'
import { rowListing } from './row-desk.ts'

const maxRows = 100
/** Rows of other accounts and cards with the same transaction id are passed over. */
const maxPages = 10

/** The newest rows of a lifecycle. */
export async function rowsOfTransaction(
  store: Store,
  { organizationId, accountId }: Account,
  transaction: Transaction,
): Promise<TransactionRow[]> {
  const { transactionId } = transaction
  const listing = rowListing(store, organizationId, { transactionId }, allTime)
  const isOwner = ownersOfTransaction(store, accountId, transaction)
  const rows: TransactionRow[] = []
  let place: string | null = ''
  for (let pages = 0; place !== null && rows.length < maxRows && pages < maxPages; pages++) {
    const { items, next }: Awaited<ReturnType<typeof readPage<TransactionRow>>> = await readPage(
      store,
      listing,
      place,
      maxRows,
    )
    const ofAccount = items.filter((row) => row.accountId === accountId)
    const owned = await Promise.all(ofAccount.map(({ cardId }) => isOwner(cardId)))
    rows.push(...ofAccount.filter((_, i) => owned[i]))
    place = next
  }
  return rows.slice(0, maxRows)
}

/** The sums of a lifecycle as they are now, in major units. */
export function shownTransaction(t: Transaction, { currency }: Account) {
  const major = (minor: number) => majorOf(minor, currency)
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
