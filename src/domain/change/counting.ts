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
  maxSpendEntries,
  moveToSketch,
  type OpenStates,
  type PlaceParts,
  partsOf,
  type SpendEntry,
  splitKey,
  takeFrom,
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

/** How much of these entries stands in one window of a place. */
function standingAt(
  entries: readonly SpendEntry[],
  cardId: string,
  name: string,
  { window, scope, bucket }: Counted,
): number {
  const { mid } = splitKey(window)
  let standingMinor = 0
  for (const entry of entries) {
    if (scope !== 'account' && entry.cardId !== cardId) continue
    for (const one of entry.at) {
      if (one.bucket !== bucket) continue
      // Mostly the same windows stood together then.
      if (one.window !== window && !isIn(name, mid, one.window)) continue
      standingMinor += entry.amountMinor
      break
    }
  }
  return standingMinor
}

function isIn(name: string, mid: string | null, window: string): boolean {
  const parts = partsOf(window)
  return parts.mid === mid && parts.names.includes(name)
}

/** Changes a window, or a merchant's part of it, by its name among the states that it stands in. */
type WindowChange<T> = (states: OpenStates, name: string, mid: string | null, place: T) => void

/** Changes windows of the card and of the account, each copied once. */
function changeWindows<T extends Counted & PlaceParts>(
  view: View,
  at: readonly T[],
  change: WindowChange<T>,
  isUsed = true,
): View {
  const next = copyView(view)
  next.card = changeCard(view.card, at, change, isUsed)
  let ofAccount: OpenStates | null = null
  for (const place of at) {
    if (place.scope !== 'account') continue
    ofAccount ??= { ...view.account.windows }
    for (const name of place.names) change(ofAccount, name, place.mid, place)
  }
  if (ofAccount !== null) next.account = accountWith(view.account, ofAccount)
  return next
}

function changeCard<T extends Counted & PlaceParts>(
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

export function countSpend(view: View, amountMinor: number, at: readonly CountedNow[]): View {
  const t = view.transaction
  const cardId = view.card.cardId === t.cardId ? '' : view.card.cardId
  const places = at.map(({ window, scope, bucket }) => ({ window, scope, bucket }))
  const newest = t.spend.at(-1)
  // Mostly it is the first of its transaction.
  if (newest === undefined) {
    const counted = countIn(view, at, amountMinor, () => 1)
    return withSpend(counted, [{ amountMinor, cardId, at: places }])
  }
  const same = newest.cardId === cardId && samePlaces(newest.at, places)
  const mentioned = mentionsIn(t.spend, cardId)
  const counted = countIn(view, at, amountMinor, countForNew(mentioned), (name, place) =>
    standingAt(t.spend, cardId, name, place),
  )
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

/** Takes a fall of spend from the newest entries first, in the buckets where they stand. */
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
    const mentioned = mentionsIn(spend, entry.cardId)
    const leftMinor = (name: string, place: Counted) => standingAt(spend, entry.cardId, name, place)
    current = takeBack(current, entry, taken, countForNew(mentioned), leftMinor)
  }
  return withSpend(current, spend)
}

function takeBack(
  view: View,
  entry: SpendEntry,
  amountMinor: number,
  countFor: (name: string, place: Counted) => number,
  leftMinor: (name: string, place: Counted) => number,
): View {
  const take = (states: OpenStates, name: string, mid: string | null, place: Counted) =>
    takeFrom(states, name, mid, place.bucket, amountMinor, countFor(name, place), () => {
      const left = leftMinor(name, place)
      return (left + amountMinor) ** 2 - left ** 2
    })
  const cardId = entry.cardId === '' ? view.transaction.cardId : entry.cardId
  const at = entry.at.map((place) => ({ ...place, ...partsOf(place.window) }))
  if (view.card.cardId === cardId) return changeWindows(view, at, take)
  const ofAccount = at.filter(({ scope }) => scope === 'account')
  const taken = changeWindows(view, ofAccount, take)
  const others = view.others.map((card) => {
    return card.cardId === cardId ? changeCard(card, at, take) : card
  })
  return { ...taken, others }
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

/** The windows of this card and of the account that spend stands in: those of another card are others. */
function mentionsIn(entries: readonly SpendEntry[], cardId: string): ReadonlySet<string> {
  const mentioned = new Set<string>()
  for (const entry of entries) {
    for (const { window, scope } of entry.at) {
      if (scope === 'account' || entry.cardId === cardId) mentioned.add(window)
    }
  }
  return mentioned
}

/** A transaction counts once in a window that it is not mentioned in. */
function countForNew(mentioned: ReadonlySet<string>) {
  return (name: string, { window }: Counted): number => {
    if (mentioned.has(window)) return 0
    const { mid } = splitKey(window)
    for (const other of mentioned) if (isIn(name, mid, other)) return 0
    return 1
  }
}

function samePlaces(a: readonly Counted[], b: readonly Counted[]): boolean {
  if (a.length !== b.length) return false
  return a.every((place, i) => place.window === b[i]!.window && place.bucket === b[i]!.bucket)
}
