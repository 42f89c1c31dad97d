import { type HoldAdjustment, raisedBy } from '../record/hold-adjustment.ts'
import {
  type AskShare,
  type CashKind,
  cashKindOf,
  copyTransaction,
  isAbsorbed,
  maxAskShares,
  type Transaction,
} from '../record/transaction.ts'
import type { PlacedHold } from './change.ts'

export function placeHold(t: Transaction, hold: PlacedHold): Transaction {
  // Of an ask that was approved in part, and then whole, the rest is placed too.
  const part = t.asks.find(({ eventKey }) => eventKey === hold.eventKey)
  const share: AskShare = {
    eventKey: hold.eventKey,
    preauthorized: hold.preauthorized,
    addedMinor: hold.addedMinor + (hold.overtakenMinor ?? 0) + (part?.addedMinor ?? 0),
    unblockedMid: part?.unblockedMid ?? hold.unblockedMid,
    reopened: t.expired || (part?.reopened ?? false),
    abroad: hold.abroad ?? part?.abroad ?? false,
    adjustment: raisedBy(part?.adjustment ?? null, hold.adjustment ?? null),
    expiresAtMs: null,
    totalMinor: hold.totalMinor ?? part?.totalMinor ?? null,
    cash: part === undefined ? (hold.otherKind ? hold.cash : null) : part.cash,
  }
  const next = copyTransaction(t)
  if (hold.preauthorized) next.preauthorizedMinor += hold.addedMinor
  else next.authorizedMinor += hold.addedMinor
  next.reversedMinor += hold.reversedMinor
  next.ceilingMinor = null
  const asks = part ? raisedTo(share, t.asks, hold) : keptShares([...t.asks, share])
  next.expiresAtMs = Math.max(t.expiresAtMs, hold.expiresAtMs)
  next.asks = hold.lasts ? lasting(asks, share, t, hold.expiresAtMs) : asks
  if (t.asks.length === 0) {
    next.cash = hold.cash !== ''
    next.cashPosted = hold.cash === 'posted'
  }
  next.foreignCash ||= hold.cash !== '' && hold.foreign
  next.expired = false
  next.adjustment = raisedBy(t.adjustment, share.adjustment)
  return next
}

/** The shares once one of them is more: later totals of its kind stand on it, and give up what it overtook. */
function raisedTo(
  share: AskShare,
  asks: readonly AskShare[],
  { overtakenMinor = 0 }: PlacedHold,
): readonly AskShare[] {
  const at = asks.findIndex(({ eventKey }) => eventKey === share.eventKey)
  let leftMinor = overtakenMinor
  return asks.map((ask, i) => {
    if (i === at) return share
    if (i < at || leftMinor === 0 || ask.preauthorized !== share.preauthorized) return ask
    const givenMinor = Math.min(leftMinor, ask.addedMinor)
    leftMinor -= givenMinor
    return { ...ask, addedMinor: ask.addedMinor - givenMinor }
  })
}

/** The shares with their expiries, once one of them lasts until `untilMs`. */
function lasting(
  asks: readonly AskShare[],
  share: AskShare,
  t: Transaction,
  untilMs: number,
): readonly AskShare[] {
  const part = t.asks.find(({ eventKey }) => eventKey === share.eventKey)
  const ownMs = Math.max(untilMs, part === undefined ? 0 : (part.expiresAtMs ?? t.expiresAtMs))
  const latestMs = Math.max(t.expiresAtMs, ownMs)
  return asks.map((ask) => {
    const expiresAtMs = ask.eventKey === share.eventKey ? ownMs : (ask.expiresAtMs ?? t.expiresAtMs)
    return withExpiry(ask, expiresAtMs, latestMs)
  })
}

function withExpiry(ask: AskShare, expiresAtMs: number, latestMs: number): AskShare {
  const own = expiresAtMs === latestMs ? null : expiresAtMs
  return own === ask.expiresAtMs ? ask : { ...ask, expiresAtMs: own }
}

/** When what the other asks hold expires. */
export function expiryWithout({ asks, expiresAtMs }: Transaction, eventKey: string): number {
  const others = asks.filter((ask) => ask.eventKey !== eventKey)
  return Math.max(0, ...others.map((ask) => ask.expiresAtMs ?? expiresAtMs))
}

/** Drops the oldest share beyond the bound; the next one takes over what it says of the whole. */
function keptShares(asks: readonly AskShare[]): readonly AskShare[] {
  if (asks.length <= maxAskShares) return asks
  const [gone, oldest, ...rest] = asks as readonly [AskShare, AskShare, ...AskShare[]]
  const abroad = gone.abroad || oldest.abroad
  const adjustment = raisedBy(gone.adjustment, oldest.adjustment)
  const isLatest = gone.expiresAtMs === null || oldest.expiresAtMs === null
  const expiresAtMs = isLatest ? null : Math.max(gone.expiresAtMs!, oldest.expiresAtMs!)
  return [{ ...oldest, abroad, adjustment, expiresAtMs }, ...rest]
}

/** An absorbed ask was declined, so it neither opens its transaction again nor makes it last longer. */
export function absorbAsk(t: Transaction, hold: PlacedHold): Transaction {
  const { expired } = t
  return { ...placeHold(t, { ...hold, expiresAtMs: 0 }), expired }
}

/** Takes one ask's addition out, as far as later totals do not say it; of earlier releases the heir takes it over. */
export function undoHold(
  t: Transaction,
  eventKey: string,
  heirKey: string,
  expiresAtMs?: number,
): Transaction {
  const share = t.asks.find((ask) => ask.eventKey === eventKey)
  if (share === undefined) return t
  // An absorbed ask keeps nothing open.
  const next = t.asks.slice(t.asks.indexOf(share) + 1).find((ask) => !isAbsorbed(ask, t))
  const untilMs = expiresAtMs ?? t.expiresAtMs
  const left = sharesWithout(t, share, heirKey)
  const kind = kindWithout(t, share)
  const asks = ofKind(left.asks, kind, cashKindOf(t))
    // What it opened again stays open for the ask after it, until that one is undone too.
    .map((ask) =>
      share.reopened && ask.eventKey === next?.eventKey ? { ...ask, reopened: true } : ask,
    )
    .map((ask) => withExpiry(ask, ask.expiresAtMs ?? t.expiresAtMs, untilMs))
  return {
    ...t,
    expiresAtMs: untilMs,
    preauthorizedMinor: share.preauthorized ? left.sumMinor : t.preauthorizedMinor,
    authorizedMinor: share.preauthorized ? t.authorizedMinor : left.sumMinor,
    asks,
    cash: kind !== '',
    cashPosted: kind === 'posted',
    foreignCash: share.abroad
      ? asks.some(({ abroad }) => abroad)
      : asks.length > 0 && t.foreignCash,
    expired: t.expired || (next === undefined && share.reopened),
    adjustment: share.adjustment === null ? t.adjustment : adjustmentOf(asks),
  }
}

/** What the transaction is without this ask: the first one that is left says it. */
function kindWithout(t: Transaction, share: AskShare): CashKind {
  const first = t.asks.find((ask) => ask !== share)
  if (first === undefined) return ''
  const said = t.asks[0] === share ? first.cash : null
  return said ?? cashKindOf(t)
}

function ofKind(asks: readonly AskShare[], kind: CashKind, before: CashKind): readonly AskShare[] {
  if (kind === before) return asks
  return asks.map((ask) => {
    const own = ask.cash ?? before
    return { ...ask, cash: own === kind ? null : own }
  })
}

/** The other shares, and the sum of its kind: a later total adds what it says above the asks before it that are left. */
function sharesWithout(
  t: Transaction,
  share: AskShare,
  heirKey: string,
): { readonly asks: readonly AskShare[]; readonly sumMinor: number } {
  const at = t.asks.indexOf(share)
  const isLater = (ask: AskShare, i: number) => i >= at && ask.preauthorized === share.preauthorized
  const laterMinor = t.asks.filter(isLater).reduce((sum, ask) => sum + ask.addedMinor, 0)
  let sumMinor = (share.preauthorized ? t.preauthorizedMinor : t.authorizedMinor) - laterMinor
  const asks = t.asks
    .filter((ask) => ask !== share)
    .map((ask, i) => {
      if (!isLater(ask, i)) return ask
      let { addedMinor } = ask
      if (ask.eventKey === heirKey) addedMinor += share.addedMinor
      else if (ask.totalMinor !== null) addedMinor = Math.max(0, ask.totalMinor - sumMinor)
      sumMinor += addedMinor
      return { ...ask, addedMinor }
    })
  return { asks, sumMinor }
}

function adjustmentOf(asks: readonly AskShare[]): HoldAdjustment | null {
  return asks.reduce<HoldAdjustment | null>((all, ask) => raisedBy(all, ask.adjustment), null)
}
