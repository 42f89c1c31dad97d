import { bookingKey } from '../domain/operation/handling.ts'
import type { Account } from '../domain/record/account.ts'
import type { CardEvent } from '../domain/record/event.ts'
import type { Engine } from '../engine/engine.ts'
import type { Store } from '../store/port.ts'
import { minorOf } from '../wire/amount.ts'
import { accountOfCard, showTransaction } from './show.ts'
import { type Doing, markHandled, operateAt, type Work } from './worklist.ts'

/** Where and as what an unmatched advice is booked, as far as that is not as it came. */
export interface BookingOptions {
  readonly card?: string | undefined
  readonly transaction?: string | undefined
  /** In major units of the account's currency. */
  readonly amount?: string | undefined
}

type Booking =
  | { readonly refused: string }
  | { readonly event: CardEvent; readonly account: Account }

/** Books an unmatched advice now, and marks it as handled. */
export async function bookWork(
  work: Work,
  options: BookingOptions,
  doing: Doing,
  { store, engine }: { readonly store: Store; readonly engine: () => Promise<Engine> },
): Promise<Booking> {
  const { card, transaction } = options
  const advice = work.entry.event
  if (advice === null) return { refused: `${work.key} has no event: mark it as done` }
  const cardId = card ?? advice.cardId
  const account = await accountOfCard(store, cardId)
  if (account === null) return { refused: `there is no card ${cardId}: import it, or name another` }
  const known = transaction === undefined || (await showTransaction(store, cardId, transaction))
  if (known === null) return { refused: `card ${cardId} has no transaction ${transaction}` }
  const amountMinor =
    options.amount === undefined ? advice.amountMinor : minorOf(options.amount, account.currency)
  if (amountMinor !== null && typeof amountMinor !== 'number') return amountMinor

  const event: CardEvent = {
    ...advice,
    ...(transaction === undefined ? {} : namesOf(advice, transaction)),
    cardId,
    amountMinor,
    currency: options.amount === undefined ? advice.currency : account.currency,
  }
  const refused = await bookOnce(work, event, account.accountId, doing, await engine())
  return refused === '' ? { event, account } : { refused }
}

/** A refund keeps its own id and is linked to what it belongs to. */
function namesOf(advice: CardEvent, transaction: string): Partial<CardEvent> {
  if (advice.requestType === 'Refund') return { originalTransactionId: transaction }
  return { transactionId: transaction, originalTransactionId: '' }
}

/**
 * The booking is fixed where the advice came to, before it is booked elsewhere: so it cannot be
 * booked at two accounts, whoever tries at the same time or after a crash.
 */
async function bookOnce(
  work: Work,
  event: CardEvent,
  accountId: string,
  doing: Doing,
  engine: Engine,
): Promise<string> {
  const key = bookingKey(work.entry.accountId, work.entry.eventKey)
  const here = work.entry.accountId === accountId
  if (!here) {
    const assign = { type: 'assign', event, bookingKey: key } as const
    const { refused } = await operateAt(work, assign, doing, engine)
    if (refused !== '') return refused
  }
  const sortKey = here ? work.sortKey : ''
  const operation = { type: 'book', event, bookingKey: key, sortKey } as const
  const { refused, changed } = await engine.operate(
    accountId,
    operation,
    doing.reason,
    doing.origin,
  )
  if (refused !== '' || (here && changed)) return refused
  return (await markHandled(work, doing, engine)).refused
}
