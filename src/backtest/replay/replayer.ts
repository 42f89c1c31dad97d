import { inShadow, type Pack } from '../../domain/decide/pack.ts'
import { createSharedTally } from '../../domain/decide/shared-window.ts'
import { openEntry } from '../../engine/format/entry-codec.ts'
import { decodedLines } from '../../engine/log-reading.ts'
import { type PackBytes, readPackBytes } from '../../rules/pack/bytes.ts'
import { finish } from '../../rules/pack/step.ts'
import { type BreakerSeconds, createSecondCounter, type RuleTrip } from '../breaker-trip.ts'
import { createCounter } from '../counter.ts'
import { joinedWith } from '../counting.ts'
import type { DecisionTally } from '../tally.ts'
import {
  type AccountReplay,
  type AccountStart,
  type Compared,
  createAccountReplay,
  type PackComparison,
} from './account-replay.ts'
import type { Head } from './logged-answer.ts'
import { accountBeforeLog, type Snapshot } from './snapshot.ts'

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
  /** An account of the new pack lacks what a server told from the log: each book must count for itself. */
  readonly untold: boolean
}

/** An account that is older than the log, with those of its cards that the log names. */
export interface CutAccount {
  readonly accountId: string
  readonly cardIds: readonly string[]
}

/** What the log has of such an account, until its records are known. */
interface CutLines {
  readonly cardIds: Set<string>
  readonly lines: string[]
}

/** Replays the accounts of one thread. */
interface Replayer {
  addLines(lines: readonly string[]): void
  /** At the end of the log: the accounts that cannot be replayed without their snapshots. */
  cut(): Waiting
  /** Tells now and then how many lines it has replayed since. */
  finish(snapshots: ReadonlyMap<string, Snapshot>, onReplayed: (lines: number) => void): Replayed
}

/** What a thread has not replayed yet when the log ends. */
export interface Waiting {
  readonly accounts: readonly CutAccount[]
  readonly lines: number
}

const linesPerWord = 200

export function createReplayer(options: ReplayerOptions): Replayer {
  const comparison = comparisonOf(options)
  const counter = createCounter()
  const { note, seconds } = createSecondCounter(comparison.newPack.breakers ?? [])
  const compare = (compared: Compared) => {
    counter.compare(compared)
    note(compared.entry.atMs, compared.next.step.answer.ruleId)
  }
  const accounts = new Map<string, AccountReplay>()
  const cut = new Map<string, CutLines>()
  /** Lines for which what came before them is not known yet. */
  const waiting: string[] = []
  const { oldPack, newPack } = comparison
  // Windows over several cards count all accounts in the order of the log.
  const inOrder = oldPack.shared !== undefined || newPack.shared !== undefined
  let entries = 0
  let firstMs = 0

  function addLine(line: string): void {
    const entry = openEntry(line)
    const { accountId, n, atMs } = entry.head
    entries++
    if (firstMs === 0) firstMs = atMs
    // Events of unknown cards hold no money, and no rule looks at them.
    if (accountId === '') return
    if (n === 0 && !accounts.has(accountId) && !cut.has(accountId)) begin(accountId)
    const found = accounts.get(accountId)
    if (found === undefined) addCut(entry.head, line)
    if (found === undefined || (inOrder && waiting.length > 0)) waiting.push(line)
    else found.replay(entry)
  }

  function begin(accountId: string, start?: AccountStart): void {
    accounts.set(accountId, createAccountReplay(comparison, compare, start))
  }

  function addCut(head: Head, line: string): void {
    const { accountId, cardId, transaction } = head
    const found = cut.get(accountId) ?? { cardIds: new Set(), lines: [] }
    for (const id of [cardId, transaction[0]]) if (id !== '') found.cardIds.add(id)
    found.lines.push(line)
    cut.set(accountId, found)
  }

  function beginCut(accountId: string, { lines }: CutLines, snapshot: Snapshot): void {
    // Events older than the retention no longer count anywhere.
    const exactFromMs = openEntry(lines[0]!).head.atMs + oldPack.retentionMs
    begin(accountId, { account: accountBeforeLog(snapshot, decodedLines(lines)), exactFromMs })
    counter.tally.exactFromMs = Math.max(counter.tally.exactFromMs, exactFromMs)
  }

  return {
    addLines(lines) {
      for (const line of lines) addLine(line)
    },
    cut: () => ({
      accounts: Array.from(cut, ([accountId, { cardIds }]) => {
        return { accountId, cardIds: [...cardIds] }
      }),
      lines: waiting.length,
    }),
    finish(snapshots, onReplayed) {
      for (const [accountId, lines] of cut) {
        const snapshot = snapshots.get(accountId)
        if (snapshot !== undefined) beginCut(accountId, lines, snapshot)
      }
      for (const [i, line] of waiting.entries()) {
        const entry = openEntry(line)
        accounts.get(entry.head.accountId)?.replay(entry)
        if (i % linesPerWord === linesPerWord - 1) onReplayed(linesPerWord)
      }
      for (const account of accounts.values())
        for (const one of account.changed()) counter.change(one)
      const { tally } = counter
      tally.entries = entries
      tally.firstMs = firstMs
      tally.accounts = accounts.size
      tally.cutAccounts = cut.size
      const untold = [...accounts.values()].some((account) => account.untold())
      return { tally, seconds, untold }
    },
  }
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
