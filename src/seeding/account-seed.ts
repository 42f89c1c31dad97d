import { answerAsLogged, deliveryOf, type Head } from '../backtest/replay/logged-answer.ts'
import {
  createReplayedAccount,
  type ReplayedAccount,
  transactionIn,
} from '../backtest/replay/replayed-account.ts'
import { accountBeforeLog, type Snapshot } from '../backtest/replay/snapshot.ts'
import type { Pack } from '../domain/decide/pack.ts'
import type { Transaction } from '../domain/record/transaction.ts'
import type { OpenEntry } from '../engine/format/entry-codec.ts'

/** One account as the log tells it, as if this pack had counted from the beginning. */
export interface AccountSeed {
  readonly account: ReplayedAccount
  /** The number of the entry that comes next: the records are right while they have no more than these. */
  readonly next: number
  /** Older than the log: it needs its records to begin with. */
  readonly isCut: boolean
  readonly cardIds: ReadonlySet<string>
  add(entry: OpenEntry): void
  /** Begins an account that is older than the log. */
  begin(snapshot: Snapshot): void
  /** Whether the records have this transaction's spend. */
  isTold(transaction: Transaction): boolean
  /** The records have the spend of these; our entries for it end before `next`, and need no replay. */
  settle(told: readonly Transaction[], next: number): void
}

export function createAccountSeed(pack: Pack): AccountSeed {
  let account = createReplayedAccount()
  let next = 0
  let begun = false
  /** Entries after a gap: they are dated before their commit, so one may become visible late. */
  let waiting = new Map<number, OpenEntry>()
  const cardIds = new Set<string>()
  /** A transaction that an entry changes is another object afterwards. */
  let told = new WeakSet<Transaction>()

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
    for (let entry = waiting.get(next); entry !== undefined; entry = waiting.get(next)) {
      waiting.delete(next)
      book(entry)
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
    get isCut() {
      return !begun && waiting.size > 0
    },
    cardIds,
    add(entry) {
      const { n, cardId, transaction } = entry.head
      if (n < next) return
      for (const id of [cardId, transaction[0]]) if (id !== '') cardIds.add(id)
      waiting.set(n, entry)
      if (n === 0) begun = true
      if (begun) goOn()
    },
    begin(snapshot) {
      const entries = [...waiting.values()].sort((a, b) => a.head.n - b.head.n)
      account = accountBeforeLog(
        snapshot,
        entries.map(({ whole }) => whole()),
      )
      next = entries[0]!.head.n
      waiting = new Map(entries.map((entry) => [entry.head.n, entry]))
      begun = true
      goOn()
    },
    isTold: (transaction) => told.has(transaction),
    settle(transactions, after) {
      for (const transaction of transactions) told.add(transaction)
      for (; next < after; next++) waiting.delete(next)
      goOn()
    },
  }
}
