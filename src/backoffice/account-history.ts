import { createReplayedAccount, type ReplayedAccount } from '../backtest/replay/replayed-account.ts'
import { accountBeforeLog } from '../backtest/replay/snapshot.ts'
import type { Entry } from '../domain/ledger/entry.ts'
import { entryIn } from '../engine/log-reading.ts'
import type { LogLine, Store } from '../store/port.ts'
import { createFilter, type FoundEntry, type PageBounds, searchPage } from './log-search.ts'
import { storeSource } from './log-source.ts'

/** An account as it was before one of its entries. */
export interface AccountHistory {
  /** All entries of the account that were found, oldest first, also those after the target. */
  readonly entries: readonly Entry[]
  /** The account before the first of these entries. */
  readonly start: () => ReplayedAccount
  /** False when earlier entries were not reached: windows then begin empty. */
  readonly isWhole: boolean
}

/** The line at a cursor; null when the log no longer has it. */
async function lineAt(store: Store, cursor: string): Promise<LogLine | null> {
  const [before] = await store.tailLog(1, cursor)
  const lines = await store.readLog(before?.cursor ?? '', 20)
  return lines.find((line) => line.cursor === cursor) ?? null
}

export async function entryAt(store: Store, cursor: string): Promise<Entry | null> {
  const line = await lineAt(store, cursor)
  return line === null ? null : entryIn(line)
}

const linesPerRead = 1000
const maxEntries = 20_000

/**
 * Collects the entries of an account around a cursor, as far as the bounds go. Null when those after it
 * are too many to be read: then nobody can tell what the records were.
 */
export async function readAccountHistory(
  store: Store,
  accountId: string,
  { cursor, n }: { readonly cursor: string; readonly n: number },
  bounds: Omit<PageBounds, 'limit' | 'sinceMs'>,
): Promise<AccountHistory | null> {
  const filter = createFilter({ account: accountId })
  const page = { ...bounds, limit: Math.min(n, maxEntries), sinceMs: 0 }
  const { found } = n === 0 ? { found: [] } : await searchPage(store, filter, cursor, page)
  const earlier = found.toReversed().map(({ entry }) => entry)
  const line = await lineAt(store, cursor)
  if (line === null) return null
  const target = filter(line)
  if (target === null) return null
  const isWhole = (earlier[0] ?? target.entry).n === 0
  const upToTarget = [...earlier, target.entry]
  if (isWhole) return { entries: upToTarget, start: () => createReplayedAccount(), isWhole }
  const later = await readLater(store, filter, cursor, bounds)
  if (later === null) return null
  const entries = [...upToTarget, ...later]
  const cardIds = [...new Set(entries.map(({ cardId }) => cardId).filter((id) => id !== ''))]
  const snapshots = await storeSource(store).snapshots([{ accountId, cardIds }])
  const snapshot = snapshots.get(accountId)
  if (snapshot === undefined) return null
  return { entries, start: () => accountBeforeLog(snapshot, entries), isWhole }
}

/** Null when the end of the log was not reached. */
async function readLater(
  store: Store,
  filter: (line: LogLine) => FoundEntry | null,
  cursor: string,
  { maxLooked, mayGoOn }: Pick<PageBounds, 'maxLooked' | 'mayGoOn'>,
): Promise<Entry[] | null> {
  const entries: Entry[] = []
  let after = cursor
  for (let looked = 0; looked < maxLooked && mayGoOn(); looked += linesPerRead) {
    const lines = await store.readLog(after, linesPerRead)
    for (const line of lines) {
      const found = filter(line)
      if (found !== null) entries.push(found.entry)
    }
    if (lines.length < linesPerRead) return entries
    after = lines.at(-1)!.cursor
  }
  return null
}

/** The account as it was before the entry of this number. */
export function accountBefore(history: AccountHistory, n: number): ReplayedAccount {
  const account = history.start()
  for (const entry of history.entries) {
    if (entry.n >= n) break
    account.follow(entry)
  }
  return account
}
