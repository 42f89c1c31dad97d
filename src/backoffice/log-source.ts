import type { CutAccount } from '../backtest/replay/replayer.ts'
import type { Snapshot } from '../backtest/replay/snapshot.ts'
import type { LogSource } from '../backtest/run.ts'
import { accountAggregate, cardKey } from '../engine/format/layout.ts'
import type { Store } from '../store/port.ts'
import { readBackup } from './backup-file.ts'

const linesPerRead = 1000

/** The log of a store, and the records of accounts that are older than it. */
export function storeSource(store: Store): LogSource {
  return {
    async *lines() {
      for (let after = ''; ; ) {
        const page = await store.readLog(after, linesPerRead)
        if (page.length === 0) return
        after = page.at(-1)!.cursor
        yield page.map(({ entry }) => entry)
      }
    },
    async snapshots(accounts) {
      const snapshots = new Map<string, Snapshot>()
      for (const { accountId, cardIds } of accounts) {
        const aggregate = accountAggregate(accountId)
        const [root, ...cards] = await store.load([
          { aggregate, group: '', id: '' },
          ...cardIds.map((id) => ({ aggregate, ...cardKey(id) })),
        ])
        if (root === undefined) continue
        const found = cards.flatMap((card) => (card === undefined ? [] : [card.value]))
        snapshots.set(accountId, { account: root.value, cards: found })
      }
      return snapshots
    },
  }
}

/** The same from a file that `arbiter backup` wrote. */
export function backupSource(file: string): LogSource {
  return {
    async *lines() {
      for await (const page of readBackup(file)) {
        const lines = page.flatMap((record) => (record.kind === 'log' ? [record.entry] : []))
        if (lines.length > 0) yield lines
      }
    },
    snapshots: (accounts) => snapshotsIn(file, accounts),
  }
}

/** Records come before the log in a backup, so the file is read once more for them. */
async function snapshotsIn(
  file: string,
  accounts: readonly CutAccount[],
): Promise<ReadonlyMap<string, Snapshot>> {
  const snapshots = new Map<string, { account: string; cards: string[] }>()
  if (accounts.length === 0) return snapshots
  const wanted = new Map(accounts.map(({ accountId }) => [accountAggregate(accountId), accountId]))
  const placeOf = (accountId: string) => {
    const place = snapshots.get(accountId) ?? { account: '', cards: [] }
    snapshots.set(accountId, place)
    return place
  }
  for await (const page of readBackup(file)) {
    for (const record of page) {
      if (record.kind !== 'root' && record.kind !== 'child') continue
      const accountId = wanted.get(record.aggregate)
      if (accountId === undefined) continue
      if (record.kind === 'root') placeOf(accountId).account = record.value
      else if (record.group === cardKey('').group) placeOf(accountId).cards.push(record.value)
    }
  }
  for (const [accountId, { account }] of snapshots) if (account === '') snapshots.delete(accountId)
  return snapshots
}
