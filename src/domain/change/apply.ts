import { copyAccount } from '../record/account.ts'
import { type Card, copyCard, maxRecentAsks, repeatWithinMs } from '../record/card.ts'
import { type EventRecord, forGood, maxClaims } from '../record/event-record.ts'
import { withCountry, withMerchant, withNoted } from '../record/familiarity.ts'
import {
  copyTransaction,
  credit,
  heldPart,
  postedPart,
  type Transaction,
  withheld,
} from '../record/transaction.ts'
import type { Change, EntryKind } from './change.ts'
import { countIn, dropOld, seed, sketchCrowded } from './counting.ts'
import { absorbAsk, placeHold, undoHold } from './hold.ts'
import { countSpend, giveSpendBack } from './spending.ts'
import { copyView, type View } from './view.ts'

type ChangeOf<T extends Change['type']> = Extract<Change, { readonly type: T }>

type Appliers = {
  readonly [T in Change['type']]: (view: View, change: ChangeOf<T>, atMs: number) => View
}

const appliers: Appliers = {
  repaired: (view) => view,
  seeded: (view, change) => seed(view, change),
  accountOpened: (view, { account }) => ({ ...view, account }),
  adopted: (view, { organizationId, country }) => ({
    ...view,
    account: { ...view.account, organizationId, country: country || view.account.country },
  }),
  cardIssued: (view, { card }) => ({ ...view, card }),
  cardChanged: (view, { set }) => withCard(view, set),
  transferred: (view, { amountMinor }) => ({
    ...view,
    account: {
      ...view.account,
      transfersMinor: view.account.transfersMinor + amountMinor,
      postedMinor: view.account.postedMinor + amountMinor,
    },
  }),
  moved: (view, { amountMinor }) => ({
    ...view,
    account: {
      ...view.account,
      transfersMinor: view.account.transfersMinor + amountMinor,
      movedMinor: view.account.movedMinor + amountMinor,
      postedMinor: view.account.postedMinor + amountMinor,
    },
  }),
  named: (view, { name }) =>
    withTransaction(view, { ...view.transaction, names: [...view.transaction.names, name] }),
  linked: (view, { to }) => linkTo(view, to),
  holdPlaced: (view, { hold }) => withTransaction(view, placeHold(view.transaction, hold)),
  askAbsorbed: (view, { hold }) => withTransaction(view, absorbAsk(view.transaction, hold)),
  holdUndone: (view, { eventKey, heirKey, expiresAtMs }) =>
    withTransaction(view, undoHold(view.transaction, eventKey, heirKey, expiresAtMs)),
  declined(view, { code }) {
    const next = copyTransaction(view.transaction)
    next.lastDecline = code
    return withTransaction(view, next)
  },
  captured(view, { amountMinor, closes, foreign }) {
    const next = copyTransaction(view.transaction)
    next.settledMinor += amountMinor
    next.foreignSettledMinor += foreign ? amountMinor : 0
    next.closed ||= closes
    return withTransaction(view, next)
  },
  reduced: (view, { amountMinor }) =>
    withTransaction(view, {
      ...view.transaction,
      reversedMinor: view.transaction.reversedMinor + amountMinor,
    }),
  capped: (view, { ceilingMinor }) => withTransaction(view, { ...view.transaction, ceilingMinor }),
  voided: (view) => withTransaction(view, { ...view.transaction, voided: true }),
  refunded: (view, { amountMinor }) =>
    withTransaction(view, {
      ...view.transaction,
      refundedMinor: view.transaction.refundedMinor + amountMinor,
    }),
  granted: (view, { amountMinor, day }) => grant(view, amountMinor, day),
  expired: (view) => withTransaction(view, { ...view.transaction, expired: true }),
  chargeDue: (view, { takenMinor, pendingMinor }) => charge(view, takenMinor, pendingMinor),
  chargeReturned: (view, { takenMinor, pendingMinor }) => charge(view, -takenMinor, -pendingMinor),
  chargeTaken: (view, { amountMinor }) => charge(view, amountMinor, -amountMinor),
  swipeUsed: (view) =>
    withCard(withTransaction(view, { ...view.transaction, swiped: true }), {
      swipesLeft: Math.max(0, (view.card.swipesLeft ?? 0) - 1),
    }),
  swipeReturned: (view) =>
    withCard(withTransaction(view, { ...view.transaction, swiped: false }), {
      swipesLeft: (view.card.swipesLeft ?? 0) + 1,
    }),
  unblockUsed: (view, { mid }) =>
    withCard(withTransaction(view, { ...view.transaction, unblocked: true }), {
      unblockedMids: view.card.unblockedMids.filter((unblocked) => unblocked !== mid),
    }),
  unblockReturned: (view, { mid }) =>
    withCard(withTransaction(view, { ...view.transaction, unblocked: false }), {
      unblockedMids: [...new Set([...view.card.unblockedMids, mid])],
    }),
  cardTerminated: (view, { by }) =>
    withCard(view, {
      status: 'Terminated',
      terminatedBy: by,
      endedFrozen: view.card.status === 'Frozen',
    }),
  cardRevived: (view) =>
    withCard(view, {
      status: view.card.endedFrozen ? 'Frozen' : 'Active',
      terminatedBy: '',
      endedFrozen: false,
    }),
  spendCounted: (view, { amountMinor, at }) => countSpend(view, amountMinor, at),
  spendGivenBack: (view, { amountMinor }) => giveSpendBack(view, amountMinor),
  attemptCounted: (view, { amountMinor, at }) => countIn(view, at, amountMinor, () => 1),
  askRemembered(view, { mid, amountMinor }, atMs) {
    const recent = view.card.recentAsks.filter((ask) => atMs - ask.atMs <= repeatWithinMs)
    recent.push({ atMs, mid, amountMinor })
    const card = copyCard(view.card)
    card.lastAskAtMs = atMs
    card.recentAsks = recent.length > maxRecentAsks ? recent.slice(-maxRecentAsks) : recent
    return onCard(view, card)
  },
  askSeen: (view, _change, atMs) => withCard(view, { lastAskAtMs: atMs }),
  merchantSeen: (view, { hash }) =>
    withCard(view, { seenMerchants: withMerchant(view.card.seenMerchants, hash) }),
  countrySeen: (view, { country }) =>
    withCard(view, { seenCountries: withCountry(view.card.seenCountries, country) }),
  askNoted: (view, { noted }, atMs) => onCard(view, withNoted(view.card, noted, atMs)),
  windowsDropped: (view, { before }) => dropOld(view, before),
  windowsCrowded: (view, { by }) => sketchCrowded(view, by),
  attentionSet(view, { of, dueAtMs }) {
    if (of === 'linked') return { ...view, linked: view.linked && { ...view.linked, dueAtMs } }
    const next = copyView(view)
    const transaction = copyTransaction(view.transaction)
    transaction.dueAtMs = dueAtMs
    next.transaction = transaction
    return next
  },
  forgotten: (view) => ({ ...view, forgotten: true }),
  // A worklist is an index and no record: the engine takes the entry out of it.
  handled: (view) => view,
  recorded(view, { record }) {
    const next = copyView(view)
    next.event = record
    return next
  },
  claimed: (view, { slot }) =>
    withEvent(view, (record) => ({ ...record, claims: addClaim(record.claims, slot) })),
  unclaimed: (view, { slot }) =>
    withEvent(view, (record) => ({
      ...record,
      claims: record.claims.filter((claim) => claim !== slot),
    })),
  answerChanged: (view, { answer }) => withEvent(view, (record) => ({ ...record, answer })),
}

export function apply(view: View, change: Change, atMs: number): View {
  const applier = appliers[change.type] as (view: View, change: Change, atMs: number) => View
  return applier(view, change, atMs)
}

/**
 * Dates what an entry touched and numbers the entry. The sweeper's own look at a transaction is no
 * arrival, and only events of the relay date the transactions that they touched.
 */
export function stamp(before: View, after: View, atMs: number, kind: EntryKind): View {
  const account = copyAccount(after.account)
  // One that is dated back was not opened later than that: events are looked for since then.
  if (account.entryCount === 0 || atMs < account.openedAtMs) account.openedAtMs = atMs
  if (kind !== 'tended') account.lastArrivalMs = atMs
  account.entryCount++
  const stamped = copyView(after)
  stamped.account = account
  if (kind === 'tended' || kind === 'operated') return stamped
  const { transaction, linked } = after
  if (transaction !== before.transaction) stamped.transaction = dated(transaction, atMs)
  if (linked !== null && linked !== before.linked) stamped.linked = dated(linked, atMs)
  return stamped
}

function dated(transaction: Transaction, atMs: number): Transaction {
  const next = copyTransaction(transaction)
  next.lastEventAtMs = atMs
  return next
}

function withCard(view: View, set: Partial<Card>): View {
  return onCard(view, Object.assign(copyCard(view.card), set))
}

function onCard(view: View, card: Card): View {
  const next = copyView(view)
  next.card = card
  return next
}

function withEvent(view: View, change: (record: EventRecord) => EventRecord): View {
  if (view.event === null) throw new Error('a claim needs its event record')
  return { ...view, event: change(view.event) }
}

/** The only place where a transaction moves the account's money: by what its parts rose or fell. */
function withTransaction(view: View, next: Transaction): View {
  const before = view.transaction
  const creditRise = next.linkedTo === '' ? 0 : credit(next) - credit(before)
  const account = copyAccount(view.account)
  // Differences first: the sum of two safe integers need not be one.
  account.postedMinor += postedPart(next) - postedPart(before)
  account.heldMinor += heldPart(next) - heldPart(before)
  account.withheldMinor += withheld(next) - withheld(before)
  const moved = copyView(view)
  moved.transaction = next
  moved.account = account
  return creditRise === 0 ? moved : addLinkedCredit(moved, creditRise, 0)
}

function addLinkedCredit(view: View, creditMinor: number, grantedMinor: number): View {
  if (view.linked === null) throw new Error('a linked refund needs its original')
  const linked = {
    ...view.linked,
    linkedCreditMinor: view.linked.linkedCreditMinor + creditMinor,
    grantedMinor: view.linked.grantedMinor + grantedMinor,
  }
  const withheldMinor = view.account.withheldMinor + (withheld(linked) - withheld(view.linked))
  return { ...view, linked, account: { ...view.account, withheldMinor } }
}

/** Links a refund; what was credited and granted before the link was known moves to the original. */
function linkTo(view: View, to: string): View {
  const creditMinor = credit(view.transaction)
  const { grantedMinor } = view.transaction
  const { cardId } = view.linked ?? view.transaction
  const linkedCardId = cardId === view.transaction.cardId ? '' : cardId
  const next = { ...view.transaction, linkedTo: to, linkedCardId, grantedMinor: 0 }
  const withheldMinor = view.account.withheldMinor + (withheld(next) - withheld(view.transaction))
  const account = { ...view.account, withheldMinor }
  return addLinkedCredit({ ...view, transaction: next, account }, creditMinor, grantedMinor)
}

function grant(view: View, amountMinor: number, day: number): View {
  const { account } = view
  const grantedToday = account.grantDay === day ? account.grantedMinor : 0
  const granted: View = {
    ...view,
    account: { ...account, grantDay: day, grantedMinor: grantedToday + amountMinor },
  }
  if (view.transaction.linkedTo !== '') return addLinkedCredit(granted, 0, amountMinor)
  return withTransaction(granted, {
    ...view.transaction,
    grantedMinor: view.transaction.grantedMinor + amountMinor,
  })
}

function charge(view: View, takenMinor: number, pendingMinor: number): View {
  const { account, transaction } = view
  return {
    ...view,
    account: {
      ...account,
      postedMinor: account.postedMinor - takenMinor,
      chargesTakenMinor: account.chargesTakenMinor + takenMinor,
      chargesPendingMinor: account.chargesPendingMinor + pendingMinor,
    },
    transaction: {
      ...transaction,
      chargeTakenMinor: transaction.chargeTakenMinor + takenMinor,
      chargePendingMinor: transaction.chargePendingMinor + pendingMinor,
    },
  }
}

function addClaim(claims: readonly string[], slot: string): readonly string[] {
  if (claims.includes(slot) || claims.includes(forGood)) return claims
  return claims.length < maxClaims ? [...claims, slot] : [forGood]
}
