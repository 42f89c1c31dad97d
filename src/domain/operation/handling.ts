import { type Book, gather, gatherCard } from '../change/book.ts'
import type { Worklist } from '../change/change.ts'
import { type Draft, openDraft, resumeDraft } from '../change/draft.ts'
import type { View } from '../change/view.ts'
import { bookAdvice } from '../decide/advice.ts'
import type { Pack } from '../decide/pack.ts'
import type { Account } from '../record/account.ts'
import { type CardEvent, contentHash, isAsk } from '../record/event.ts'
import { doneRecord, type UnmatchedCause } from '../record/event-record.ts'
import type { OperationRefused } from './outcome.ts'

/** An operation on an entry of a worklist, at the account that the entry stands under. */
export type Handling =
  | { readonly type: 'handle'; readonly list: Worklist; readonly sortKey: string }
  | {
      /** Fixes what an unmatched advice is booked as, before it is booked at another account. */
      readonly type: 'assign'
      readonly event: CardEvent
      readonly bookingKey: string
    }
  | {
      readonly type: 'book'
      /** The advice, on the card and transaction and with the amount that it is booked with. */
      readonly event: CardEvent
      readonly bookingKey: string
      /** The entry of the list, when it stands under this account; else ''. */
      readonly sortKey: string
    }

/** The key under which an unmatched advice is booked once; it names the account it came to. */
export function bookingKey(accountId: string, eventKey: string): string {
  return `book·${accountId}·${eventKey}`
}

export function handle(
  operation: Handling,
  book: Book,
  pack: Pack,
  nowMs: number,
): Draft | OperationRefused {
  if (book.account() === null) return { refused: 'there is no such account' }
  switch (operation.type) {
    case 'handle': {
      const { list, sortKey } = operation
      const draft = openDraft(gatherCard('', book), nowMs)
      draft.make({ type: 'handled', list, sortKey })
      return draft
    }
    case 'assign':
      return assign(operation, book, pack, nowMs)
    case 'book':
      return bookUnmatched(operation, book, pack, nowMs)
  }
}

/** Safe to repeat with the same booking, so that one that was cut off can be finished. */
function assign(
  { event, bookingKey }: Extract<Handling, { type: 'assign' }>,
  book: Book,
  pack: Pack,
  nowMs: number,
): Draft | OperationRefused {
  const view = { ...gatherCard('', book), eventKey: bookingKey, event: book.event(bookingKey) }
  const draft = openDraft(view, nowMs)
  const hash = contentHash(event)
  if (view.event === null) {
    draft.make({ type: 'recorded', record: doneRecord(hash, pack.version, draft.atMs) })
  } else if (view.event.contentHash !== hash) {
    return { refused: bookedOtherwise }
  }
  return draft
}

/**
 * Where the advice did not come to this account, it is recorded under its own id: the relay may send it again, now that
 * the card is known, and may have done so already.
 */
function recordKey(key: string, { eventId }: CardEvent, { accountId }: Account): string {
  return key.startsWith(bookingKey(accountId, '')) ? key : eventId
}

const cameAgain =
  'the relay has sent it again, and that waits in the list too: book that one, and mark this as done'

const knownThere = ({ eventId }: CardEvent) =>
  `event ${eventId} is known there, with another transaction or amount: the relay has sent it again. Mark this as done, or use arbiter adjust`

const bookedOtherwise =
  'its booking was begun with another card, transaction or amount: repeat it with those'

function bookUnmatched(
  { event, bookingKey, sortKey }: Extract<Handling, { type: 'book' }>,
  book: Book,
  pack: Pack,
  nowMs: number,
): Draft | OperationRefused {
  const gathered = gather(event, book)
  const eventKey = recordKey(bookingKey, event, gathered.account)
  const done = book.event(bookingKey) ?? book.event(eventKey)
  const view: View = { ...gathered, eventKey, otherContent: false, event: done }
  const { account, card } = view
  if (isAsk(event)) {
    return { refused: `${event.requestType} is not an advice: its Settlement can be booked` }
  }
  if (card.cardId === '') return { refused: `there is no card ${event.cardId}` }
  // A whole Reversal voids whatever its amount says.
  const comparable = event.currency === account.currency || event.requestType === 'Reversal'
  if (!comparable) {
    return {
      refused: `the advice is in ${event.currency}, the account in ${account.currency}: give the amount in ${account.currency}`,
    }
  }
  const hash = contentHash(event)
  if (done !== null && done.unmatched !== '') return { refused: cameAgain }
  if (done !== null && done.contentHash !== hash) {
    return { refused: book.event(bookingKey) === null ? knownThere(event) : bookedOtherwise }
  }
  if (done !== null) return openDraft(view, nowMs)
  // Its age and its address were the relay's to explain; a person has looked at it now.
  const { organizationId: _, ...plain } = event
  const looked = { ...plain, occurredAtMs: 0 }
  const { unmatched, changes, after } = bookAdvice(looked, openDraft(view, nowMs), pack)
  if (unmatched !== '' && unmatched !== 'other currency') return { refused: refusals[unmatched] }

  // Nothing below may refuse.
  const draft = resumeDraft(view, changes, after, nowMs)
  draft.make({ type: 'recorded', record: doneRecord(hash, pack.version, draft.atMs) })
  if (sortKey !== '') draft.make({ type: 'handled', list: 'unmatched', sortKey })
  return draft
}

const refusals: Readonly<Record<UnmatchedCause, string>> = {
  'unknown card': 'there is no such card',
  'other currency': 'the advice is in another currency than the account',
  'other content': 'the event came before with other content',
  'too old': 'the advice is too old',
  'too large': 'the account would leave the numbers that are kept exactly',
  'other organization': 'the card is of another organization',
}
