import type { Draft } from '../change/draft.ts'
import { withMoves } from '../change/spending.ts'
import type { View } from '../change/view.ts'
import { availableMinor } from '../record/account.ts'
import type { Card } from '../record/card.ts'
import type { CardEvent } from '../record/event.ts'
import { percentOf } from '../record/money.ts'
import { foreignBase, openHold, spend, type Transaction, withheld } from '../record/transaction.ts'
import type { CountedNow } from '../record/window-state.ts'
import type { CrossBorder, Pack } from './pack.ts'
import type { WindowDefinition } from './window.ts'
import {
  addCrowdedMerchants,
  addCrowding,
  addPlaces,
  closePlace,
  type OpenPlace,
} from './window-place.ts'

/** Books what follows from the new sums after any event, in this order; nothing here may refuse. */
export function bookConsequences(draft: Draft, event: CardEvent | null, pack: Pack): void {
  countSpend(draft, event, pack)
  chargeCrossBorder(draft, pack.switches.crossBorder)
  endLiteCard(draft)
  setAttention(draft, pack)
}

/** A rise is counted in the bucket of the arrival, a fall is taken from where it stands. */
function countSpend(draft: Draft, event: CardEvent | null, pack: Pack): void {
  const rise = spend(draft.view.transaction) - spend(draft.before.transaction)
  if (rise < 0) draft.make({ type: 'spendGivenBack', amountMinor: -rise })
  if (rise <= 0 || event === null) return
  const { cash } = draft.view.transaction
  const places = makePlaces(draft, event, pack, ({ over }) => {
    return over === 'approved' || (over === 'cash' && cash)
  })
  const at = withMoves(draft.view, places)
  draft.make({ type: 'spendCounted', amountMinor: rise, at })
  bookCrowding(draft, at)
}

/** What crowds the windows that have counted is only roughly counted from now on. */
export function bookCrowding(draft: Draft, at: readonly CountedNow[]): void {
  const crowds: OpenPlace[] = []
  for (const place of at) {
    const { scope, mid } = place
    // The place of the whole window tells how far back it counts.
    if (scope !== 'merchant' && mid === null) addCrowding(crowds, place, draft.view[scope].windows)
  }
  if (crowds.length > 0) draft.make({ type: 'windowsCrowded', by: crowds.map(closePlace) })
}

/** The places where matching windows count an event; merchants that crowd those of the card go first. */
export function makePlaces(
  draft: Draft,
  event: CardEvent,
  pack: Pack,
  counts: (window: WindowDefinition) => boolean,
): CountedNow[] {
  const { before } = draft
  const facts = {
    event,
    account: before.account,
    card: before.card,
    transaction: before.transaction,
    atMs: draft.atMs,
  }
  const at: OpenPlace[] = []
  for (const window of pack.windows) {
    if (counts(window) && window.matches(facts)) addPlaces(at, window, facts)
  }
  const crowds: OpenPlace[] = []
  const merchant = at.find(({ scope }) => scope === 'merchant')
  if (merchant !== undefined) addCrowdedMerchants(crowds, merchant, draft.view.card.merchantCounts)
  if (crowds.length > 0) draft.make({ type: 'windowsDropped', before: crowds.map(closePlace) })
  return at.map(closePlace)
}

function chargeCrossBorder(draft: Draft, crossBorder: CrossBorder | null): void {
  if (crossBorder === null) return
  const { account, transaction } = draft.view
  const dueMinor = dueOn(foreignBase(transaction), account.currency, crossBorder)
  const wasMinor = dueOn(foreignBase(draft.before.transaction), account.currency, crossBorder)
  const rise = dueMinor - wasMinor
  if (rise > 0) {
    const takenMinor = Math.min(rise, Math.max(0, availableMinor(account)))
    draft.make({ type: 'chargeDue', takenMinor, pendingMinor: rise - takenMinor })
  } else if (rise < 0) {
    const pendingMinor = Math.min(-rise, transaction.chargePendingMinor)
    const takenMinor = Math.min(-rise - pendingMinor, transaction.chargeTakenMinor)
    draft.make({ type: 'chargeReturned', takenMinor, pendingMinor })
  }
}

/** The charge is due on the sum, so that parts cost what the whole costs. */
function dueOn(baseMinor: number, currency: string, crossBorder: CrossBorder): number {
  if (baseMinor <= 0) return 0
  const fixedMinor = crossBorder.fixedMinor[currency] ?? 0
  return fixedMinor + percentOf(baseMinor, crossBorder.percentMillionths)
}

function endLiteCard(draft: Draft): void {
  const { card } = draft.view
  if (card.type !== 'lite' || card.status === 'Terminated' || !touchedMoney(draft)) return
  const by = liteEnd(draft.view)
  if (by !== '') draft.make({ type: 'cardTerminated', by })
}

function touchedMoney({ before, view }: Draft): boolean {
  return (
    before.account.postedMinor !== view.account.postedMinor ||
    before.account.heldMinor !== view.account.heldMinor ||
    before.card.swipesLeft !== view.card.swipesLeft
  )
}

/** Open holds may still come back, so a card with some is not exhausted. */
export function liteEnd({ account, card }: View): Card['terminatedBy'] {
  if (card.swipesLeft === 0) return 'swipes'
  return account.postedMinor <= 0 && account.heldMinor === 0 ? 'exhausted' : ''
}

/** The index is written when a transaction is new or must be looked at earlier than planned. */
function setAttention(draft: Draft, pack: Pack): void {
  const { transaction, linked } = draft.view
  if (transaction !== draft.before.transaction) {
    const dueAtMs = attentionAtMs(transaction, draft.atMs, pack)
    if (transaction.dueAtMs === 0 || dueAtMs < transaction.dueAtMs) {
      draft.make({ type: 'attentionSet', of: 'transaction', dueAtMs })
    }
  }
  if (linked !== null && linked.dueAtMs === 0 && linked !== draft.before.linked) {
    draft.make({ type: 'attentionSet', of: 'linked', dueAtMs: draft.atMs + pack.retentionMs })
  }
}

/** When the sweeper looks at a transaction: when its hold expires, or else when it may be forgotten. */
export function attentionAtMs(t: Transaction, lastEventAtMs: number, pack: Pack): number {
  return expires(t) ? t.expiresAtMs : lastEventAtMs + pack.retentionMs
}

export function expires(t: Transaction): boolean {
  return openHold(t) > 0 && !t.cashPosted
}

/**
 * A transaction that money still hangs on is kept beyond its time; so is a refund of which something is withheld at
 * its original: it may still be reversed, and a person grants it by its own name.
 */
export function mayBeForgotten(
  { transaction: t, linked }: View,
  nowMs: number,
  pack: Pack,
): boolean {
  const withheldMinor = withheld(t) + (linked === null ? 0 : withheld(linked))
  const idle = openHold(t) === 0 && withheldMinor === 0 && t.chargePendingMinor === 0
  return idle && nowMs >= t.lastEventAtMs + pack.retentionMs
}
