import { createReplayedAccount, type ReplayedAccount } from '../backtest/replay/replayed-account.ts'
import { accountBeforeLog } from '../backtest/replay/snapshot.ts'
import type { Entry } from '../domain/ledger/entry.ts'
import type { Store } from '../store/port.ts'
import { createFilter, searchBack } from './log-search.ts'
import { storeSource } from './log-source.ts'

/** The entry of the first delivery; later deliveries got the same answer. */
export async function findDecision(
  store: Store,
  event: string,
  card: string | undefined,
): Promise<Entry | null> {
  const filter = createFilter({ event, ...(card === undefined ? {} : { card }) })
  const { found } = await searchBack(store, filter, 100)
  const decisions = found.filter(
    ({ entry }) =>
      (entry.kind === 'event' || entry.kind === 'said') &&
      entry.event?.eventId === event &&
      entry.changes.some(({ type }) => type === 'recorded'),
  )
  return decisions[0]?.entry ?? null
}

/** An account as the log tells it, from its first entry on. */
export interface PastAccount {
  readonly entries: readonly Entry[]
  /** As it was before the first of the entries. */
  readonly start: ReplayedAccount
  /** False for an account older than the log, whose windows begin empty. */
  readonly whole: boolean
}

export async function readPastAccount(
  store: Store,
  accountId: string,
): Promise<PastAccount | null> {
  const entries = await entriesOf(accountId, store)
  if (entries[0]?.n === 0) return { entries, start: createReplayedAccount(), whole: true }
  const cardIds = [...new Set(entries.map(({ cardId }) => cardId).filter((id) => id !== ''))]
  const snapshot = (await storeSource(store).snapshots([{ accountId, cardIds }])).get(accountId)
  if (snapshot === undefined) return null
  return { entries, start: accountBeforeLog(snapshot, entries), whole: false }
}

async function entriesOf(accountId: string, store: Store): Promise<Entry[]> {
  const filter = createFilter({ account: accountId })
  const entries: Entry[] = []
  for await (const page of storeSource(store).lines()) {
    for (const line of page) {
      const found = filter({ cursor: '', entry: line })
      if (found !== null) entries.push(found.entry)
    }
  }
  return entries
}
