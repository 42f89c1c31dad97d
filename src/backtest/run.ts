import { Worker } from 'node:worker_threads'
import { RecordUnreadable } from '../engine/format/row-codec.ts'
import { entryIn, LogTooLong, partOfLine } from '../engine/log-reading.ts'
import { programFolder } from '../installation.ts'
import { bytesOfPack } from '../rules/pack/bytes.ts'
import type { CompiledPack } from '../rules/pack/compiled-pack.ts'
import { firstTrips, type RuleTrip } from './breaker-trip.ts'
import { likenessOf, sharedRulesOf } from './counting.ts'
import {
  type CutAccount,
  createReplayer,
  type Replayed,
  type ReplayerOptions,
  type Waiting,
} from './replay/replayer.ts'
import type { Snapshot } from './replay/snapshot.ts'
import type { DecisionTally } from './tally.ts'
import { addTogether } from './tally-sum.ts'

export type ToReplayer =
  | { readonly type: 'lines'; readonly text: string }
  | { readonly type: 'end' }
  | { readonly type: 'snapshots'; readonly snapshots: ReadonlyMap<string, Snapshot> }

export type FromReplayer =
  | { readonly type: 'taken' }
  | { readonly type: 'cut'; readonly waiting: Waiting }
  | { readonly type: 'waited'; readonly lines: number }
  | { readonly type: 'done'; readonly replayed: Replayed }

/** Where the log is read from, and the records of accounts that are older than it. */
export interface LogSource {
  lines(): AsyncIterable<readonly string[]>
  snapshots(accounts: readonly CutAccount[]): Promise<ReadonlyMap<string, Snapshot>>
}

interface BacktestInput {
  readonly oldPack: CompiledPack
  readonly newPack: CompiledPack
  /** Asks from here on, and before `toMs`, are decided anew. */
  readonly fromMs: number
  readonly toMs: number
  readonly source: LogSource
  /** Accounts are split among so many threads; 0 replays in this one. */
  readonly threads: number
  /** Of each thread; fewer threads than were asked for share the memory of all. */
  readonly threadHeapMb?: number
  readonly onProgress?: (entries: number) => void
  /** After the log was read: how many entries are replayed of those that waited for records of older accounts. */
  readonly onWaited?: (entries: number, of: number) => void
  /** Ends the backtest early: it rejects with the reason, and no thread is left. */
  readonly signal?: AbortSignal
}

/** The replay of a longer log does not fit into memory. */
const maxEntries = 10_000_000
const linesPerMessage = 1000
const maxMessagesAhead = 8
const usualHeapMb = 4096
/** Decisions make many short-lived objects: a larger young generation collects them for less. */
const threadYoungMb = 128

/** Each time that a rule trips all that comes after it is replayed again. */
const maxTripRounds = 10

export async function runBacktest(options: BacktestInput): Promise<DecisionTally> {
  const { oldPack, newPack, fromMs, toMs } = options
  const replay = {
    approximate: sharedRulesOf(oldPack),
    oldPack: bytesOfPack(oldPack),
    newPack: bytesOfPack(newPack),
    counting: likenessOf(oldPack, newPack),
    fromMs,
    toMs,
  }
  const trips: RuleTrip[] = []
  let { counting } = replay
  for (let round = 0; ; round++) {
    const replayed = await replayOnce(options, { ...replay, counting, trips })
    if (counting === 'same' && replayed.some(({ untold }) => untold)) {
      counting = 'windows'
      continue
    }
    const seconds = replayed.map((part) => part.seconds)
    const fresh = round < maxTripRounds ? firstTrips(newPack.breakers ?? [], seconds, trips) : []
    if (fresh.length === 0) {
      return { ...addTogether(replayed.map(({ tally }) => tally)), trips }
    }
    trips.push(...fresh)
  }
}

async function replayOnce(
  options: BacktestInput,
  replay: ReplayerOptions,
): Promise<readonly Replayed[]> {
  const { threads, signal } = options
  signal?.throwIfAborted()
  const count = threadsFor(options)
  const heapMb = Math.floor(((options.threadHeapMb ?? usualHeapMb) * threads) / count)
  const parts = threads === 0 ? [startHere(replay)] : startThreads(count, heapMb, replay)
  try {
    const replayed = replayAll(options, parts)
    return await (signal === undefined ? replayed : Promise.race([replayed, aborted(signal)]))
  } catch (error) {
    if (!signal?.aborted && !(error instanceof LogTooLong)) await nameUnreadable(options.source)
    throw error
  } finally {
    await Promise.all(parts.map((part) => part.stop()))
  }
}

/**
 * Windows over several cards count all accounts, in the order of the log. A thread for each pack would not be
 * faster: both would read and book everything, at 1.8 times the processor time of one thread.
 */
function threadsFor({ threads, oldPack, newPack }: BacktestInput): number {
  const shared = [oldPack, newPack].some(({ sharedWindows }) => sharedWindows !== undefined)
  return shared ? 1 : threads
}

async function replayAll(
  options: BacktestInput,
  parts: readonly ReplayPart[],
): Promise<readonly Replayed[]> {
  const { source, onProgress = () => {} } = options
  let entries = 0
  for await (const page of source.lines()) {
    entries += page.length
    if (entries > maxEntries) throw new LogTooLong(`the log has more than ${maxEntries} entries`)
    for (const line of page) parts[partOfLine(line, parts.length)]!.add(line)
    for (const part of parts) await part.room()
    onProgress(entries)
  }
  const waiting = await Promise.all(parts.map((part) => part.end()))
  const snapshots = await source.snapshots(waiting.flatMap(({ accounts }) => accounts))
  const all = waiting.reduce((sum, { lines }) => sum + lines, 0)
  let replayed = 0
  const onReplayed = (lines: number) => {
    replayed += lines
    options.onWaited?.(replayed, all)
  }
  return Promise.all(parts.map((part) => part.finish(snapshots, onReplayed)))
}

/** Throws with the first line that cannot be read, if it was one that ended the backtest. */
async function nameUnreadable(source: LogSource): Promise<void> {
  let number = 0
  for await (const page of source.lines()) {
    for (const entry of page) {
      number++
      if (entryIn({ entry }) !== null) continue
      throw new RecordUnreadable(`it is line ${number} of the log`)
    }
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

/** Replays a part of the accounts, in a thread of its own or in this one. */
interface ReplayPart {
  add(line: string): void
  /** Resolves when more may be added. */
  room(): Promise<void>
  end(): Promise<Waiting>
  finish(
    snapshots: ReadonlyMap<string, Snapshot>,
    onReplayed: (lines: number) => void,
  ): Promise<Replayed>
  stop(): Promise<void>
}

function startHere(options: ReplayerOptions): ReplayPart {
  const replayer = createReplayer(options)
  return {
    add: (line) => replayer.addLines([line]),
    room: async () => {},
    end: async () => replayer.cut(),
    finish: async (snapshots, onReplayed) => replayer.finish(snapshots, onReplayed),
    stop: async () => {},
  }
}

function startThreads(count: number, heapMb: number, options: ReplayerOptions): ReplayPart[] {
  return Array.from({ length: count }, () => startThread(heapMb, options))
}

/** Each account that the log names is kept twice, as both packs leave it. */
function faultOf(error: NodeJS.ErrnoException, heapMb: number): Error {
  if (error.code !== 'ERR_WORKER_OUT_OF_MEMORY') return error
  return new LogTooLong(
    `the accounts of the log do not fit into the ${heapMb} MB of a thread`,
    'take more --threads',
  )
}

function startThread(heapMb: number, options: ReplayerOptions): ReplayPart {
  const worker = new Worker(new URL('backtest/worker.js', programFolder), {
    workerData: options,
    resourceLimits: {
      maxOldGenerationSizeMb: heapMb,
      maxYoungGenerationSizeMb: threadYoungMb,
    },
  })
  const inbox: FromReplayer[] = []
  let lines: string[] = []
  let ahead = 0
  let wake = () => {}
  let onWaited = (_lines: number) => {}
  let failed: Error | null = null
  worker.on('message', (message: FromReplayer) => {
    if (message.type === 'taken') ahead--
    else if (message.type === 'waited') onWaited(message.lines)
    else inbox.push(message)
    wake()
  })
  worker.on('error', (error) => {
    failed = faultOf(error as NodeJS.ErrnoException, heapMb)
    wake()
  })

  async function until(isSo: () => boolean): Promise<void> {
    for (;;) {
      if (failed !== null) throw failed
      if (isSo()) return
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }

  function flush(): void {
    if (lines.length === 0) return
    worker.postMessage({ type: 'lines', text: lines.join('\n') } satisfies ToReplayer)
    lines = []
    ahead++
  }

  async function received<T extends FromReplayer['type']>(
    type: T,
  ): Promise<Extract<FromReplayer, { type: T }>> {
    await until(() => inbox.length > 0)
    const message = inbox.shift()!
    if (message.type !== type) throw new Error(`a thread of the backtest sent ${message.type}`)
    return message as Extract<FromReplayer, { type: T }>
  }

  return {
    add(line) {
      lines.push(line)
      if (lines.length >= linesPerMessage) flush()
    },
    room: () => until(() => ahead < maxMessagesAhead),
    async end() {
      flush()
      worker.postMessage({ type: 'end' } satisfies ToReplayer)
      return (await received('cut')).waiting
    },
    async finish(snapshots, onReplayed) {
      onWaited = onReplayed
      worker.postMessage({ type: 'snapshots', snapshots } satisfies ToReplayer)
      return (await received('done')).replayed
    },
    async stop() {
      await worker.terminate()
    },
  }
}
