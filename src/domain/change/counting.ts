import { type Account, copyAccount } from '../record/account.ts'
import type { Spread } from '../record/bucket.ts'
import { type Card, copyCard } from '../record/card.ts'
import {
  countsAt,
  type MerchantCounts,
  maxCountedMerchants,
  type OpenMerchants,
  openMerchants,
} from '../record/merchant-counts.ts'
import { copyTransaction } from '../record/transaction.ts'
import {
  type Counted,
  type CountedNow,
  countAt,
  dropBefore,
  hasCounts,
  moveToSketch,
  type OpenStates,
  type PlaceParts,
  type SpendEntry,
  type WindowStates,
} from '../record/window-state.ts'
import type { Seed } from './change.ts'
import { copyView, type View } from './view.ts'

/**
 * Adds the amount in each window, and to the number of what it counts as `countFor` says. `beforeMinor`
 * tells what the same transaction has at a place already.
 */
export function countIn(
  view: View,
  at: readonly CountedNow[],
  amountMinor: number,
  countFor: (name: string, place: Counted) => number,
  beforeMinor: (name: string, place: Counted) => number = () => 0,
): View {
  return changeWindows(view, at, (states, name, mid, place) => {
    const { bucket, oldest } = place
    const counted = { index: bucket, sumMinor: amountMinor, count: countFor(name, place) }
    const added = place.spread
      ? { ...counted, spread: spreadOf(beforeMinor(name, place), amountMinor) }
      : counted
    countAt(states, name, mid, oldest, added)
  })
}

function spreadOf(beforeMinor: number, amountMinor: number): Spread {
  const maxMinor = beforeMinor + amountMinor
  return { squares: maxMinor ** 2 - beforeMinor ** 2, maxMinor }
}

/** Changes a window, or a merchant's part of it, by its name among the states that it stands in. */
type WindowChange<T> = (states: OpenStates, name: string, mid: string | null, place: T) => void

/** Changes windows of the card and of the account, each copied once. */
export function changeWindows<T extends Counted & PlaceParts>(
  view: View,
  at: readonly T[],
  change: WindowChange<T>,
  isUsed = true,
): View {
  const next = copyView(view)
  next.card = changeCardWindows(view.card, at, change, isUsed)
  let ofAccount: OpenStates | null = null
  for (const place of at) {
    if (place.scope !== 'account') continue
    ofAccount ??= { ...view.account.windows }
    for (const name of place.names) change(ofAccount, name, place.mid, place)
  }
  if (ofAccount !== null) next.account = accountWith(view.account, ofAccount)
  return next
}

export function changeCardWindows<T extends Counted & PlaceParts>(
  card: Card,
  at: readonly T[],
  change: WindowChange<T>,
  isUsed = true,
): Card {
  let windows: OpenStates | null = null
  let merchants: OpenMerchants | null = null
  for (const place of at) {
    if (place.scope === 'account') continue
    const { names, mid } = place
    if (place.scope === 'card') {
      windows ??= { ...card.windows }
      for (const name of names) change(windows, name, mid, place)
      continue
    }
    merchants ??= openMerchants(card.merchantCounts)
    if (names[0] === '') merchants.drop(mid!)
    else {
      const counts = merchants.open(mid!, isUsed)
      for (const name of names) change(counts, name, null, place)
    }
  }
  if (windows === null && merchants === null) return card
  const next = copyCard(card)
  if (windows !== null) next.windows = windows
  if (merchants !== null) next.merchantCounts = merchants.close()
  return next
}

function accountWith(account: Account, windows: WindowStates): Account {
  const next = copyAccount(account)
  next.windows = windows
  return next
}

export function dropOld(view: View, places: readonly CountedNow[]): View {
  const drop: WindowChange<CountedNow> = (states, name, mid, { oldest }) =>
    dropBefore(states, name, mid, oldest)
  return changeWindows(view, places, drop, false)
}

/** Moves merchants that crowd a window to its sketch. */
export function sketchCrowded(view: View, places: readonly CountedNow[]): View {
  return changeWindows(view, places, (states, name, mid, { oldest }) =>
    moveToSketch(states, name, mid!, oldest),
  )
}

/** Puts what the log has told; the transaction's spend stands there too, so that it is given back. */
export function seed(view: View, { account, card, merchants, remembered, spend }: Seed): View {
  const next = copyView(view)
  next.account = accountWith(view.account, seededStates(view.account.windows, account))
  next.card = {
    ...view.card,
    ...remembered,
    windows: seededStates(view.card.windows, card),
    merchantCounts: seededMerchants(view.card.merchantCounts, merchants ?? []),
  }
  return spend === null ? next : withSpend(next, spend)
}

/** In the order of the log; a merchant that it does not know counts as used longest ago. */
function seededMerchants(
  before: readonly MerchantCounts[],
  told: readonly MerchantCounts[],
): readonly MerchantCounts[] {
  if (told.length === 0) return before
  const mids = new Set(told.map(({ mid }) => mid))
  const others = before.filter(({ mid }) => !mids.has(mid))
  const seeded = told.map(({ mid, windows }) => {
    return { mid, windows: seededStates(countsAt(before, mid), windows) }
  })
  return [...others, ...seeded]
    .filter(({ windows }) => Object.keys(windows).length > 0)
    .slice(-maxCountedMerchants)
}

function seededStates(windows: WindowStates, seeded: WindowStates): WindowStates {
  const states: OpenStates = { ...windows }
  for (const [name, state] of Object.entries(seeded)) {
    if (hasCounts(state)) states[name] = state
    else delete states[name]
  }
  return states
}

export function withSpend(view: View, spend: readonly SpendEntry[]): View {
  const next = copyView(view)
  const transaction = copyTransaction(view.transaction)
  transaction.spend = spend
  next.transaction = transaction
  return next
}
