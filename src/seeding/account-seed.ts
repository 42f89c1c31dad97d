import { answerAsLogged, deliveryOf, type Head } from '../backtest/replay/logged-answer.ts'
import {
  createReplayedAccount,
  type ReplayedAccount,
  transactionIn,
} from '../backtest/replay/replayed-account.ts'
import { accountBeforeLog, type Snapshot } from '../backtest/replay/snapshot.ts'
import type { PackMemory } from '../domain/decide/memory.ts'
import type { Pack } from '../domain/decide/pack.ts'
import type { Entry } from '../domain/ledger/entry.ts'
import { transactionKey } from '../domain/ledger/ledger.ts'
import type { Transaction } from '../domain/record/transaction.ts'
import { type Counted, partsOf } from '../domain/record/window-state.ts'
import { type OpenEntry, openEntry } from '../engine/format/entry-codec.ts'
import { decodedLines } from '../engine/log-reading.ts'

/** One account as the log tells it, as if this pack had counted from the beginning. */
export interface AccountSeed {
  readonly account: ReplayedAccount
  /** The windows that it tells. */
  readonly windows: readonly string[]
  /** The number of the entry that comes next: the records are right while they have no more than these. */
  readonly next: number
  readonly isBegun: boolean
  /** Older than the log: it needs its records to begin with. */
  readonly isCut: boolean
  readonly cardIds: ReadonlySet<string>
  /** The number after that of the last entry it was given. */
  readonly end: number
  /** How many lines it was given, and what it holds: their length, and what it takes without any. */
  readonly entries: number
  readonly chars: number
  /** Before it has begun the line is only kept. */
  add(line: string, entry: Entry): void
  /** Replays what it was given, on its records where the log does not tell its beginning. */
  begin(snapshot: Snapshot | null): void
  /** Whether a told window counts this transaction, or another window of its name has counted it. */
  isCounted(transaction: Transaction): boolean
  /** Whether the records have this transaction's spend. */
  isTold(transaction: Transaction): boolean
  /** The records have the spend of these; our entries for it end before `next`, and need no replay. */
  settle(told: readonly Transaction[], next: number): void
}

/** What one takes without a line, as was measured: accounts with few entries are most of what is held. */
const emptyChars = 3_000

export function createAccountSeed(pack: Pack, memories: readonly PackMemory[]): AccountSeed {
  const windows = memories.flatMap(({ window }) => (window === '' ? [] : [window]))
  let account: ReplayedAccount
  let next = 0
  let begun = false
  let end = 0
  let entries = 0
  let chars = emptyChars
  /** By number: entries are dated before their commit, so one may become visible after a later one. */
  const waiting = new Map<number, string>()
  const cardIds = new Set<string>()
  /** What the records have in windows of these names, whatever they counted then. */
  const counted = new Set<string>()
  /** A transaction that an entry changes is another object afterwards. */
  let told = new WeakSet<Transaction>()

  const isOfTold = ({ window }: Pick<Counted, 'window'>) =>
    partsOf(window).names.some((name) => windows.includes(name))

  function book(entry: OpenEntry): void {
    const delivery = deliveryOf(entry.head)
    if (delivery !== null) account.keep(answerAsLogged(entry.head, delivery, account, pack))
    else if (entry.head.kind === 'booked') account.repeat(entry.whole(), pack)
    else if (isDue(entry.head)) {
      account.sweepTransaction(...entry.head.transaction, pack, entry.head.atMs)
    } else if (entry.whole().changes.every(({ type }) => type !== 'seeded')) {
      account.follow(entry.whole())
    } else {
      // Not ours, so it may be by another pack.
      told = new WeakSet()
    }
  }

  /** The sweeper would have come for it by this pack too, and dropped what no longer counts. */
  function isDue({ kind, transaction, atMs }: Head): boolean {
    if (kind !== 'tended') return false
    const found = transactionIn(account.book, ...transaction)
    return found !== null && found.dueAtMs <= atMs
  }

  function goOn(): void {
    for (let line = waiting.get(next); line !== undefined; line = waiting.get(next)) {
      waiting.delete(next)
      book(openEntry(line))
      next++
    }
  }

  return {
    get account() {
      return account
    },
    get next() {
      return next
    },
    get isBegun() {
      return begun
    },
    get isCut() {
      return !begun && !waiting.has(0)
    },
    get end() {
      return end
    },
    get entries() {
      return entries
    },
    get chars() {
      return chars
    },
    windows,
    cardIds,
    add(line, { n, cardId, transaction, changes }) {
      if (n < next || waiting.has(n)) return
      for (const id of [cardId, transaction[0]]) if (id !== '') cardIds.add(id)
      if (placesIn(changes).some(isOfTold)) counted.add(transactionKey(...transaction))
      waiting.set(n, line)
      end = Math.max(end, n + 1)
      entries++
      chars += line.length
      if (begun) goOn()
    },
    begin(snapshot) {
      if (snapshot === null) account = createReplayedAccount()
      else {
        const numbers = [...waiting.keys()].sort((a, b) => a - b)
        account = accountBeforeLog(snapshot, decodedLines(numbers.map((n) => waiting.get(n)!)))
        next = numbers[0]!
      }
      begun = true
      goOn()
    },
    isCounted: ({ cardId, transactionId, spend }) =>
      spend.some(({ at }) => at.some(isOfTold)) ||
      counted.has(transactionKey(cardId, transactionId)),
    isTold: (transaction) => told.has(transaction),
    settle(transactions, after) {
      for (const transaction of transactions) told.add(transaction)
      for (; next < after; next++) waiting.delete(next)
      goOn()
    },
  }
}

/** Where changes say that spend stands. */
function placesIn(changes: Entry['changes']): readonly Pick<Counted, 'window'>[] {
  return changes.flatMap((change): readonly Pick<Counted, 'window'>[] => {
    if (change.type === 'spendCounted') return change.at
    return change.type === 'seeded' ? (change.spend ?? []).flatMap(({ at }) => at) : []
  })
}
