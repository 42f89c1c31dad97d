import type { PlacedHold } from '../change/change.ts'
import type { View } from '../change/view.ts'
import type { Account } from '../record/account.ts'
import { dayMs } from '../record/calendar.ts'
import type { Card } from '../record/card.ts'
import type { CardEvent } from '../record/event.ts'
import { type HoldAdjustment, raisedBy } from '../record/hold-adjustment.ts'
import { countsAt } from '../record/merchant-counts.ts'
import {
  type CashKind,
  cashKindOf,
  heldFor,
  isAsked,
  netAuthorized,
  openAuthorized,
  openHold,
  type Transaction,
} from '../record/transaction.ts'
import type { WindowStates } from '../record/window-state.ts'
import {
  type AskFacts,
  type HoldAdjustmentSwitch,
  isForeign,
  type Pack,
  type Switches,
} from './pack.ts'
import type { SharedCounts } from './window.ts'

/** An ask with all that its checks look at, computed once. */
export interface Ask {
  readonly event: CardEvent
  readonly amountMinor: number
  readonly account: Account
  readonly card: Card
  readonly transaction: Transaction
  readonly pack: Pack
  readonly atMs: number
  readonly sums: AskSums
  /** Approved, it uses the one swipe of its lite transaction. */
  readonly swipes: boolean
  readonly eventKey: string
  readonly adjustment: HoldAdjustment | null
  readonly shared: SharedCounts | undefined
  readonly atMerchant: WindowStates
}

/** The transaction's sums as they would be after this ask. */
interface AskSums {
  /** What the ask adds to the sum of its kind. */
  readonly addedMinor: number
  /** With cumulative amounts the sum that it says; null with others. */
  readonly totalMinor: number | null
  /** The part that a ceiling, said by a reversal before the ask, takes back at once. */
  readonly reversedMinor: number
  readonly netMinor: number
  /** By how much the authorized total, the net, the open hold and the spend rise. */
  readonly totalRise: number
  readonly netRise: number
  readonly openRise: number
  readonly spendRise: number
  /** How much more a stand-in adds so that it is held after earlier reversals; 0 when covered. */
  readonly uncoveredMinor: number
}

export function openAsk(event: CardEvent, view: View, pack: Pack, atMs: number): Ask {
  const amountMinor = event.amountMinor ?? 0
  const { account, card, transaction } = view
  const adjustment = adjustmentOf({ event, account, card, transaction, atMs }, pack)
  const sums = sumsAfter(event, amountMinor, transaction, adjustment, pack)
  const swipes = usesSwipe(card, transaction)
  const { eventKey } = view
  return {
    event,
    eventKey,
    amountMinor,
    account,
    card,
    transaction,
    pack,
    atMs,
    sums,
    swipes,
    adjustment,
    shared: pack.shared,
    atMerchant: countsAt(card.merchantCounts, event.merchant.mid),
  }
}

/** Cash is dispensed as it was asked for, so only purchases are adjusted. */
function adjustmentOf(facts: AskFacts, pack: Pack): HoldAdjustment | null {
  const { requestType } = facts.event
  const found = requestType === 'CashWithdrawal' ? undefined : firstAdjustment(facts, pack)
  if (found === undefined) return null
  const { currency } = facts.account
  const { plusMillionths } = found
  const fixedMinor = found.fixedMinor[currency] ?? 0
  const plusMinor = found.plusMinor[currency] ?? 0
  // An amount in the pack's currency says nothing to an account in another.
  if (fixedMinor + plusMillionths + plusMinor === 0) return null
  return { fixedMinor, plusMillionths, plusMinor }
}

function firstAdjustment(
  facts: AskFacts,
  { switches, holdTests }: Pack,
): HoldAdjustmentSwitch | undefined {
  const { mcc } = facts.event.merchant
  const byMcc = switches.holdAdjustments.get(mcc)
  const conditional = switches.conditionalHolds?.find(
    ({ order, mccs }) =>
      order < (byMcc?.order ?? Infinity) &&
      mccs?.includes(mcc) !== false &&
      holdTests?.get(order)?.(facts) === true,
  )
  return conditional ?? byMcc
}

function sumsAfter(
  { requestType }: CardEvent,
  amountMinor: number,
  t: Transaction,
  adjustment: HoldAdjustment | null,
  { switches }: Pack,
): AskSums {
  const preauthorized = requestType === 'PreAuthorization'
  const total = Math.max(t.preauthorizedMinor, t.authorizedMinor)
  const own = preauthorized ? t.preauthorizedMinor : t.authorizedMinor
  const other = preauthorized ? t.authorizedMinor : t.preauthorizedMinor
  const delta = switches.incrementalAmount === 'delta'
  const totalMinor = delta ? null : amountMinor + Math.min(t.reversedMinor, total)
  const ownAfter = totalMinor === null ? own + amountMinor : Math.max(own, totalMinor)
  const totalAfter = Math.max(ownAfter, other)
  const uncappedMinor = t.voided ? 0 : Math.max(0, totalAfter - t.reversedMinor)
  const reversedMinor = t.ceilingMinor === null ? 0 : Math.max(0, uncappedMinor - t.ceilingMinor)
  const netMinor = uncappedMinor - reversedMinor
  const spendAfter = t.closed ? 0 : Math.max(0, netMinor - t.settledMinor)
  const heldMinor = heldFor(netMinor, t.cash, raisedBy(t.adjustment, adjustment))
  const openAfter = t.closed ? 0 : Math.max(0, heldMinor - t.settledMinor)
  const addedMinor = ownAfter - own
  const totalRise = totalAfter - total
  // A new total stands above what was reversed, so it is always held whole.
  const held = !delta || totalRise === addedMinor || ownAfter <= netMinor
  const covered = held || t.voided
  return {
    addedMinor,
    totalMinor,
    reversedMinor,
    netMinor,
    totalRise,
    netRise: netMinor - netAuthorized(t),
    openRise: openAfter - openHold(t),
    spendRise: spendAfter - openAuthorized(t),
    uncoveredMinor: covered ? 0 : other - own,
  }
}

/** Whether the hold for this net amount is larger than it. */
export function isAdjusted({ transaction: t, adjustment }: Ask, netMinor: number): boolean {
  return heldFor(netMinor, t.cash, raisedBy(t.adjustment, adjustment)) !== netMinor
}

/** The hold that an ask places when it adds `addedMinor`. */
export function holdOf(ask: Ask, addedMinor: number, unblockedMid: string): PlacedHold {
  const { event, pack, sums, atMs, adjustment, transaction } = ask
  const cash = cashOf(event, pack.switches)
  const foreign = isForeign(event, ask.account)
  const hold: PlacedHold = {
    eventKey: ask.eventKey,
    preauthorized: event.requestType === 'PreAuthorization',
    addedMinor,
    reversedMinor: sums.reversedMinor,
    cash,
    foreign,
    expiresAtMs: atMs + holdDays(event, pack.switches) * dayMs,
    lasts: true,
    unblockedMid,
  }
  const isOther = isAsked(transaction) && cash !== cashKindOf(transaction)
  const own = isOther ? { ...hold, otherKind: true as const } : hold
  // Cash is never adjusted.
  if (cash !== '' && foreign) return { ...own, abroad: true }
  return adjustment === null ? own : { ...own, adjustment }
}

/** With what the ask says of the sum of its kind, less the part that was not approved. */
export function withTotal(hold: PlacedHold, { sums }: Ask, shortMinor: number): PlacedHold {
  const { totalMinor } = sums
  return totalMinor === null ? hold : { ...hold, totalMinor: totalMinor - shortMinor }
}

function cashOf(event: CardEvent, switches: Switches): CashKind {
  if (event.requestType !== 'CashWithdrawal') return ''
  return switches.cashWithdrawal === 'post' ? 'posted' : 'held'
}

function holdDays(event: CardEvent, { holdDays }: Switches): number {
  const ofMcc = holdDays.byMcc.get(event.merchant.mcc)
  if (ofMcc !== undefined) return ofMcc
  return event.requestType === 'PreAuthorization'
    ? holdDays.preauthorization
    : holdDays.authorization
}

export function usesSwipe(card: Card, transaction: Transaction): boolean {
  return card.type === 'lite' && !transaction.swiped && (card.swipesLeft ?? 0) > 0
}
