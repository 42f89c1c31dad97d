import { type Account, copyAccount } from './account.ts'
import { type Card, copyCard } from './card.ts'
import { copyView, type View } from './change.ts'
import { copyTransaction } from './transaction.ts'
import {
  addTo,
  type Counted,
  type CountedNow,
  dropBefore,
  maxSpendEntries,
  type SpendEntry,
  takeFrom,
  type WindowStates,
} from './window.ts'

/** Counts in each window; a count is added where `countFor` says so. */
export function countIn(
  view: View,
  at: readonly CountedNow[],
  amountMinor: number,
  countFor: (window: string) => number,
): View {
  let ofCard = view.card.windows
  let ofAccount = view.account.windows
  for (const { window, scope, bucket, oldest } of at) {
    const count = countFor(window)
    const states = dropBefore(scope === 'card' ? ofCard : ofAccount, window, oldest)
    const counted = addTo(states, window, bucket, amountMinor, count)
    if (scope === 'card') ofCard = counted
    else ofAccount = counted
  }
  const next = copyView(view)
  if (ofCard !== view.card.windows) next.card = cardWith(view.card, ofCard)
  if (ofAccount !== view.account.windows) next.account = accountWith(view.account, ofAccount)
  return next
}

function cardWith(card: Card, windows: WindowStates): Card {
  const next = copyCard(card)
  next.windows = windows
  return next
}

function accountWith(account: Account, windows: WindowStates): Account {
  const next = copyAccount(account)
  next.windows = windows
  return next
}

export function countSpend(view: View, amountMinor: number, at: readonly CountedNow[]): View {
  const t = view.transaction
  const counted = countIn(view, at, amountMinor, (window) => (mentions(t.spend, window) ? 0 : 1))
  const cardId = view.card.cardId === t.cardId ? '' : view.card.cardId
  const places = at.map(({ window, scope, bucket }) => ({ window, scope, bucket }))
  const newest = t.spend.at(-1)
  const same = newest !== undefined && newest.cardId === cardId && samePlaces(newest.at, places)
  const spend = same
    ? [...t.spend.slice(0, -1), { ...newest, amountMinor: newest.amountMinor + amountMinor }]
    : [...t.spend, { amountMinor, cardId, at: places }].slice(-maxSpendEntries)
  return withSpend(counted, spend)
}

function withSpend(view: View, spend: readonly SpendEntry[]): View {
  const next = copyView(view)
  const transaction = copyTransaction(view.transaction)
  transaction.spend = spend
  next.transaction = transaction
  return next
}

/** From the newest entry back, in the buckets where they stand. */
export function giveSpendBack(view: View, amountMinor: number): View {
  let left = amountMinor
  let current = view
  const spend = [...view.transaction.spend]
  while (left > 0 && spend.length > 0) {
    const entry = spend.pop()!
    const taken = Math.min(left, entry.amountMinor)
    left -= taken
    const gone = taken === entry.amountMinor
    if (!gone) spend.push({ ...entry, amountMinor: entry.amountMinor - taken })
    current = takeBack(current, entry, taken, (window) =>
      gone && !mentions(spend, window) ? 1 : 0,
    )
  }
  return withSpend(current, spend)
}

function takeBack(
  view: View,
  entry: SpendEntry,
  amountMinor: number,
  countFor: (window: string) => number,
): View {
  let { card, home, account } = view
  const cardId = entry.cardId === '' ? view.transaction.cardId : entry.cardId
  for (const { window, scope, bucket } of entry.at) {
    const take = (states: WindowStates) =>
      takeFrom(states, window, bucket, amountMinor, countFor(window))
    if (scope === 'account') account = accountWith(account, take(account.windows))
    else if (card.cardId === cardId) card = cardWith(card, take(card.windows))
    else if (home?.cardId === cardId) home = cardWith(home, take(home.windows))
  }
  return { ...view, card, home, account }
}

export function dropOld(view: View, { window, scope, oldest }: CountedNow): View {
  if (scope === 'account') {
    const windows = dropBefore(view.account.windows, window, oldest)
    return { ...view, account: { ...view.account, windows } }
  }
  const windows = dropBefore(view.card.windows, window, oldest)
  return { ...view, card: { ...view.card, windows } }
}

function mentions(entries: readonly SpendEntry[], window: string): boolean {
  return entries.some((entry) => entry.at.some((place) => place.window === window))
}

function samePlaces(a: readonly Counted[], b: readonly Counted[]): boolean {
  if (a.length !== b.length) return false
  return a.every((place, i) => place.window === b[i]!.window && place.bucket === b[i]!.bucket)
}
