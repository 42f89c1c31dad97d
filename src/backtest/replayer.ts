import { inShadow, type Pack } from '../domain/decide/pack.ts'
import { createSharedTally } from '../domain/decide/shared-window.ts'
import { type OpenEntry, openEntry } from '../engine/format/entry-codec.ts'
import { type PackBytes, readPackBytes } from '../rules/pack/bytes.ts'
import { finish } from '../rules/pack/step.ts'
import {
  type AccountReplay,
  type Compared,
  createAccountReplay,
  type PackComparison,
} from './account-replay.ts'
import { type BreakerSeconds, createSecondCounter, type RuleTrip } from './breaker-trip.ts'
import { createCounter } from './counter.ts'
import { joinedWith } from './counting.ts'
import type { Head } from './logged-answer.ts'
import { accountBeforeLog, type Snapshot } from './snapshot.ts'
import type { DecisionTally } from './tally.ts'

/** Packs travel to the thread as bytes: making them from these takes a tenth of compiling them. */
export interface ReplayerOptions extends Pick<PackComparison, 'counting' | 'fromMs' | 'toMs'> {
  readonly oldPack: PackBytes
  readonly newPack: PackBytes
  /** The rules of the new pack that its breakers trip, the first first. */
  readonly trips: readonly RuleTrip[]
  /** Rules of the old pack that look at windows over several cards, which are not exact to the ask. */
  readonly approximate: readonly string[]
}

/** What one thread has found. */
export interface Replayed {
  readonly tally: DecisionTally
  readonly seconds: BreakerSeconds
}

/** An account that is older than the log, with those of its cards that the log names. */
export interface CutAccount {
  readonly accountId: string
  readonly cardIds: readonly string[]
}

/** Replays the accounts of one thread. */
interface Replayer {
  addLines(lines: readonly string[]): void
  /** At the end of the log: the accounts that cannot be replayed without their snapshots. */
  cut(): CutAccount[]
  finish(snapshots: ReadonlyMap<string, Snapshot>): Replayed
}

export function createReplayer(options: ReplayerOptions): Replayer {
  const comparison = comparisonOf(options)
  const counter = createCounter()
  const { note, seconds } = createSecondCounter(comparison.newPack.breakers ?? [])
  const compare = (compared: Compared) => {
    counter.compare(compared)
    note(compared.entry.atMs, compared.next.step.answer.ruleId)
  }
  const accounts = new Map<string, AccountReplay>()
  const waiting = new Map<string, OpenEntry[]>()
  let entries = 0
  let firstMs = 0

  function addEntry(entry: OpenEntry): void {
    entries++
    if (firstMs === 0) firstMs = entry.head.atMs
    const { accountId, n } = entry.head
    // Events of unknown cards hold no money, and no rule looks at them.
    if (accountId === '') return
    const found = accounts.get(accountId)
    if (found !== undefined) found.replay(entry)
    else if (n === 0) {
      const replay = createAccountReplay(comparison, compare)
      accounts.set(accountId, replay)
      replay.replay(entry)
    } else {
      const kept = waiting.get(accountId)
      if (kept === undefined) waiting.set(accountId, [entry])
      else kept.push(entry)
    }
  }

  return {
    addLines(lines) {
      for (const line of lines) addEntry(openEntry(line))
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
        // Events older than the retention no longer count anywhere.
        const exactFromMs = kept[0]!.head.atMs + comparison.oldPack.retentionMs
        const account = accountBeforeLog(
          snapshot,
          kept.map(({ whole }) => whole()),
        )
        const replay = createAccountReplay(comparison, compare, { account, exactFromMs })
        for (const entry of kept) replay.replay(entry)
        accounts.set(accountId, replay)
        counter.tally.exactFromMs = Math.max(counter.tally.exactFromMs, exactFromMs)
      }
      for (const account of accounts.values())
        for (const one of account.changed()) counter.change(one)
      const { tally } = counter
      tally.entries = entries
      tally.firstMs = firstMs
      tally.accounts = accounts.size
      tally.cutAccounts = waiting.size
      return { tally, seconds }
    },
  }
}

function cardsIn({ cardId, transaction }: Head): string[] {
  return [cardId, transaction[0]].filter((id) => id !== '')
}

function comparisonOf({ oldPack, newPack, trips, ...rest }: ReplayerOptions): PackComparison {
  const [ofOld, ofNew] = [finish(readPackBytes(oldPack)), finish(readPackBytes(newPack))]
  const joined = rest.counting === 'windows'
  const old = counting(joined ? joinedWith(ofOld, ofNew) : ofOld)
  const pack = counting(joined ? joinedWith(ofNew, ofOld) : ofNew)
  return { oldPack: old, newPack: pack, newPackAt: trippedBy(pack, trips), ...rest }
}

/** The pack with counts of its own for its windows over several cards. */
function counting(pack: Pack): Pack {
  return pack.sharedWindows === undefined ? pack : { ...pack, shared: createSharedTally() }
}

function trippedBy(pack: Pack, trips: readonly RuleTrip[]): (atMs: number) => Pack {
  if (trips.length === 0) return () => pack
  const packs = trips.map((_, i) => {
    const ids = new Set(trips.slice(0, i + 1).map(({ ruleId }) => ruleId))
    return inShadow(pack, ids)
  })
  return (atMs) => packs[trips.findLastIndex((trip) => trip.atMs <= atMs)] ?? pack
}
