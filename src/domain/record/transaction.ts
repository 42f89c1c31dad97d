import type { Fresh } from './fresh.ts'
import { adjusted, type HoldAdjustment } from './hold-adjustment.ts'
import type { ResponseCode } from './response-code.ts'
import type { SpendEntry } from './window-state.ts'

/**
 * One lifecycle: sums that events only add to, and flags that they only raise. Holds, balances and
 * windows are functions of these, so the order of arrival does not matter.
 */
export interface Transaction {
  /** The card it was first seen on; a re-issued card finds it here. */
  readonly cardId: string
  readonly transactionId: string
  readonly preauthorizedMinor: number
  readonly authorizedMinor: number
  /** Taken back by reversals; may exceed what was authorized when it came first. */
  readonly reversedMinor: number
  /** The total said by a `remaining` reversal before any ask; null for none. */
  readonly ceilingMinor: number | null
  readonly settledMinor: number
  readonly refundedMinor: number
  /** Credit of the refunds that name this transaction as their original. */
  readonly linkedCreditMinor: number
  /** The uncovered part that may be spent all the same. */
  readonly grantedMinor: number
  /** Asks that were approved or absorbed, oldest first: what each added, so that it can be undone. */
  readonly asks: readonly AskShare[]
  readonly cash: boolean
  /** Cash whose open part is posted instead of held; fixed by the pack of its first ask. */
  readonly cashPosted: boolean
  readonly voided: boolean
  readonly closed: boolean
  readonly expired: boolean
  /** Second names, by which its later events may call it. */
  readonly names: readonly string[]
  /** The original of a refund; '' for none. */
  readonly linkedTo: string
  /** The card that the original was first seen on; '' for the card of the refund. */
  readonly linkedCardId: string
  /** Why its last ask was declined: the reason to show if it is settled all the same. */
  readonly lastDecline: ResponseCode | ''
  readonly swiped: boolean
  /** A one-time unblock was used here: its later asks pass the blocked list too. */
  readonly unblocked: boolean
  /** The part of `settledMinor` that was captured abroad. */
  readonly foreignSettledMinor: number
  readonly foreignCash: boolean
  readonly chargeTakenMinor: number
  readonly chargePendingMinor: number
  readonly expiresAtMs: number
  readonly lastEventAtMs: number
  /** When the sweeper looks at it next; 0 before its first commit. */
  readonly dueAtMs: number
  readonly spend: readonly SpendEntry[]
  /** By how much its purchases hold more than they asked for; null for no more. */
  readonly adjustment: HoldAdjustment | null
}

export interface AskShare {
  readonly eventKey: string
  readonly preauthorized: boolean
  readonly addedMinor: number
  /** The MID whose one-time unblock the ask used, or an earlier one that it stands beside; '' for none. */
  readonly unblockedMid: string
  /** The ask opened the transaction again after its expiry. */
  readonly reopened: boolean
  /** The ask was for cash abroad; earlier releases did not say it. */
  readonly abroad: boolean
  readonly adjustment: HoldAdjustment | null
  /** Until when it would be held for this ask alone; null for as long as the transaction, which earlier releases say of all. */
  readonly expiresAtMs: number | null
  /** With cumulative amounts the sum of its kind that this ask alone says; null with others, and in what earlier releases wrote. */
  readonly totalMinor: number | null
  /** What it asked for where its transaction is of another kind; null for the same, and in what earlier releases wrote. */
  readonly cash: CashKind | null
}

/** No cash, or cash whose open part is held or posted. */
export type CashKind = '' | 'held' | 'posted'

/** Beyond this many asks the oldest can no longer be undone one by one: an over-hold, never less. */
export const maxAskShares = 64

/** An event that joins a transaction with so many is booked there, and makes no name: an anomaly. */
export const maxSecondNames = 64

/** A second name of a transaction. */
export interface Alias {
  readonly aliasOf: string
  readonly cardId: string
}

export function newTransaction(cardId: string, transactionId: string): Transaction {
  return {
    cardId,
    transactionId,
    preauthorizedMinor: 0,
    authorizedMinor: 0,
    reversedMinor: 0,
    ceilingMinor: null,
    settledMinor: 0,
    refundedMinor: 0,
    linkedCreditMinor: 0,
    grantedMinor: 0,
    asks: [],
    cash: false,
    cashPosted: false,
    voided: false,
    closed: false,
    expired: false,
    names: [],
    linkedTo: '',
    linkedCardId: '',
    lastDecline: '',
    swiped: false,
    unblocked: false,
    foreignSettledMinor: 0,
    foreignCash: false,
    chargeTakenMinor: 0,
    chargePendingMinor: 0,
    expiresAtMs: 0,
    lastEventAtMs: 0,
    dueAtMs: 0,
    spend: [],
    adjustment: null,
  }
}

export function isAsked(t: Transaction): boolean {
  return t.asks.length > 0
}

export function cashKindOf(t: Transaction): CashKind {
  if (!t.cash) return ''
  return t.cashPosted ? 'posted' : 'held'
}

/** An absorbed ask was declined: nothing is held for it, so it lasts for no time; earlier releases did not say it. */
export function isAbsorbed(ask: AskShare, { expiresAtMs }: Transaction): boolean {
  return (ask.expiresAtMs ?? expiresAtMs) === 0
}

function authorizedTotal(t: Transaction): number {
  return Math.max(t.preauthorizedMinor, t.authorizedMinor)
}

/** The authorized total less the reversed, not looking at `voided`. */
export function netBeforeVoid(t: Transaction): number {
  return Math.max(0, authorizedTotal(t) - t.reversedMinor)
}

export function netAuthorized(t: Transaction): number {
  return t.voided ? 0 : netBeforeVoid(t)
}

/** The hold for a net amount; cash is what was dispensed and never more. */
export function heldFor(
  netMinor: number,
  cash: boolean,
  adjustment: HoldAdjustment | null,
): number {
  return cash ? netMinor : adjusted(netMinor, adjustment)
}

/** The hold not looking at `voided` and captures: a capture of so much is no surprise. */
export function heldBeforeVoid(t: Transaction): number {
  return heldFor(netBeforeVoid(t), t.cash, t.adjustment)
}

export function openHold(t: Transaction): number {
  if (t.closed || t.expired) return 0
  return Math.max(0, heldFor(netAuthorized(t), t.cash, t.adjustment) - t.settledMinor)
}

/** The open part of the net amount: the open hold without its adjustment. */
export function openAuthorized(t: Transaction): number {
  return t.closed || t.expired ? 0 : Math.max(0, netAuthorized(t) - t.settledMinor)
}

/** The spend that windows count. */
export function spend(t: Transaction): number {
  return t.settledMinor + openAuthorized(t)
}

/** The money that refunds under this id give now. */
export function credit(t: Transaction): number {
  if (t.settledMinor > 0) return t.refundedMinor
  if (t.voided) return 0
  const takenBack = Math.max(0, t.reversedMinor - authorizedTotal(t))
  return Math.max(0, Math.min(t.refundedMinor - takenBack, t.ceilingMinor ?? Infinity))
}

/** Refunded money that no settlement covers; a linked refund counts at its original. */
export function uncovered(t: Transaction): number {
  const own = t.linkedTo === '' ? credit(t) : 0
  // In this order every step is exact.
  return Math.max(0, own - (t.settledMinor - t.linkedCreditMinor))
}

export function withheld(t: Transaction): number {
  return Math.max(0, uncovered(t) - t.grantedMinor)
}

/** The part of this transaction in the account's `postedMinor`. */
export function postedPart(t: Transaction): number {
  return credit(t) - t.settledMinor - (t.cashPosted ? openHold(t) : 0)
}

export function heldPart(t: Transaction): number {
  return t.cashPosted ? 0 : openHold(t)
}

/** The amount that cross-border charges are due on. */
export function foreignBase(t: Transaction): number {
  return t.foreignSettledMinor + (t.foreignCash && t.cashPosted ? openHold(t) : 0)
}

export function overReversed(t: Transaction): boolean {
  return t.reversedMinor > authorizedTotal(t)
}

export function copyTransaction(t: Transaction): Fresh<Transaction> {
  return {
    cardId: t.cardId,
    transactionId: t.transactionId,
    preauthorizedMinor: t.preauthorizedMinor,
    authorizedMinor: t.authorizedMinor,
    reversedMinor: t.reversedMinor,
    ceilingMinor: t.ceilingMinor,
    settledMinor: t.settledMinor,
    refundedMinor: t.refundedMinor,
    linkedCreditMinor: t.linkedCreditMinor,
    grantedMinor: t.grantedMinor,
    asks: t.asks,
    cash: t.cash,
    cashPosted: t.cashPosted,
    voided: t.voided,
    closed: t.closed,
    expired: t.expired,
    names: t.names,
    linkedTo: t.linkedTo,
    linkedCardId: t.linkedCardId,
    lastDecline: t.lastDecline,
    swiped: t.swiped,
    unblocked: t.unblocked,
    foreignSettledMinor: t.foreignSettledMinor,
    foreignCash: t.foreignCash,
    chargeTakenMinor: t.chargeTakenMinor,
    chargePendingMinor: t.chargePendingMinor,
    expiresAtMs: t.expiresAtMs,
    lastEventAtMs: t.lastEventAtMs,
    dueAtMs: t.dueAtMs,
    spend: t.spend,
    adjustment: t.adjustment,
  }
}
