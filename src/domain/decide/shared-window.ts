import { knowsCard } from '../change/view.ts'
import { type CardEvent, isAsk } from '../record/event.ts'
import {
  countAt,
  moveToSketch,
  type OpenStates,
  type WindowStates,
} from '../record/window-state.ts'
import type { Step } from './answer.ts'
import type { Pack } from './pack.ts'
import {
  nameIn,
  type SharedCounts,
  type SharedPlace,
  type SharedScope,
  sharedKey,
  type WindowDefinition,
  type WindowFacts,
} from './window.ts'
import { addPlaces, closePlace, crowding, type OpenPlace } from './window-place.ts'

/** More merchants, customers and so on than this are not kept in memory: those counted longest ago go. */
export const maxSharedKeys = 100_000

/**
 * Counts an ask in the windows over several cards, once it is decided for the first time. It counts as
 * it was answered, and nothing gives back: what was approved and reversed later stays counted.
 */
export function countShared(pack: Pack, event: CardEvent, step: Step): void {
  const { shared, sharedWindows = [] } = pack
  // Its rules saw the records before it, and the conditions of windows see the same.
  const { account, card, transaction, otherContent } = step.before
  const amountMinor = event.amountMinor ?? 0
  // An id that came before with other content is a mistake of the relay, and no ask.
  const first = step.changes.at(-1)?.type === 'recorded' && !otherContent
  if (shared === undefined || !first || !isAsk(event)) return
  if (!knowsCard(step.before, event) || amountMinor === 0) return
  const facts = { event, account, card, transaction, atMs: step.atMs }
  const approved = step.answer.code === '000'
  const places: SharedPlace[] = []
  for (const window of sharedWindows) {
    if (counts(window, event, approved) && window.matches(facts)) {
      places.push(...sharedPlaces(window, facts))
    }
  }
  if (places.length > 0) shared.count(places, amountMinor)
}

function counts({ over }: WindowDefinition, { requestType }: CardEvent, approved: boolean) {
  if (over === 'asks') return true
  if (over === 'declines') return !approved
  return approved && (over === 'approved' || requestType === 'CashWithdrawal')
}

function sharedPlaces(window: WindowDefinition, facts: WindowFacts): SharedPlace[] {
  const key = sharedKey(window.scope as SharedScope, facts)
  if (key === '') return []
  const places: OpenPlace[] = []
  addPlaces(places, window, facts)
  const whole = places[0]!
  const added = closePlace({ ...whole, names: [nameIn(window, facts.event.currency)] })
  // Amounts of several currencies have no spread together.
  places[0] = { ...whole, spread: false }
  const windowOldest = whole.oldest
  return [...places.map(closePlace), added].map((at) => ({ key, at, windowOldest }))
}

/** The keys that an ask's rules may look at, each once. */
export function sharedKeysOf({ sharedWindows = [] }: Pack, facts: WindowFacts): string[] {
  const keys = sharedWindows.map(({ scope }) => sharedKey(scope as SharedScope, facts))
  return [...new Set(keys)].filter((key) => key !== '')
}

/** Counts one place in states that may be changed. */
export function countPlace(
  states: OpenStates,
  { at, windowOldest }: SharedPlace,
  amountMinor: number,
): void {
  const { mid, bucket, oldest, spread } = at
  const name = at.names[0]!
  const counted = { index: bucket, sumMinor: amountMinor, count: 1 }
  const squares = amountMinor ** 2
  const added = spread ? { ...counted, spread: { squares, maxMinor: amountMinor } } : counted
  countAt(states, name, mid, oldest, added)
  for (const gone of crowding(states[name]!)) {
    moveToSketch(states, name, gone.mid, windowOldest)
  }
}

const nothing: WindowStates = {}

/** Counts in memory alone, for tests of packs and for backtests. */
export function createSharedTally(maxKeys = maxSharedKeys): SharedCounts {
  const byKey = new Map<string, OpenStates>()
  return {
    statesOf: (key) => byKey.get(key) ?? nothing,
    count(places, amountMinor) {
      let key = ''
      let states: OpenStates = {}
      for (const place of places) {
        if (place.key !== key) {
          key = place.key
          states = byKey.get(key) ?? {}
          byKey.delete(key)
          byKey.set(key, states)
        }
        countPlace(states, place, amountMinor)
      }
      if (byKey.size <= maxKeys) return
      for (const oldest of [...byKey.keys()].slice(0, byKey.size - maxKeys)) byKey.delete(oldest)
    },
  }
}
