import type { View } from './change.ts'
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
  const card = ofCard === view.card.windows ? view.card : { ...view.card, windows: ofCard }
  const account =
    ofAccount === view.account.windows ? view.account : { ...view.account, windows: ofAccount }
  return { ...view, card, account }
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
  return { ...counted, transaction: { ...t, spend } }
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
  return { ...current, transaction: { ...current.transaction, spend } }
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
    if (scope === 'account') account = { ...account, windows: take(account.windows) }
    else if (card.cardId === cardId) card = { ...card, windows: take(card.windows) }
    else if (home?.cardId === cardId) home = { ...home, windows: take(home.windows) }
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
