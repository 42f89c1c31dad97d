import { type Account, noAccount } from './account.ts'
import { type Book, gatherDue } from './book.ts'
import { type Card, noCard } from './card.ts'
import type { View } from './change.ts'
import { follow } from './consequence.ts'
import { arrivalMs } from './decide.ts'
import { type Draft, openDraft } from './draft.ts'
import type { Pack } from './pack.ts'
import { newTransaction, openHold } from './transaction.ts'

/** What a person, or a tool for one, does to an account; always with a reason in the log. */
export type Operation =
  | {
      readonly type: 'open'
      readonly account: Account
      readonly card: Card
      /** Cards that share an account give its balance once. */
      readonly givesBalance: boolean
    }
  | { readonly type: 'changeCard'; readonly cardId: string; readonly set: CardSettings }
  | { readonly type: 'adjust'; readonly amountMinor: number }
  | { readonly type: 'releaseHold'; readonly cardId: string; readonly transactionId: string }

/** The part of a card that people set. */
export type CardSettings = Partial<
  Pick<
    Card,
    | 'status'
    | 'terminatedBy'
    | 'dailyLimitMinor'
    | 'transactionLimitMinor'
    | 'allowedMccs'
    | 'blockedMccs'
    | 'allowedMids'
    | 'blockedMids'
    | 'unblockedMids'
  >
>

/** Why an operation cannot be done; the message is for the person who asked. */
export interface OperationRefused {
  readonly refused: string
}

export interface OperationOutcome extends OperationRefused {
  /** False when everything was so already; `refused` is '' when it was done. */
  readonly changed: boolean
}

export function operate(
  operation: Operation,
  book: Book,
  pack: Pack,
  nowMs: number,
): Draft | OperationRefused {
  switch (operation.type) {
    case 'open':
      return open(operation, book, nowMs)
    case 'changeCard':
      return changeCard(operation.cardId, operation.set, book, nowMs)
    case 'adjust':
      return adjust(operation.amountMinor, book, nowMs)
    case 'releaseHold':
      return releaseHold(operation.cardId, operation.transactionId, book, pack, nowMs)
  }
}

/** The view of an account and perhaps a card, but no transaction. */
function viewOf(book: Book, cardId: string): View {
  return {
    account: book.account() ?? noAccount,
    card: (cardId === '' ? null : book.card(cardId)) ?? noCard,
    home: null,
    transaction: newTransaction('', ''),
    linked: null,
    joining: '',
    linking: '',
    forgotten: false,
    eventKey: '',
    otherContent: false,
    event: null,
  }
}

function draftOn(view: View, nowMs: number): Draft {
  return openDraft(view, arrivalMs(view, nowMs))
}

/** Safe to repeat: a card that is there already stays as it is. */
function open(
  { account, card, givesBalance }: Extract<Operation, { type: 'open' }>,
  book: Book,
  nowMs: number,
): Draft | OperationRefused {
  const view = viewOf(book, card.cardId)
  const draft = draftOn(view, nowMs)
  if (view.card.cardId !== '') return draft
  const there = view.account
  if (there.accountId === '') {
    draft.make({ type: 'accountOpened', account })
  } else if (there.currency !== account.currency) {
    return { refused: `account ${there.accountId} is in ${there.currency}` }
  } else if (givesBalance && there.openingMinor !== account.openingMinor) {
    return { refused: `account ${there.accountId} has its balance from an earlier card` }
  }
  draft.make({ type: 'cardIssued', card })
  return draft
}

function changeCard(
  cardId: string,
  set: CardSettings,
  book: Book,
  nowMs: number,
): Draft | OperationRefused {
  const view = viewOf(book, cardId)
  if (view.card.cardId === '') return { refused: `there is no card ${cardId}` }
  if (view.card.status === 'Terminated' && set.status !== undefined) {
    return { refused: `card ${cardId} is Terminated, which is final` }
  }
  const draft = draftOn(view, nowMs)
  draft.make({ type: 'cardChanged', set })
  return draft
}

function adjust(amountMinor: number, book: Book, nowMs: number): Draft | OperationRefused {
  const view = viewOf(book, '')
  if (view.account.accountId === '') return { refused: 'there is no such account' }
  if (!Number.isSafeInteger(view.account.postedMinor + amountMinor)) {
    return { refused: 'the account would leave the numbers that are kept exactly' }
  }
  const draft = draftOn(view, nowMs)
  draft.make({ type: 'transferred', amountMinor })
  return draft
}

/** As if it had expired: a settlement that still comes is posted. */
function releaseHold(
  cardId: string,
  transactionId: string,
  book: Book,
  pack: Pack,
  nowMs: number,
): Draft | OperationRefused {
  const view = gatherDue(cardId, transactionId, book)
  if (view === null) return { refused: `card ${cardId} has no transaction ${transactionId}` }
  if (openHold(view.transaction) === 0 || view.transaction.cashPosted) {
    return { refused: `transaction ${transactionId} holds nothing` }
  }
  const draft = draftOn(view, nowMs)
  draft.make({ type: 'expired' })
  follow(draft, null, pack)
  return draft
}
