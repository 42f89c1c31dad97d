import { type Account, copyAccount } from '../record/account.ts'
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
  maxSpendEntries,
  type OpenStates,
  type SpendEntry,
  type Spread,
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
  countFor: (window: string) => number,
  beforeMinor: (place: Counted) => number = () => 0,
): View {
  return changeWindows(view, at, (states, window, place) => {
    const { bucket, oldest } = place
    const counted = { index: bucket, sumMinor: amountMinor, count: countFor(place.window) }
    const added = place.spread
      ? { ...counted, spread: spreadOf(beforeMinor(place), amountMinor) }
      : counted
    countAt(states, window, oldest, added)
  })
}

function spreadOf(beforeMinor: number, amountMinor: number): Spread {
  const maxMinor = beforeMinor + amountMinor
  return { squares: maxMinor ** 2 - beforeMinor ** 2, maxMinor }
}

/** How much of these entries stands at a place. */
function standingAt(
  entries: readonly SpendEntry[],
  cardId: string,
  { window, scope, bucket }: Counted,
): number {
  let standingMinor = 0
  for (const entry of entries) {
    if (scope !== 'account' && entry.cardId !== cardId) continue
    if (entry.at.some((one) => one.window === window && one.bucket === bucket)) {
      standingMinor += entry.amountMinor
    }
  }
  return standingMinor
}

/** Changes a window, by its name among the states that it stands in. */
type WindowChange<T> = (states: OpenStates, window: string, place: T) => void

/** Changes windows of the card and of the account, each copied once. */
function changeWindows<T extends Counted>(
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
    change(ofAccount, place.window, place)
  }
  if (ofAccount !== null) next.account = accountWith(view.account, ofAccount)
  return next
}

function changeCard<T extends Counted>(
  card: Card,
  at: readonly T[],
  change: WindowChange<T>,
  isUsed = true,
): Card {
  let windows: OpenStates | null = null
  let merchants: OpenMerchants | null = null
  for (const place of at) {
    if (place.scope === 'card') {
      windows ??= { ...card.windows }
      change(windows, place.window, place)
    } else if (place.scope === 'merchant') {
      merchants ??= openMerchants(card.merchantCounts)
      const { name, mid } = splitKey(place.window)
      if (name === '') merchants.drop(mid!)
      else change(merchants.open(mid!, isUsed), name, place)
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
  const mentioned = mentionsIn(t.spend)
  const countFor = (window: string) => (mentioned.has(window) ? 0 : 1)
  const counted = countIn(view, at, amountMinor, countFor, (place) =>
    standingAt(t.spend, cardId, place),
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
  const mentioned = mentionsIn(spend)
  while (left > 0 && spend.length > 0) {
    const entry = spend.pop()!
    const taken = Math.min(left, entry.amountMinor)
    left -= taken
    const gone = taken === entry.amountMinor
    if (gone) forget(mentioned, entry)
    else spend.push({ ...entry, amountMinor: entry.amountMinor - taken })
    const countFor = (window: string) => (mentioned.has(window) ? 0 : 1)
    const leftMinor = (place: Counted) => standingAt(spend, entry.cardId, place)
    current = takeBack(current, entry, taken, countFor, leftMinor)
  }
  return withSpend(current, spend)
}

function takeBack(
  view: View,
  entry: SpendEntry,
  amountMinor: number,
  countFor: (window: string) => number,
  leftMinor: (place: Counted) => number,
): View {
  const take = (states: OpenStates, window: string, place: Counted) =>
    takeFrom(states, window, place.bucket, amountMinor, countFor(place.window), () => {
      const left = leftMinor(place)
      return (left + amountMinor) ** 2 - left ** 2
    })
  const cardId = entry.cardId === '' ? view.transaction.cardId : entry.cardId
  if (view.card.cardId === cardId) return changeWindows(view, entry.at, take)
  const ofAccount = entry.at.filter(({ scope }) => scope === 'account')
  const taken = changeWindows(view, ofAccount, take)
  if (view.home?.cardId !== cardId) return taken
  return { ...taken, home: changeCard(view.home, entry.at, take) }
}

export function dropOld(view: View, places: readonly CountedNow[]): View {
  const { windows } = view.card
  const at = places.map((place) => {
    const { name, mid } = splitKey(place.window)
    // An older entry says `card` of a window per merchant.
    const isOlder = place.scope === 'card' && mid !== null && windows[name] === undefined
    return isOlder ? ({ ...place, scope: 'merchant' } as const) : place
  })
  return changeWindows(
    view,
    at,
    (states, window, { oldest }) => {
      dropBefore(states, window, oldest)
    },
    false,
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
    if (state.buckets.length + state.merchants.length > 0) states[name] = state
    else delete states[name]
  }
  return states
}

/** How many spend entries mention each window: its count falls only when the last one goes. */
function mentionsIn(entries: readonly SpendEntry[]): Map<string, number> {
  const mentioned = new Map<string, number>()
  for (const { at } of entries) {
    for (const { window } of at) mentioned.set(window, (mentioned.get(window) ?? 0) + 1)
  }
  return mentioned
}

function forget(mentioned: Map<string, number>, { at }: SpendEntry): void {
  for (const { window } of at) {
    const left = (mentioned.get(window) ?? 0) - 1
    if (left > 0) mentioned.set(window, left)
    else mentioned.delete(window)
  }
}

function samePlaces(a: readonly Counted[], b: readonly Counted[]): boolean {
  if (a.length !== b.length) return false
  return a.every((place, i) => place.window === b[i]!.window && place.bucket === b[i]!.bucket)
}
