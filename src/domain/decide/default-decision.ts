import { type Draft, nameTransaction, openDraft } from '../change/draft.ts'
import { expiryWithout, undoHold } from '../change/hold.ts'
import { isSafe, type View } from '../change/view.ts'
import { isMisdirected } from '../record/account.ts'
import type { CardEvent } from '../record/event.ts'
import {
  isAbsorbed,
  isAsked,
  netBeforeVoid,
  overReversed,
  type Transaction,
} from '../record/transaction.ts'
import { askAnomalies, namingAnomalies } from './anomaly.ts'
import { type Ask, holdOf, openAsk } from './ask.ts'
import { rememberAsk } from './ask-memory.ts'
import { bookConsequences, liteEnd } from './consequence.ts'
import { bookApproval } from './decide.ts'
import type { Decided } from './decision.ts'
import type { Pack } from './pack.ts'

/**
 * Books an ask that was approved without us, by default or before a failover lost it: no check is asked,
 * and it holds nothing if voided or closed.
 */
export function bookStandIn(
  event: CardEvent,
  view: View,
  pack: Pack,
  receivedAtMs: number,
  approvedAmountMinor: number | null,
): Decided {
  const draft = openDraft(view, receivedAtMs)
  const ask = openAsk(event, view, pack, draft.atMs)
  const decided = {
    code: '000',
    approvedAmountMinor,
    ruleId: '',
    matchedRules: [],
    shadowRules: [],
    absorbed: false,
  } as const
  const nothing = { ...decided, anomalies: [], changes: [], after: view }
  if (view.card.cardId === '') return { ...nothing, unmatched: 'unknown card' }
  if (isMisdirected(event, view.account)) return { ...nothing, unmatched: 'other organization' }
  if (event.currency !== view.account.currency) return { ...nothing, unmatched: 'other currency' }

  nameTransaction(draft)
  rememberAsk(draft, event, true, pack.remembers)
  if (ask.amountMinor > 0 && isKept(view)) {
    const { uncoveredMinor } = openAsk(event, withoutAsk(view), pack, draft.atMs).sums
    draft.make({ type: 'holdPlaced', hold: holdOf(ask, uncoveredMinor, '') })
    if (ask.swipes) draft.make({ type: 'swipeUsed' })
  } else if (ask.amountMinor > 0) {
    bookApproval(draft, ask, ask.amountMinor - (approvedAmountMinor ?? ask.amountMinor), '')
  }
  bookConsequences(draft, event, pack)
  if (!isSafe(draft.view)) return { ...nothing, unmatched: 'too large' }
  const anomalies = [...askAnomalies(ask), ...namingAnomalies(view)]
  return { ...decided, anomalies, unmatched: '', changes: draft.changes, after: draft.view }
}

/** The sums of an absorbed ask are kept already, unless a default decline took them out. */
function isKept({ event }: View): boolean {
  return event?.absorbed === true && event.answer.decidedBy === 'engine'
}

function withoutAsk(view: View): View {
  return { ...view, transaction: undoHold(view.transaction, view.eventKey, '') }
}

/** Books what the default approved above the part that we had approved. */
export function raiseAsk(draft: Draft, event: CardEvent, pack: Pack, restMinor: number): void {
  const ask = openAsk(event, draft.view, pack, draft.atMs)
  const overtakenMinor = Math.min(restMinor, laterMinor(ask))
  // An earlier total may have stood above what was approved.
  const share = ask.transaction.asks.find(({ eventKey }) => eventKey === ask.eventKey)
  const totalMinor = share?.totalMinor ?? null
  const hold = {
    ...holdOf(ask, Math.min(restMinor - overtakenMinor, ask.sums.addedMinor), ''),
    ...(overtakenMinor > 0 && { overtakenMinor }),
    ...(totalMinor !== null && { totalMinor: totalMinor + restMinor }),
  }
  draft.make({ type: 'holdPlaced', hold })
  bookConsequences(draft, event, pack)
}

/** What later totals of its kind added above it: as much of its rest they stand on already. */
function laterMinor({ transaction: { asks }, eventKey, pack }: Ask): number {
  const at = asks.findIndex((ask) => ask.eventKey === eventKey)
  const share = asks[at]
  if (share === undefined || pack.switches.incrementalAmount === 'delta') return 0
  const later = asks.slice(at + 1).filter((ask) => ask.preauthorized === share.preauthorized)
  return later.reduce((sum, { addedMinor }) => sum + addedMinor, 0)
}

/** Takes back an ask that we approved and the default declined. */
export function undoAsk(draft: Draft, pack: Pack): void {
  const { transaction, eventKey } = draft.view
  const share = transaction.asks.find((ask) => ask.eventKey === eventKey)
  if (share === undefined) return
  const heirKey = heirOf(transaction, eventKey, pack)
  const expiresAtMs = expiryWithout(transaction, eventKey)
  draft.make({ type: 'holdUndone', eventKey, heirKey, expiresAtMs })
  if (pack.switches.partialReversalAmount === 'remaining') sayCeilingAgain(draft, transaction)
  const { asks } = draft.view.transaction
  const isUnblockUsed = asks.some(({ unblockedMid }) => unblockedMid !== '')
  if (share.unblockedMid !== '' && !isUnblockUsed) {
    draft.make({ type: 'unblockReturned', mid: share.unblockedMid })
  }
  if (isSwipeUnused(draft.view)) draft.make({ type: 'swipeReturned' })
  bookConsequences(draft, null, pack)
  const { card } = draft.view
  const endedByItself = card.terminatedBy === 'swipes' || card.terminatedBy === 'exhausted'
  if (endedByItself && liteEnd(draft.view) === '') draft.make({ type: 'cardRevived' })
}

/** What `remaining` left of an ask, before or after it, is said of the next one where no other is left. */
function sayCeilingAgain(draft: Draft, before: Transaction): void {
  const { reversedMinor } = before
  if (isAsked(draft.view.transaction) || reversedMinor === 0 || overReversed(before)) return
  draft.make({ type: 'reduced', amountMinor: -reversedMinor })
  draft.make({ type: 'capped', ceilingMinor: netBeforeVoid(before) })
}

/** The later total that takes over the addition of an earlier one, where earlier releases did not keep what it says. */
function heirOf(t: Transaction, eventKey: string, { switches }: Pack): string {
  if (switches.incrementalAmount === 'delta') return ''
  const at = t.asks.findIndex((ask) => ask.eventKey === eventKey)
  const { preauthorized } = t.asks[at]!
  const heir = t.asks.slice(at + 1).find((ask) => ask.preauthorized === preauthorized)
  return heir?.totalMinor === null ? heir.eventKey : ''
}

function isSwipeUnused({ card, transaction }: View): boolean {
  const used = transaction.asks.some((ask) => !isAbsorbed(ask, transaction))
  return card.type === 'lite' && transaction.swiped && !used && transaction.settledMinor === 0
}
