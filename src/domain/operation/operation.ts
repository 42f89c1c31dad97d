import { type Book, gatherCard, gatherDue } from '../change/book.ts'
import type { Seed } from '../change/change.ts'
import { type Draft, openDraft } from '../change/draft.ts'
import type { View } from '../change/view.ts'
import { bookConsequences } from '../decide/consequence.ts'
import type { Pack } from '../decide/pack.ts'
import { type Account, availableMinor } from '../record/account.ts'
import { type Card, maxListedMccs, maxListedMids } from '../record/card.ts'
import { type CardEvent, hash64 } from '../record/event.ts'
import { doneRecord } from '../record/event-record.ts'
import { formatMinor } from '../record/money.ts'
import { openHold } from '../record/transaction.ts'
import { type Handling, handle } from './handling.ts'
import { type Moving, moveMoney } from './moving.ts'
import type { OperationRefused } from './outcome.ts'

/** An action of a person, or of a tool for one, on an account; always with a reason in the log. */
export type Operation =
  | {
      readonly type: 'open'
      readonly account: Account
      readonly card: Card
      /** Cards that share an account give its balance once. */
      readonly givesBalance: boolean
    }
  /** Gives an account that has no organization to one, with its country where it has none. */
  | { readonly type: 'adopt'; readonly organizationId: string; readonly country: string }
  | { readonly type: 'changeCard'; readonly cardId: string; readonly set: CardSettings }
  | { readonly type: 'unfreeze'; readonly cardId: string }
  | { readonly type: 'editLists'; readonly cardId: string; readonly edits: readonly ListEdit[] }
  | {
      readonly type: 'adjust'
      readonly amountMinor: number
      /** An adjustment under the same reference is not done again. */
      readonly reference: string
    }
  | { readonly type: 'releaseHold'; readonly cardId: string; readonly transactionId: string }
  /** Puts what the log tells of a card and of one of its transactions; '' for none. */
  | {
      readonly type: 'seed'
      readonly cardId: string
      readonly transactionId: string
      readonly seed: Seed
    }
  | Handling
  | Moving

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
    | 'contactlessPayment'
    | 'metadata'
  >
>

/** How many values each list of a card may have. */
const listBounds = {
  allowedMccs: maxListedMccs,
  blockedMccs: maxListedMccs,
  allowedMids: maxListedMids,
  blockedMids: maxListedMids,
  unblockedMids: maxListedMids,
} as const

/** A change of one list as it then is: who sets a whole list would undo what happened meanwhile. */
export interface ListEdit {
  readonly list: keyof typeof listBounds
  /** Empties the list before the rest of the edit. */
  readonly clears: boolean
  readonly remove: readonly string[]
  readonly add: readonly string[]
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
    case 'adopt':
      return adopt(operation.organizationId, operation.country, book, nowMs)
    case 'changeCard':
      return changeCard(operation.cardId, operation.set, book, nowMs)
    case 'unfreeze':
      return changeCard(operation.cardId, { status: 'Active' }, book, nowMs)
    case 'editLists':
      return editLists(operation.cardId, operation.edits, book, nowMs)
    case 'adjust':
      return adjust(operation.amountMinor, operation.reference, book, pack, nowMs)
    case 'releaseHold':
      return releaseHold(operation.cardId, operation.transactionId, book, pack, nowMs)
    case 'handle':
    case 'assign':
    case 'book':
      return handle(operation, book, pack, nowMs)
    case 'move':
    case 'takeCharge':
    case 'grantRefund':
      return moveMoney(operation, book, pack, nowMs)
    case 'seed':
      return seed(operation, book, nowMs)
  }
}

export type OperatedKind = 'operated' | 'booked'

export function entryKindOf(operation: Operation): OperatedKind {
  return operation.type === 'book' ? 'booked' : 'operated'
}

/** The advice that an operation is about, for its entry in the log. */
export function adviceOf(operation: Operation): CardEvent | null {
  return 'event' in operation ? operation.event : null
}

/** Safe to repeat: a card that is there already stays as it is. */
function open(
  { account, card, givesBalance }: Extract<Operation, { type: 'open' }>,
  book: Book,
  nowMs: number,
): Draft | OperationRefused {
  const view = gatherCard(card.cardId, book)
  const draft = openDraft(view, nowMs)
  if (view.card.cardId !== '') return draft
  const there = view.account
  if (there.accountId === '') {
    draft.make({ type: 'accountOpened', account })
  } else {
    const refused = whyNotOpened(there, account, givesBalance)
    if (refused !== '') return { refused }
  }
  const issuedAtMs = card.issuedAtMs || draft.atMs
  draft.make({ type: 'cardIssued', card: { ...card, issuedAtMs } })
  return draft
}

/** Why a card cannot be added to the account that is there; '' when it can. */
export function whyNotOpened(there: Account, account: Account, givesBalance: boolean): string {
  const { accountId, currency, openingMinor } = there
  if (currency !== account.currency) return `account ${accountId} is in ${currency}`
  for (const name of ['organizationId', 'country'] as const) {
    // What one of them leaves open is no contradiction.
    if (there[name] === '' || account[name] === '' || there[name] === account[name]) continue
    return `account ${accountId} has ${name} ${there[name]}, not ${account[name]}: name another account, or leave ${name} out`
  }
  if (!givesBalance || openingMinor === account.openingMinor) return ''
  const [was, is] = [openingMinor, account.openingMinor].map((m) => formatMinor(m, currency))
  return `account ${accountId} was opened with ${was}, not ${is}: leave the balance out, or give it as it was, and use arbiter adjust for the difference`
}

function adopt(
  organizationId: string,
  country: string,
  book: Book,
  nowMs: number,
): Draft | OperationRefused {
  const view = gatherCard('', book)
  const { account } = view
  if (account.accountId === '') return { refused: 'there is no such account' }
  const draft = openDraft(view, nowMs)
  const owner = account.organizationId
  if (owner !== '' && owner !== organizationId) return { refused: `it belongs to ${owner}` }
  if (owner === '' || account.country === '') {
    draft.make({ type: 'adopted', organizationId, country: account.country === '' ? country : '' })
  }
  return draft
}

function changeCard(
  cardId: string,
  set: CardSettings,
  book: Book,
  nowMs: number,
): Draft | OperationRefused {
  const view = gatherCard(cardId, book)
  if (view.card.cardId === '') return { refused: `there is no card ${cardId}` }
  const revives = set.status !== undefined && set.status !== 'Terminated'
  if (view.card.status === 'Terminated' && revives) {
    return { refused: `card ${cardId} is Terminated, which is final` }
  }
  // Who ends a card that has ended by itself means it for good: no transaction of it goes on, and nothing revives it.
  return settingCard(view, set, nowMs)
}

/** Makes no change when everything was so already. */
function settingCard(view: View, set: CardSettings, nowMs: number): Draft {
  const draft = openDraft(view, nowMs)
  const names = Object.keys(set) as (keyof CardSettings)[]
  const same = names.every((name) => isSame(view.card[name], set[name]))
  if (!same) draft.make({ type: 'cardChanged', set })
  return draft
}

function isSame(a: Card[keyof CardSettings], b: CardSettings[keyof CardSettings]): boolean {
  if (!Array.isArray(a) || !Array.isArray(b)) return a === b
  return a.length === b.length && a.every((value, i) => value === b[i])
}

function editLists(
  cardId: string,
  edits: readonly ListEdit[],
  book: Book,
  nowMs: number,
): Draft | OperationRefused {
  const view = gatherCard(cardId, book)
  if (view.card.cardId === '') return { refused: `there is no card ${cardId}` }
  const set: Partial<Record<ListEdit['list'], readonly string[]>> = {}
  for (const { list, clears, remove, add } of edits) {
    const kept = clears ? [] : (set[list] ?? view.card[list])
    const leaves = new Set(remove)
    const values = [...new Set([...kept.filter((value) => !leaves.has(value)), ...add])]
    if (values.length > listBounds[list]) {
      return { refused: `${list} may have at most ${listBounds[list]} values` }
    }
    set[list] = values
  }
  return settingCard(view, set, nowMs)
}

function adjust(
  amountMinor: number,
  reference: string,
  book: Book,
  pack: Pack,
  nowMs: number,
): Draft | OperationRefused {
  // The middle dot is no character of an id, so such a key is never a relay's event.
  const eventKey = `adjust·${reference}`
  const view = { ...gatherCard('', book), eventKey, event: book.event(eventKey) }
  const { account } = view
  if (account.accountId === '') return { refused: 'there is no such account' }
  const draft = openDraft(view, nowMs)
  const hash = hash64(String(amountMinor))
  if (view.event !== null) {
    const same = view.event.contentHash === hash
    return same ? draft : { refused: `reference ${reference} was used for another amount` }
  }
  const { postedMinor, transfersMinor } = account
  const figures = [postedMinor, transfersMinor, availableMinor(account)]
  const sums = figures.map((figure) => figure + amountMinor)
  if (!sums.every(Number.isSafeInteger)) {
    return { refused: 'the account would leave the numbers that are kept exactly' }
  }
  draft.make({ type: 'transferred', amountMinor })
  draft.make({ type: 'recorded', record: doneRecord(hash, pack.version, draft.atMs) })
  return draft
}

/** Ends a hold as if it had expired: a settlement that still comes is posted. */
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
  const draft = openDraft(view, nowMs)
  draft.make({ type: 'expired', releasedMinor: openHold(view.transaction) })
  bookConsequences(draft, null, pack)
  return draft
}

function seed(
  { cardId, transactionId, seed: told }: Extract<Operation, { type: 'seed' }>,
  book: Book,
  nowMs: number,
): Draft | OperationRefused {
  const view =
    transactionId === '' ? gatherCard(cardId, book) : gatherDue(cardId, transactionId, book)
  if (view === null) return { refused: `card ${cardId} has no transaction ${transactionId}` }
  const draft = openDraft(view, nowMs)
  draft.make({ type: 'seeded', ...told })
  return draft
}
