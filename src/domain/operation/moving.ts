import { type Book, gatherCard, gatherDue } from '../change/book.ts'
import { type Draft, openDraft } from '../change/draft.ts'
import { bearer } from '../decide/advice.ts'
import type { Pack } from '../decide/pack.ts'
import { availableMinor } from '../record/account.ts'
import type { Movement } from '../record/movement.ts'
import { withheld } from '../record/transaction.ts'
import type { OperationRefused } from './outcome.ts'

/** Moves money into a card's account or out of it; whether it may be moved, who asks has checked. */
interface Move {
  readonly type: 'move'
  readonly cardId: string
  /** Below zero: out of it. */
  readonly amountMinor: number
  readonly movement: Movement
}

/** Takes of a pending charge what is available. */
interface TakeCharge {
  readonly type: 'takeCharge'
  readonly cardId: string
  readonly transactionId: string
}

/** Lets what is withheld of a refund be spent, though no settlement covers it. */
interface GrantRefund {
  readonly type: 'grantRefund'
  readonly cardId: string
  readonly transactionId: string
}

/** An operation on money that is known: who may do it, who asks has checked. */
export type Moving = Move | TakeCharge | GrantRefund

export function moveMoney(
  operation: Moving,
  book: Book,
  pack: Pack,
  nowMs: number,
): Draft | OperationRefused {
  switch (operation.type) {
    case 'move':
      return move(operation, book, nowMs)
    case 'takeCharge':
      return takeCharge(operation, book, nowMs)
    case 'grantRefund':
      return grantRefund(operation, book, pack, nowMs)
  }
}

function move(
  { cardId, amountMinor, movement }: Move,
  book: Book,
  nowMs: number,
): Draft | OperationRefused {
  const view = gatherCard(cardId, book)
  if (view.card.cardId === '') return { refused: `there is no card ${cardId}` }
  const draft = openDraft(view, nowMs)
  const { postedMinor, transfersMinor, movedMinor } = view.account
  const available = availableMinor(view.account)
  const sums = [postedMinor, transfersMinor, movedMinor, available].map((sum) => sum + amountMinor)
  if (!sums.every(Number.isSafeInteger)) {
    return { refused: 'the account would leave the numbers that are kept exactly' }
  }
  draft.make({ type: 'moved', amountMinor, movement })
  return draft
}

function takeCharge(
  { cardId, transactionId }: TakeCharge,
  book: Book,
  nowMs: number,
): Draft | OperationRefused {
  const view = gatherDue(cardId, transactionId, book)
  if (view === null) return { refused: `card ${cardId} has no transaction ${transactionId}` }
  const draft = openDraft(view, nowMs)
  const amountMinor = Math.min(
    view.transaction.chargePendingMinor,
    Math.max(0, availableMinor(view.account)),
  )
  if (amountMinor > 0) draft.make({ type: 'chargeTaken', amountMinor })
  return draft
}

function grantRefund(
  { cardId, transactionId }: GrantRefund,
  book: Book,
  pack: Pack,
  nowMs: number,
): Draft | OperationRefused {
  const view = gatherDue(cardId, transactionId, book)
  if (view === null) return { refused: `card ${cardId} has no transaction ${transactionId}` }
  const amountMinor = withheld(bearer(view))
  if (amountMinor === 0) return { refused: `nothing of transaction ${transactionId} is withheld` }
  const draft = openDraft(view, nowMs)
  const day = pack.zone.of(view.account.country).dayOf(draft.atMs)
  draft.make({ type: 'granted', amountMinor, day })
  return draft
}
