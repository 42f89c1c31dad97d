import { maxSideMinor } from '../../domain/record/movement.ts'
import type { AccountWrite } from '../../engine/change/account-change.ts'
import { indexes } from '../../engine/format/layout.ts'
import {
  doneWrite,
  isTooLate,
  pendingPlace,
  type RequestAttempt,
  readsOf,
  standingOf,
} from '../effect.ts'
import type { Wallet } from '../wallet.ts'
import { answerOf } from './answer.ts'
import type { ChangeSide, SideView } from './side.ts'
import {
  aggregateOfSide,
  type DestinationRefusal,
  decodeTransfer,
  decodeVerdict,
  encodeTransfer,
  inboxPlace,
  isCreditable,
  isRecordOf,
  movingEntry,
  type Transfer,
  type TransferVerdict,
} from './transfer.ts'

/** The commits of a transfer; each is decided on what its aggregate has, and may be done again. */
export interface TransferSteps {
  debit<R>(attempt: RequestAttempt, asked: DebitAsked<R>): Promise<Debited<R>>
  credit(transfer: Transfer): Promise<TransferVerdict | 'tooOld'>
  close(transfer: Transfer, verdict: TransferVerdict): Promise<Closed>
  /** What is on its way from a source under a Reference; where nothing is, its index entry goes by a commit. */
  find(
    home: string,
    named: Pick<RequestAttempt, 'clientId' | 'reference'>,
    sortKey: string,
  ): Promise<Transfer | null>
}

/** What a source is asked for: a transfer, or to say by a commit why there is none. */
export interface DebitAsked<R> {
  readonly home: string
  /** What its source has after it is not known yet. */
  readonly transfer: Transfer | null
  /** null when the source may give it. */
  check(view: SideView): R | null
}

export type Debited<R> =
  /** It is on its way; `own` when this request began it. */
  | { readonly state: 'moving'; readonly transfer: Transfer; readonly own: boolean }
  /** Arrived already, by this very request. */
  | { readonly state: 'done'; readonly data: unknown }
  | { readonly state: 'seen' | 'other' | 'late' }
  | { readonly state: 'refused'; readonly refusal: R }

type Closed =
  | { readonly state: 'done'; readonly data: unknown }
  | { readonly state: 'takenBack' }
  /** Somebody else closed it. */
  | { readonly state: 'gone' }

/** What is written beside the money that comes into a wallet, such as what is told of it. */
export type BesideCredit = (
  data: object,
  wallet: Wallet,
  atMs: number,
) => Pick<AccountWrite, 'put' | 'index'>

export type PrepareBeside = (transfer: Transfer) => Promise<BesideCredit>

/** Whoever brings money into a wallet tells of it in that commit; what comes to a card is told by the log. */
export function prepareTelling(nowMs: () => number, prepareBeside?: PrepareBeside) {
  return async (transfer: Transfer) => {
    const beside = transfer.to.kind === 'wallet' ? await prepareBeside?.(transfer) : undefined
    return ({ wallet }: SideView, toAfter: unknown): ReturnType<BesideCredit> => {
      if (beside === undefined || wallet === null) return {}
      const atMs = nowMs()
      return beside(answerOf(transfer, toAfter, atMs), wallet, atMs)
    }
  }
}

/**
 * With `mayLose`, what rests on another's record is said after a commit of our own: else that record could be
 * lost, and nobody would know.
 */
export function createTransferSteps(
  change: ChangeSide,
  nowMs: () => number,
  prepareBeside?: PrepareBeside,
  mayLose = false,
): TransferSteps {
  const seen = mayLose ? {} : null
  const telling = prepareTelling(nowMs, prepareBeside)
  return {
    debit<R>(attempt: RequestAttempt, { home, transfer, check }: DebitAsked<R>) {
      const said = (result: Debited<R>) => ({ result, write: {} })
      return change<Debited<R>>({
        home,
        origin: originOfTransfer(attempt),
        reads: readsOf(attempt),
        decide(view) {
          const standing = standingOf(view.child, attempt)
          if (standing.state === 'done') {
            const { id, data } = standing.note
            const own = id === attempt.id
            return { result: own ? { state: 'done', data } : { state: 'seen' }, write: seen }
          }
          if (standing.state === 'pending') {
            const found = decodeTransfer(standing.record)
            if (found.hash !== attempt.hash) return said({ state: 'other' })
            const own = found.id === attempt.id
            return { result: { state: 'moving', transfer: found, own }, write: seen }
          }
          if (isTooLate(attempt, nowMs())) return said({ state: 'late' })
          const refusal = check(view)
          if (refusal !== null) return said({ state: 'refused', refusal })
          if (transfer === null) throw new Error('a debit without a transfer must be refused')
          return beginTransfer(view, transfer)
        },
      })
    },

    async credit(transfer) {
      const inbox = inboxPlace(transfer)
      const tell = await telling(transfer)
      return change<TransferVerdict | 'tooOld'>({
        home: aggregateOfSide(transfer.to),
        origin: originOfTransfer(transfer),
        reads: [],
        guesses: [inbox],
        decide(view) {
          const text = view.child(inbox)
          if (text !== null) return { result: decodeVerdict(text), write: seen }
          if (!isCreditable(transfer, nowMs())) return { result: 'tooOld', write: null }
          const refusal = refusalAt(view, transfer)
          const result: TransferVerdict =
            refusal === null ? bring(view, transfer) : { state: 'refused', refusal }
          const put = [{ ...inbox, value: JSON.stringify(result) }]
          if (result.state !== 'credited') return { result, write: { put } }
          const opened = transfer.opening?.put ?? []
          const { put: told = [], index = [] } = tell(view, result.toAfter)
          return { result, write: { put: [...put, ...opened, ...told], index } }
        },
      })
    },

    close(transfer, verdict) {
      const pending = pendingPlace(transfer)
      return change<Closed>({
        home: aggregateOfSide(transfer.from),
        origin: originOfTransfer(transfer),
        reads: readsOf(transfer),
        decide(view) {
          const text = view.child(pending)
          // By its id and not by its Reference: a later attempt may be on its way under the same.
          if (text === null || !isRecordOf(text, transfer.id)) {
            return { result: { state: 'gone' }, write: null }
          }
          const unindex = [movingEntry(transfer)]
          if (verdict.state === 'credited') {
            const closedAtMs = nowMs()
            const data = answerOf(transfer, verdict.toAfter, closedAtMs)
            const note = doneWrite(transfer, data, closedAtMs, view.child)
            const write = { put: note.put, remove: [pending, ...note.remove], unindex }
            return { result: { state: 'done', data }, write }
          }
          if (view.move(transfer, transfer.from, 'back') !== '') {
            throw new Error('what was taken cannot be given back')
          }
          return { result: { state: 'takenBack' }, write: { remove: [pending], unindex } }
        },
      })
    },

    find(home, named, sortKey) {
      const pending = pendingPlace(named)
      return change<Transfer | null>({
        home,
        origin: originOfTransfer(named),
        reads: [pending],
        decide(view) {
          const text = view.child(pending)
          const found = text === null ? null : decodeTransfer(text)
          const own = found === null ? null : movingEntry(found)
          if (own?.sortKey === sortKey) return { result: found, write: seen }
          const unindex = [{ index: indexes.moving, sortKey }]
          return { result: found, write: { unindex } }
        },
      })
    },
  }
}

export function originOfTransfer({
  clientId,
  reference,
}: Pick<RequestAttempt, 'clientId' | 'reference'>): string {
  return `api ${clientId} ${reference}`
}

/** Takes the money out, with the record that it is on its way. */
export function beginTransfer(
  view: SideView,
  transfer: Transfer,
  direction: 'out' | 'owed' = 'out',
) {
  if (view.move(transfer, transfer.from, direction) !== '') {
    throw new Error('a source gives what it was checked to have')
  }
  const begun = { ...transfer, fromAfter: view.shown() }
  const put = [{ ...pendingPlace(begun), value: encodeTransfer(begun) }]
  const index = [{ ...movingEntry(begun), value: '' }]
  return { result: { state: 'moving', transfer: begun, own: true } as const, write: { put, index } }
}

/** What may have changed at the destination since it was looked at. */
function refusalAt(view: SideView, transfer: Transfer): DestinationRefusal | null {
  const { type, amountMinor, to } = transfer
  if (transfer.mustArrive) return null
  if (view.wallet !== null) {
    const full = view.wallet.balanceMinor + amountMinor > maxSideMinor
    return full ? { condition: 'amountTooLarge', detail: 'the wallet would have too much' } : null
  }
  const { account } = view.account!
  if (account === null || to.kind !== 'card') return null
  if (account.postedMinor + amountMinor > maxSideMinor) {
    return { condition: 'amountTooLarge', detail: 'the card would have too much' }
  }
  const card = view.account!.card(to.cardId)
  const isClosed = card?.status === 'Terminated'
  if ((type === 'TopUp' || type === 'CardToCard') && isClosed) {
    return { condition: 'cardClosed', detail: `card ${to.cardId} is Terminated` }
  }
  if (type === 'CardToCard' && card?.status === 'Frozen') {
    return { condition: 'cardNotActive', detail: `card ${to.cardId} is Frozen` }
  }
  if (type === 'Regularization' && account.postedMinor + amountMinor !== 0) {
    return { condition: 'changedMeanwhile', detail: `what card ${to.cardId} owes has changed` }
  }
  return null
}

/** Opens what is to be opened and brings the money in; nothing here may refuse. */
export function bring(view: SideView, transfer: Transfer): TransferVerdict {
  const { opening, to } = transfer
  if (opening !== null) open(view, opening)
  if (view.move(transfer, to, 'in') !== '') {
    throw new Error('a destination takes what it was checked for')
  }
  return { state: 'credited', toAfter: view.shown(), fromAfter: transfer.fromAfter }
}

function open(
  view: SideView,
  { account, card, terminates }: NonNullable<Transfer['opening']>,
): void {
  const at = view.account!
  // Its ids are made from those of the transfer: whoever opened it would have left a verdict.
  if (account !== null && at.account !== null) throw new Error('an account is opened twice')
  const given = account ?? at.account
  if (given === null) throw new Error('a card joins an account that is not opened')
  const steps = [at.operate({ type: 'open', account: given, card, givesBalance: false })]
  if (terminates !== '') {
    const set = { status: 'Terminated', terminatedBy: 'operator' } as const
    steps.push(at.operate({ type: 'changeCard', cardId: terminates, set }))
  }
  const refused = steps.find((step) => step !== '')
  if (refused !== undefined) throw new Error(`a card cannot be opened: ${refused}`)
}
