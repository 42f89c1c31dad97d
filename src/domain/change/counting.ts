import { type Account, copyAccount } from '../record/account.ts'
import { type Card, copyCard } from '../record/card.ts'
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
  return changeWindows(view, at, (states, place) => {
    const { window, bucket, oldest } = place
    const counted = { index: bucket, sumMinor: amountMinor, count: countFor(window) }
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
    if (scope === 'card' && entry.cardId !== cardId) continue
    if (entry.at.some((one) => one.window === window && one.bucket === bucket)) {
      standingMinor += entry.amountMinor
    }
  }
  return standingMinor
}

/** Changes windows of the card and of the account, each copied once. */
function changeWindows<T extends Counted>(
  view: View,
  at: readonly T[],
  change: (states: OpenStates, place: T) => void,
): View {
  let ofCard: OpenStates | null = null
  let ofAccount: OpenStates | null = null
  for (const place of at) {
    if (place.scope === 'card') {
      ofCard ??= { ...view.card.windows }
      change(ofCard, place)
    } else {
      ofAccount ??= { ...view.account.windows }
      change(ofAccount, place)
    }
  }
  const next = copyView(view)
  if (ofCard !== null) next.card = cardWith(view.card, ofCard)
  if (ofAccount !== null) next.account = accountWith(view.account, ofAccount)
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
  const mentioned = mentionsIn(t.spend)
  const cardId = view.card.cardId === t.cardId ? '' : view.card.cardId
  const places = at.map(({ window, scope, bucket }) => ({ window, scope, bucket }))
  const newest = t.spend.at(-1)
  const same = newest !== undefined && newest.cardId === cardId && samePlaces(newest.at, places)
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
  const take = (states: OpenStates, place: Counted) =>
    takeFrom(states, place.window, place.bucket, amountMinor, countFor(place.window), () => {
      const left = leftMinor(place)
      return (left + amountMinor) ** 2 - left ** 2
    })
  const cardId = entry.cardId === '' ? view.transaction.cardId : entry.cardId
  if (view.card.cardId === cardId) return changeWindows(view, entry.at, take)
  const ofAccount = entry.at.filter(({ scope }) => scope === 'account')
  const taken = changeWindows(view, ofAccount, take)
  if (view.home?.cardId !== cardId) return taken
  const states: OpenStates = { ...view.home.windows }
  for (const place of entry.at) if (place.scope === 'card') take(states, place)
  return { ...taken, home: cardWith(view.home, states) }
}

export function dropOld(view: View, places: readonly CountedNow[]): View {
  return changeWindows(view, places, (states, { window, oldest }) => {
    dropBefore(states, window, oldest)
  })
}

/** Puts what the log has told; the transaction's spend stands there too, so that it is given back. */
export function seed(view: View, { account, card, remembered, spend }: Seed): View {
  const next = copyView(view)
  next.account = accountWith(view.account, seededStates(view.account.windows, account))
  next.card = { ...view.card, ...remembered, windows: seededStates(view.card.windows, card) }
  return spend === null ? next : withSpend(next, spend)
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
