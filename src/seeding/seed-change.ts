import type { Seed } from '../domain/change/change.ts'
import { rememberedIn } from '../domain/decide/ask-memory.ts'
import type { PackMemory } from '../domain/decide/memory.ts'
import type { Card } from '../domain/record/card.ts'
import { countsAt, type MerchantCounts } from '../domain/record/merchant-counts.ts'
import type { Transaction } from '../domain/record/transaction.ts'
import { noState, type WindowStates } from '../domain/record/window-state.ts'
import type {
  AccountChange,
  AccountDecision,
  AccountView,
} from '../engine/change/account-change.ts'
import type { AccountSeed } from './account-seed.ts'
import { toldSpend } from './told-spend.ts'

export interface SeedOutcome {
  /** `moved`: the account has entries that the seed does not know. `partly`: there is more to tell. */
  readonly result: 'moved' | 'partly' | 'whole'
  readonly told: readonly Transaction[]
  /** The number of the entry that comes next. */
  readonly next: number
}

const seedOrigin = 'seeding'
/** An account with decisions all the time is met between two of them, so a commit must not take long. */
const maxToldAtOnce = 32

/**
 * Puts what the log tells into the records, and only on the very state that was replayed: decisions that
 * came meanwhile make it replay them first. What transactions give back comes before the windows that
 * count it, in portions, for giving back never falls below zero; the last portion comes with the windows.
 */
export function seedChange(
  accountId: string,
  seed: AccountSeed,
  memories: readonly PackMemory[],
): AccountChange<SeedOutcome> {
  const { windows } = seed
  const facts = memories.flatMap(({ remembered }) =>
    remembered === '' ? [] : rememberedIn[remembered],
  )
  const { book } = seed.account

  function seedCards(view: AccountView): void {
    const account = differing(view.account!.windows, book.account()?.windows ?? {}, windows)
    let toldAccount = Object.keys(account).length === 0
    for (const replayed of book.cards()) {
      const card = view.card(replayed.cardId)
      if (card === null) continue
      const told = {
        account: toldAccount ? {} : account,
        card: differing(card.windows, replayed.windows, windows),
        ...toldMerchants(card.merchantCounts, replayed.merchantCounts, windows),
        remembered: otherFacts(card, replayed, facts),
        spend: null,
      }
      if (isNothing(told)) continue
      toldAccount = true
      put(view, { cardId: card.cardId, transactionId: '' }, told, memories)
    }
  }

  return {
    accountId,
    origin: seedOrigin,
    decide(view): AccountDecision<SeedOutcome> {
      const entryCount = view.account?.entryCount ?? Number.POSITIVE_INFINITY
      // The log has more than an old copy of the account: the commit shows that it is one.
      if (entryCount < seed.next) return { result: moved, write: {} }
      if (entryCount > seed.next) return { result: moved, write: null }
      const untold = spendsIn(seed).filter((one) => !seed.isTold(one))
      const told = untold.slice(0, maxToldAtOnce)
      const isLast = told.length === untold.length
      const cardIds = isLast ? Array.from(book.cards(), ({ cardId }) => cardId) : []
      readAll([
        ...cardIds.map((id) => () => view.card(id)),
        ...told.map((t) => () => view.transaction(t.cardId, t.transactionId)),
      ])
      if (isLast) seedCards(view)
      for (const { cardId, transactionId, spend: replayed } of told) {
        const found = view.transaction(cardId, transactionId)
        if (found === null) continue
        const spend = toldSpend(found.spend, replayed, (name) => windows.includes(name))
        if (isSame(found.spend, spend)) continue
        put(view, { cardId, transactionId }, { ...noSeed, spend }, memories)
      }
      const next = view.account!.entryCount
      const result = { result: isLast ? 'whole' : 'partly', told, next } as const
      return { result, write: next === entryCount ? null : {} }
    },
  }
}

const moved: SeedOutcome = { result: 'moved', told: [], next: 0 }
const noSeed: Seed = { account: {}, card: {}, remembered: {}, spend: null }

function put(
  view: AccountView,
  place: { readonly cardId: string; readonly transactionId: string },
  seed: Seed,
  memories: readonly PackMemory[],
): void {
  const refused = view.operate(
    { type: 'seed', ...place, seed },
    memories
      .map(({ key }) => key)
      .join(', ')
      .slice(0, maxReasonChars),
  )
  if (refused !== '') throw new Error(`seeding was refused: ${refused}`)
}

const maxReasonChars = 200

/** Asks for everything before it needs anything, so that all that is not in memory is read at once. */
function readAll(reads: readonly (() => unknown)[]): void {
  let wanting: unknown = null
  for (const read of reads) {
    try {
      read()
    } catch (error) {
      wanting = error
    }
  }
  if (wanting !== null) throw wanting
}

/** An account with more of them gives back among its newest only. */
const maxSpends = 2_000

/** The transactions that a seeded window counts, or did: what they give back, or settle again, must find it. */
function spendsIn(seed: AccountSeed): readonly Transaction[] {
  const found = [...seed.account.book.transactions()].filter(seed.isCounted)
  if (found.length <= maxSpends) return found
  return found.sort((a, b) => b.lastEventAtMs - a.lastEventAtMs).slice(0, maxSpends)
}

/** The windows that are otherwise than they would be; one that should be empty comes empty. */
function differing(
  windows: WindowStates,
  told: WindowStates,
  names: readonly string[],
): WindowStates {
  const others = names.filter((name) => !isSame(windows[name], told[name]))
  return Object.fromEntries(others.map((name) => [name, told[name] ?? noState]))
}

/** All merchants of the log with the told windows, and those that it forgot without; none when all is so. */
function toldMerchants(
  merchants: readonly MerchantCounts[],
  told: readonly MerchantCounts[],
  names: readonly string[],
): Pick<Seed, 'merchants'> {
  const known = new Set(told.map(({ mid }) => mid))
  const gone = merchants.filter(({ mid }) => !known.has(mid))
  const all = [...gone.map(({ mid }) => ({ mid, windows: {} })), ...told].map((one) => {
    const windows = differing(countsAt(merchants, one.mid), one.windows, names)
    return { mid: one.mid, windows }
  })
  const same = all.every(({ windows }) => Object.keys(windows).length === 0)
  return same ? {} : { merchants: all }
}

function otherFacts(card: Card, told: Card, names: readonly (keyof Card)[]): Partial<Card> {
  const others = names.filter((name) => !isSame(card[name], told[name]))
  return Object.fromEntries(others.map((name) => [name, told[name]]))
}

function isNothing({ account, card, merchants = [], remembered }: Seed): boolean {
  return [account, card, merchants, remembered].every((part) => Object.keys(part).length === 0)
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
