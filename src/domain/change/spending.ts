import {
  addSquares,
  type Counted,
  type CountedNow,
  countedPlace,
  countOneMore,
  maxSpendEntries,
  type OpenStates,
  partsOf,
  type SpendEntry,
  splitKey,
  takeFrom,
  tellsSpread,
} from '../record/window-state.ts'
import { changeCardWindows, changeWindows, countIn, withSpend } from './counting.ts'
import type { View } from './view.ts'

/** How much of these entries stands in each bucket of one window of a place. */
function standingIn(
  entries: readonly SpendEntry[],
  cardId: string,
  name: string,
  { window, scope }: Counted,
): ReadonlyMap<number, number> {
  const { mid } = splitKey(window)
  const standing = new Map<number, number>()
  for (const entry of entries) {
    if (scope !== 'account' && entry.cardId !== cardId) continue
    for (const one of entry.at) {
      // Mostly the same windows stood together then.
      if (one.scope !== scope || (one.window !== window && !isIn(name, mid, one.window))) continue
      standing.set(one.bucket, (standing.get(one.bucket) ?? 0) + entry.amountMinor)
      break
    }
  }
  return standing
}

/**
 * A transaction is one amount: the square of what stands in several buckets is that of their sum. What two
 * of them have in common is kept with the earlier one, so that it goes when that one is past.
 */
function addCommonSquares(
  states: OpenStates,
  name: string,
  mid: string | null,
  { bucket }: Counted,
  amountMinor: number,
  standing: ReadonlyMap<number, number>,
): void {
  for (const [earlier, minor] of standing) {
    if (earlier !== bucket) addSquares(states, name, mid, earlier, 2 * amountMinor * minor)
  }
}

function isIn(name: string, mid: string | null, window: string): boolean {
  const parts = partsOf(window)
  return parts.mid === mid && parts.names.includes(name)
}

export function countSpend(view: View, amountMinor: number, at: readonly CountedNow[]): View {
  const t = view.transaction
  const cardId = view.card.cardId === t.cardId ? '' : view.card.cardId
  const places = at.map(({ window, scope, bucket, moved }): Counted => {
    return moved ? { window, scope, bucket, moved } : { window, scope, bucket }
  })
  const newest = t.spend.at(-1)
  // Mostly it is the first of its transaction.
  if (newest === undefined) {
    const counted = countIn(view, at, amountMinor, () => 1)
    return withSpend(counted, [{ amountMinor, cardId, at: places }])
  }
  const same = newest.cardId === cardId && samePlaces(newest.at, places)
  const mentioned = mentionsIn(t.spend, cardId)
  const moved = at.filter((place) => place.moved)
  const left = moved.length === 0 ? view : leaveHolders(view, moved, cardId)
  const standing = (name: string, place: Counted) => standingIn(t.spend, cardId, name, place)
  const added = countIn(left, at, amountMinor, countForNew(mentioned), (name, place) => {
    return standing(name, place).get(place.bucket) ?? 0
  })
  const spreads = at.filter(({ spread }) => spread)
  const counted = changeWindows(added, spreads, (states, name, mid, place) => {
    addCommonSquares(states, name, mid, place, amountMinor, standing(name, place))
  })
  const spend = same
    ? [...t.spend.slice(0, -1), { ...newest, amountMinor: newest.amountMinor + amountMinor }]
    : [...t.spend, { amountMinor, cardId, at: places }].slice(-maxSpendEntries)
  return withSpend(counted, spend)
}

/** The places with those apart to which the transaction's one moves, from an earlier bucket of the window. */
export function withMoves(
  { transaction, card }: View,
  at: readonly CountedNow[],
): readonly CountedNow[] {
  const { spend } = transaction
  if (spend.length === 0) return at
  const cardId = card.cardId === transaction.cardId ? '' : card.cardId
  return at.flatMap((place) => {
    const { mid, scope, bucket, oldest, spread } = place
    const isMoving = (name: string) =>
      (holderOf(spend, cardId, name, place) ?? place).bucket !== bucket
    const moving = place.names.filter(isMoving)
    if (moving.length === 0) return [place]
    const staying = place.names.filter((name) => !moving.includes(name))
    return [moving, staying].flatMap((names) => {
      if (names.length === 0) return []
      const part = countedPlace({ names, mid }, scope, bucket, oldest)
      const kept = spread ? { ...part, spread } : part
      return [names === moving ? { ...kept, moved: true as const } : kept]
    })
  })
}

/** Where a transaction counts as one in a window: where it moved last, else where it was counted first. */
function holderOf(
  entries: readonly SpendEntry[],
  cardId: string,
  name: string,
  { window, scope }: Counted,
): Counted | null {
  const { mid } = splitKey(window)
  let holder: Counted | null = null
  for (const entry of entries) {
    if (scope !== 'account' && entry.cardId !== cardId) continue
    for (const one of entry.at) {
      if (holder !== null && !one.moved) continue
      if (one.scope === scope && (one.window === window || isIn(name, mid, one.window)))
        holder = one
    }
  }
  return holder
}

function leaveHolders(view: View, moved: readonly CountedNow[], cardId: string): View {
  const { spend } = view.transaction
  return changeWindows(view, moved, (states, name, mid, place) => {
    const holder = holderOf(spend, cardId, name, place)
    if (holder !== null) takeFrom(states, name, mid, holder.bucket, 0, 1, 0)
  })
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
    const countFor = countForNew(mentionsIn(spend, entry.cardId), gone)
    const standing = (name: string, place: Counted) => standingIn(spend, entry.cardId, name, place)
    const holder = (name: string, place: Counted) =>
      gone && place.moved ? holderOf(spend, entry.cardId, name, place) : null
    current = takeBack(current, entry, taken, { countFor, standing, holder })
  }
  return withSpend(current, spend)
}

/** What is left of a transaction in a window when an entry, or a part of it, is taken back. */
interface Left {
  /** What the taken part counted as. */
  readonly countFor: (name: string, place: Counted) => number
  readonly standing: (name: string, place: Counted) => ReadonlyMap<number, number>
  /** The place to which its one goes back; null for none. */
  readonly holder: (name: string, place: Counted) => Counted | null
}

function takeBack(view: View, entry: SpendEntry, amountMinor: number, left: Left): View {
  const take = (states: OpenStates, name: string, mid: string | null, place: Counted) => {
    let squares = 0
    if (tellsSpread(states, name, mid, place.bucket)) {
      const standing = left.standing(name, place)
      const leftMinor = standing.get(place.bucket) ?? 0
      squares = (leftMinor + amountMinor) ** 2 - leftMinor ** 2
      addCommonSquares(states, name, mid, place, -amountMinor, standing)
    }
    const count = left.countFor(name, place)
    takeFrom(states, name, mid, place.bucket, amountMinor, count, squares)
    const holder = left.holder(name, place)
    if (holder !== null) countOneMore(states, name, mid, holder.bucket)
  }
  const cardId = entry.cardId === '' ? view.transaction.cardId : entry.cardId
  const at = entry.at.map((place) => ({ ...place, ...partsOf(place.window) }))
  if (view.card.cardId === cardId) return changeWindows(view, at, take)
  const ofAccount = at.filter(({ scope }) => scope === 'account')
  const taken = changeWindows(view, ofAccount, take)
  const others = view.others.map((card) => {
    return card.cardId === cardId ? changeCardWindows(card, at, take) : card
  })
  return { ...taken, others }
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

/** A transaction counts once in a window that it is not mentioned in, or where its one has moved to. */
function countForNew(mentioned: ReadonlySet<string>, moves = true) {
  return (name: string, { window, moved }: Counted): number => {
    if (moved && moves) return 1
    if (mentioned.has(window)) return 0
    const { mid } = splitKey(window)
    for (const other of mentioned) if (isIn(name, mid, other)) return 0
    return 1
  }
}

function samePlaces(a: readonly Counted[], b: readonly Counted[]): boolean {
  if (a.length !== b.length) return false
  return a.every((place, i) => {
    const { window, bucket, moved } = b[i]!
    return place.window === window && place.bucket === bucket && (!moved || place.moved)
  })
}
