import { randomBytes } from 'node:crypto'
import { dayMs } from '../../clock.ts'
import { refusingPassed } from '../dated-group.ts'
import { failureText } from '../failure-text.ts'
import {
  type Command,
  type IndexEntry,
  type Key,
  type Loaded,
  type LogLine,
  type Outcome,
  type OwnedRecord,
  type Store,
  StoreError,
  StoreRefused,
} from '../port.ts'
import { decodeTreeRoot, type EntryNaming, foresee, queueWrite, toWrites } from './commands.ts'
import { scanTree, toPut } from './copy.ts'
import { newestMicrosIn } from './database.ts'
import { createDiskWait } from './disk-wait.ts'
import { markFilled, prepareFolder } from './folder.ts'
import {
  childKey,
  expiredRange,
  hashToken,
  indexRange,
  type KeyRange,
  logLineOf,
  logRange,
  logRangeBefore,
  logRangeUpTo,
  prefixRange,
  rootKey,
  sortKeyOf,
  versionHash,
} from './keys.ts'
import { openFolder } from './opening.ts'
import { refuseUnlessRoom } from './room.ts'
import { fileOf, watchWhereabouts } from './whereabouts.ts'

export interface LmdbStoreOptions {
  /** Made when it is missing. Must lie on a local disk: LMDB shares memory and locks through it. */
  readonly folder: string
  /** Wall clock: it dates the log. */
  readonly nowMs: () => number
  /** A commit that takes longer rejects as unknown: a disk that hangs must not hang the caller. */
  readonly commitTimeoutMs?: number
  /** The file that an earlier opening had (`Store.file`): no other is taken, and none is made. */
  readonly expectedFile?: string
  /** The files are no longer in place, or are again (''). */
  readonly onWarning?: (message: string) => void
  /** What the disk of a folder has left; tests say otherwise. */
  readonly freeBytes?: (folder: string) => number
}

const defaultCommitTimeoutMs = 5_000
const whereaboutsMs = 500

/** Rejects with StoreRefused when the folder must not be opened. */
export async function openLmdbStore(options: LmdbStoreOptions): Promise<Store> {
  const { folder, nowMs, commitTimeoutMs = defaultCommitTimeoutMs, expectedFile = '' } = options
  if (expectedFile !== '' && fileOf(folder) !== expectedFile) {
    throw new StoreRefused(
      `${folder} was removed or replaced while it was in use. Put it back, or stop the server, restore ` +
        'the whole folder from a backup, and start again.',
    )
  }
  const { db, peers } = await openFolder(folder, options.onWarning)

  let isClosed = false
  let onProblem: (problem: string) => void = ignore
  const whereabouts = watchWhereabouts({
    folder,
    intervalMs: whereaboutsMs,
    onChange(problem) {
      onProblem(problem)
      options.onWarning?.(problem === '' ? `${folder} is in place again` : problem)
    },
  })
  const disk = createDiskWait({ folder, timeoutMs: commitTimeoutMs, check: refuseUnlessInPlace })
  // Entries are dated after the newest one at the start and after every root that was loaded, because the
  // clock may have been set back, and another process's clock may be ahead.
  let lastLogMicros = newestMicrosIn(db)
  const clock: EntryNaming = {
    // Two writers may log in the same microsecond: their nonces keep the keys apart.
    nonce: randomBytes(6).toString('base64url'),
    nextMicros() {
      lastLogMicros = Math.max(lastLogMicros + 1, Math.floor(nowMs() * 1_000))
      return lastLogMicros
    },
    lastMicros: () => lastLogMicros,
  }

  async function commit(commands: readonly Command[]): Promise<Outcome[]> {
    while (peers.isOpening()) await peers.untilOpened()
    refuseUnlessWritable()
    const writes = toWrites(commands, clock)
    const foreseen = read(() => writes.map((write) => foresee(db, write)))
    // Nothing below may refuse: what is queued will be executed, so a throw would leave half a call.
    const queued = writes.filter((_, i) => foreseen[i] === undefined)
    const answers = await written(queued.map((write) => queueWrite(db, write)))
    let answered = 0
    return foreseen.map((outcome) => outcome ?? (answers[answered++] ? 'committed' : 'conflict'))
  }

  async function trial(): Promise<void> {
    while (peers.isOpening()) await peers.untilOpened()
    refuseUnlessWritable()
    await disk.trial()
  }

  async function load(keys: readonly Key[]): Promise<(Loaded | undefined)[]> {
    return read(() =>
      keys.map((key) => {
        if (key.group === '' && key.id === '') return loadRoot(key)
        const value = db.get(childKey(key.aggregate, key))
        return value === undefined ? undefined : { value, version: '' }
      }),
    )
  }

  function loadRoot(key: Key): Loaded | undefined {
    const found = db.getEntry(childKey(key.aggregate, key))
    if (found === undefined) return undefined
    const { version, logMicros, value } = decodeTreeRoot(found.value)
    // A writer loads an aggregate before it changes it, so the log keeps the order of its commits. A time after the
    // newest entry is a damage, and all that is logged would follow it there.
    if (logMicros > lastLogMicros) {
      lastLogMicros = Math.max(lastLogMicros, Math.min(logMicros, newestMicrosIn(db)))
    }
    const hash = found.version ?? 0
    // A damaged text must not keep anybody from writing the root anew.
    return { value, version: versionHash(version) === hash ? version : hashToken(hash) }
  }

  function hasVersion(aggregate: string, version: string): boolean {
    try {
      return read(() => db.doesExist(rootKey(aggregate), versionHash(version)))
    } catch {
      // The commit will say what is wrong.
      return true
    }
  }

  async function range(index: string, after: string, limit: number): Promise<IndexEntry[]> {
    return read(() =>
      entriesIn(indexRange(index, after), limit).map(({ key, value }) => ({
        sortKey: sortKeyOf(key, index),
        value,
      })),
    )
  }

  async function count(index: string, prefix: string): Promise<number> {
    return read(() => db.getKeysCount(prefixRange(index, prefix)))
  }

  async function readLog(after: string, limit: number): Promise<LogLine[]> {
    return read(() => entriesIn(logRange(after), limit).map(logLineOf))
  }

  async function countLog(after: string, last: string): Promise<number> {
    const { start } = logRange(after)
    return read(() => db.getKeysCount({ start, end: logRange(last).start }))
  }

  async function tailLog(limit: number, before = ''): Promise<LogLine[]> {
    return read(() => readTail(limit, before))
  }

  async function sweep(sweptAtMs: number, logBeforeMs: number, limit: number): Promise<number> {
    // A process that was killed while it read would keep the pages of its snapshot from being used again.
    read(() => db.readerCheck())
    while (peers.isOpening()) await peers.untilOpened()
    refuseUnlessWritable()
    const keys = read(() => [
      ...keysIn(expiredRange(Math.floor(sweptAtMs / dayMs)), limit),
      ...keysIn(logRangeBefore(logBeforeMs * 1_000), limit),
    ])
    await written(keys.map((key) => db.remove(key)))
    return keys.length
  }

  async function fill(records: readonly OwnedRecord[]): Promise<void> {
    while (peers.isOpening()) await peers.untilOpened()
    refuseUnlessWritable()
    const puts = records.map((record) => toPut(record, clock.nonce, logMicrosAt))
    await written(
      puts.map(({ key, value, version }) =>
        version === null ? db.put(key, value) : db.put(key, value, versionHash(version)),
      ),
    )
  }

  function logMicrosAt(micros: number): number {
    lastLogMicros = Math.max(lastLogMicros + 1, micros)
    return lastLogMicros
  }

  async function snapshot(into: string): Promise<void> {
    refuseUnlessUsable()
    await prepareFolder(into)
    try {
      // Compacting, it leaves out free pages, and holds up no writer: it only reads, at one snapshot.
      await db.backup(into, true)
    } catch (cause) {
      throw new StoreRefused(
        `${into} cannot be written (${failureText(cause)}): free some space, or name another place`,
        { cause },
      )
    }
    await markFilled(into)
  }

  async function close(): Promise<void> {
    if (isClosed) return
    isClosed = true
    whereabouts.stop()
    await db.close()
    await peers.leave()
  }

  /** The file is looked for before a commit is confirmed: what was written to a deleted file is lost. */
  function refuseUnlessInPlace(): void {
    if (!whereabouts.isInPlace()) throw new Error(whereabouts.problem)
  }

  function refuseUnlessUsable(): void {
    if (isClosed) throw new StoreError('the store is closed', 'no')
    if (whereabouts.problem !== '') throw new StoreError(whereabouts.problem, 'no')
  }

  function refuseUnlessWritable(): void {
    refuseUnlessUsable()
    disk.refuseWhileLate()
    refuseUnlessRoom(folder, options.freeBytes)
  }

  /** Everything read in one turn is of one snapshot: the newest, also of what others committed. */
  function read<T>(reads: () => T): T {
    refuseUnlessUsable()
    try {
      // lmdb-js keeps a snapshot until its timer fires, so a busy turn would read an old one.
      db.resetReadTxn()
      return reads()
    } catch (cause) {
      throw new StoreError(`the store cannot be read: ${failureText(cause)}`, 'no', { cause })
    }
  }

  function readTail(limit: number, before: string): LogLine[] {
    const { start, end } = logRangeUpTo(before)
    // Backwards, a range runs from its start, not included, down to its end.
    const backwards = { start: end, end: start, reverse: true, exclusiveStart: true }
    return limit < 1 ? [] : [...db.getRange({ ...backwards, limit })].map(logLineOf).reverse()
  }

  // lmdb-js takes a limit of 0 for no limit.
  function entriesIn(keys: KeyRange, limit: number): { key: string; value: string }[] {
    return limit < 1 ? [] : [...db.getRange({ ...keys, limit })]
  }

  function keysIn(keys: KeyRange, limit: number): string[] {
    return limit < 1 ? [] : [...db.getKeys({ ...keys, limit })]
  }

  function written(answers: readonly Promise<boolean>[]): Promise<boolean[]> {
    // lmdb-js makes a promise for the turn as a whole when the turn ends, and hands it to nobody: if the
    // transaction failed, its rejection would end the process.
    setImmediate(() => db.committed.then(ignore, ignore))
    // Also what is waited for no longer.
    peers.noteWrites(answers)
    return disk.untilWritten(answers)
  }

  return {
    file: whereabouts.file,
    commit: refusingPassed(commit, nowMs),
    trial,
    load,
    hasVersion,
    range,
    count,
    readLog,
    countLog,
    tailLog,
    sweep,
    scan: () =>
      scanTree(Math.floor(nowMs() / dayMs), (keys, limit) => read(() => entriesIn(keys, limit))),
    snapshot,
    fill,
    onProblem(listener) {
      onProblem = listener
    },
    close,
  }
}

function ignore(): void {}
