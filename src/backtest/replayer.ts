import { type OpenEntry, openEntry } from '../engine/format/entry-codec.ts'
import { type PackBytes, readPackBytes } from '../rules/pack/bytes.ts'
import { finish } from '../rules/pack/step.ts'
import {
  type AccountReplay,
  type Comparison,
  createAccountReplay,
  type Head,
  listenTo,
} from './account-replay.ts'
import { laneOfSnapshot, type Snapshot } from './snapshot.ts'
import { createCounter, type DecisionTally } from './tally.ts'

/** For another thread: checked packs are made again from their bytes in a tenth of the time. */
export interface ReplayOptions extends Omit<Comparison, 'old' | 'newPack'> {
  readonly oldPack: PackBytes
  readonly newPack: PackBytes
}

/** An account that is older than the log, and the cards that the log names of it. */
export interface CutAccount {
  readonly accountId: string
  readonly cardIds: readonly string[]
}

/** Replays the accounts of one thread. */
export interface Replayer {
  take(lines: readonly string[]): void
  /** At the end of the log: whose records are needed to go on. */
  cut(): CutAccount[]
  finish(snapshots: ReadonlyMap<string, Snapshot>): DecisionTally
}

export function createReplayer(options: ReplayOptions): Replayer {
  const comparison = comparisonOf(options)
  const counter = createCounter()
  const accounts = new Map<string, AccountReplay>()
  const waiting = new Map<string, OpenEntry[]>()
  let entries = 0

  function takeEntry(entry: OpenEntry): void {
    entries++
    const { accountId, n } = entry.head
    // Events of unknown cards hold no money, and no rule looks at them.
    if (accountId === '') return
    const found = accounts.get(accountId)
    if (found !== undefined) found.take(entry)
    else if (n === 0) {
      const account = createAccountReplay(comparison, counter.compare)
      accounts.set(accountId, account)
      account.take(entry)
    } else {
      const kept = waiting.get(accountId)
      if (kept === undefined) waiting.set(accountId, [entry])
      else kept.push(entry)
    }
  }

  return {
    take(lines) {
      for (const line of lines) takeEntry(openEntry(line))
    },
    cut: () =>
      Array.from(waiting, ([accountId, kept]) => ({
        accountId,
        cardIds: [...new Set(kept.flatMap(({ head }) => cardsIn(head)))],
      })),
    finish(snapshots) {
      for (const [accountId, kept] of waiting) {
        const snapshot = snapshots.get(accountId)
        if (snapshot === undefined) continue
        // What is older than the retention is no longer looked at by anybody.
        const exactFromMs = kept[0]!.head.atMs + comparison.old.pack.retentionMs
        const lane = laneOfSnapshot(
          snapshot,
          kept.map(({ whole }) => whole()),
        )
        const account = createAccountReplay(comparison, counter.compare, { lane, exactFromMs })
        for (const entry of kept) account.take(entry)
        accounts.set(accountId, account)
        counter.tally.exactFromMs = Math.max(counter.tally.exactFromMs, exactFromMs)
      }
      for (const account of accounts.values())
        for (const one of account.changed()) counter.change(one)
      const { tally } = counter
      tally.entries = entries
      tally.accounts = accounts.size
      tally.cutAccounts = waiting.size
      return tally
    },
  }
}

function cardsIn({ cardId, transaction }: Head): string[] {
  return [cardId, transaction[0]].filter((id) => id !== '')
}

function comparisonOf({ oldPack, newPack, ...rest }: ReplayOptions): Comparison {
  const old = listenTo(finish(readPackBytes(oldPack)))
  return { old, newPack: finish(readPackBytes(newPack)), ...rest }
}
