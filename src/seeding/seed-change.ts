import type { Seed } from '../domain/change/change.ts'
import { rememberedIn } from '../domain/decide/ask-memory.ts'
import type { PackMemory } from '../domain/decide/memory.ts'
import type { Card } from '../domain/record/card.ts'
import { countsAt, type MerchantCounts } from '../domain/record/merchant-counts.ts'
import type { Transaction } from '../domain/record/transaction.ts'
import { noState, splitKey, type WindowStates } from '../domain/record/window-state.ts'
import type {
  AccountChange,
  AccountDecision,
  AccountView,
} from '../engine/change/account-change.ts'
import type { AccountSeed } from './account-seed.ts'

/** `moved`: the account has entries that the seed does not know. */
export type SeedOutcome = 'seeded' | 'same' | 'moved'

const seedOrigin = 'seeding'

/**
 * Puts what the log tells into the records, in one commit with all that hangs together, and only on the
 * very state that was replayed: decisions that came meanwhile make it replay them first.
 */
export function seedChange(
  accountId: string,
  seed: AccountSeed,
  memories: readonly PackMemory[],
): AccountChange<SeedOutcome> {
  const windows = memories.flatMap(({ window }) => (window === '' ? [] : [window]))
  const facts = memories.flatMap(({ remembered }) =>
    remembered === '' ? [] : rememberedIn[remembered],
  )
  const { book } = seed.account

  function seedCards(view: AccountView): boolean {
    const account = differing(view.account!.windows, book.account()?.windows ?? {}, windows)
    let toldAccount = Object.keys(account).length === 0
    let changed = false
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
      changed = true
      put(view, { cardId: card.cardId, transactionId: '' }, told, memories)
    }
    return changed
  }

  return {
    accountId,
    origin: seedOrigin,
    decide(view): AccountDecision<SeedOutcome> {
      if (view.account === null || view.account.entryCount !== seed.next) {
        return { result: 'moved', write: null }
      }
      const spends = spendsIn(book.transactions(), windows)
      readAll([
        ...Array.from(
          book.cards(),
          ({ cardId }) =>
            () =>
              view.card(cardId),
        ),
        ...spends.map((t) => () => view.transaction(t.cardId, t.transactionId)),
      ])
      let changed = seedCards(view)
      for (const { cardId, transactionId, spend } of spends) {
        const found = view.transaction(cardId, transactionId)
        if (found === null || isSame(found.spend, spend)) continue
        changed = true
        put(view, { cardId, transactionId }, { ...noSeed, spend }, memories)
      }
      return changed ? { result: 'seeded', write: {} } : { result: 'same', write: null }
    },
  }
}

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

/** One commit has no more of them: an account with more gives back among its newest only. */
const maxSpends = 2_000

/** The transactions that a seeded window counts: what they give back, or settle again, must find it. */
function spendsIn(
  transactions: Iterable<Transaction>,
  windows: readonly string[],
): readonly Transaction[] {
  const mentions = ({ spend }: Transaction) =>
    spend.some(({ at }) => at.some(({ window }) => windows.includes(splitKey(window).name)))
  const found = [...transactions].filter(mentions)
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
