import * as nodeFs from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder } from '../../make-folder.ts'
import {
  diskError,
  isJournalProblem,
  JournalError,
  type JournalProblem,
  unusable,
} from './error.ts'
import {
  checkInPlace,
  type FoundJournal,
  type JournalFs,
  journalName,
  type OpenedFile,
  openFile,
} from './file.ts'
import { type FolderLock, lockFolder } from './folder-lock.ts'
import { watchPlace } from './place.ts'
import { encodeDrop, type JournalLine, maxPayloadBytes } from './record.ts'
import { createTail } from './tail.ts'
import { createWaitingLine, type WaitingLine } from './waiting-line.ts'

export interface Journal {
  /**
   * Resolves when the line is on the disk. Rejects with a JournalError; then the line must not be
   * counted on, and will not be replayed unless we crash before its remains are removed.
   * A later line of the same slot takes the place of the earlier one. Who can wait longer, or not so long, says so.
   */
  append(line: JournalLine, withinMs?: number): Promise<void>
  /** Booked: never replay it. Written later and not flushed, because a replay changes nothing. */
  drop(slot: string): void
  /** What must be replayed: on the disk and not dropped, oldest first. */
  pending(): readonly JournalLine[]
  readonly lengthBytes: number
  /** What became of the file that was opened, as it was looked for last; '' while it is in its place. */
  readonly whereabouts: string
  /** What opening found, for the log. */
  readonly opening: Opening
  close(): Promise<void>
}

interface Opening extends FoundJournal {
  /** Why no lock could be taken, '' when it was. */
  readonly lockProblem: string
}

export interface JournalOptions {
  readonly folder: string
  /** An append that is not on the disk by then rejects, unless its writer says another time. */
  readonly flushTimeoutMs?: number
  /** Of the file. Pending lines may take half: the rest is for dropped ones, see `Tail`. */
  readonly maxBytes?: number
  readonly fs?: JournalFs
  /** Also when nothing is written, a file that is gone is noticed within this time. */
  readonly lookMs?: number
  /** The file is no longer in its place, or is again (''). */
  readonly onWhereabouts?: (problem: string) => void
}

const dropDelayMs = 200

export async function openJournal(options: JournalOptions): Promise<Journal | JournalProblem> {
  const { folder, fs = nodeFs } = options
  try {
    await makeFolder(folder, 0o700)
  } catch (error) {
    return unusable(error)
  }
  const lock = await lockFolder(folder)
  if (lock === 'locked') {
    return {
      problem: 'locked',
      message: `another process uses the journal in ${folder}, or left a gate-*.lock there that this user may not read: give each instance its own DATA_DIR, or the folder to this user`,
    }
  }
  const opened = await openFile(fs, folder, join(folder, journalName)).catch(unusable)
  if (!isJournalProblem(opened)) return createJournal(opened, lock, { ...options, fs })
  await lock.release()
  return opened
}

function createJournal(
  opened: OpenedFile,
  lock: FolderLock,
  options: JournalOptions & { readonly fs: JournalFs },
): Journal {
  const { fs, folder, flushTimeoutMs = 100, maxBytes = 64 * 1024 * 1024, lookMs = 500 } = options
  const path = join(folder, journalName)
  const { kept } = opened
  let keptBytes = 0
  for (const entry of kept.values()) keptBytes += entry.record.length
  const waiting = new Set<WaitingLine>()
  /** The entries of a slot that are waiting or in the running flush. */
  const unflushed = new Map<string, Set<WaitingLine>>()
  let unflushedBytes = 0
  let drops = new Set<string>()
  let unsyncedDrops: string[] = []
  let dropTimer: NodeJS.Timeout | undefined
  let running: Promise<void> | null = null
  const place = watchPlace({
    check: () => checkInPlace(fs, tail.file, path),
    lookMs,
    isBusy: () => running !== null,
    onChange: (problem) => options.onWhereabouts?.(problem),
  })
  const tail = createTail(opened, {
    fs,
    folder,
    path,
    maxBytes,
    kept,
    keptBytes: () => keptBytes,
    look: place.look,
  })
  let closing: Promise<void> | null = null

  function append(line: JournalLine, withinMs = flushTimeoutMs): Promise<void> {
    if (closing !== null)
      return Promise.reject(new JournalError('closed', '', 'the journal is closed'))
    const entry = createWaitingLine(line, withinMs, giveUp)
    const { length } = entry.record
    if (length > maxPayloadBytes || keptBytes + unflushedBytes + length > maxBytes / 2) {
      entry.answer(new JournalError('full', '', 'too much is pending in the journal'))
      return entry.written
    }
    waiting.add(entry)
    unflushed.set(line.slot, unflushed.get(line.slot)?.add(entry) ?? new Set([entry]))
    unflushedBytes += length
    wake()
    return entry.written
  }

  function giveUp(entry: WaitingLine): void {
    if (waiting.delete(entry)) forget(entry)
    // It is in the running flush and may get to the disk after all: then it is dropped again.
    else entry.dropped = true
    entry.answer(new JournalError('timeout', '', 'the journal was not flushed in time'))
  }

  function forget(entry: WaitingLine): void {
    unflushedBytes -= entry.record.length
    const { slot } = entry.line
    const others = unflushed.get(slot)
    others?.delete(entry)
    if (others?.size === 0) unflushed.delete(slot)
  }

  function drop(slot: string): void {
    // All of them: the newest may fail, and an earlier one get to the disk.
    for (const entry of unflushed.get(slot) ?? []) entry.dropped = true
    if (!unkeep(slot)) return
    drops.add(slot)
    scheduleDrops()
  }

  function unkeep(slot: string): boolean {
    const entry = kept.get(slot)
    if (entry === undefined) return false
    keptBytes -= entry.record.length
    return kept.delete(slot)
  }

  function scheduleDrops(): void {
    if (running !== null || dropTimer !== undefined || closing !== null) return
    dropTimer = setTimeout(() => {
      dropTimer = undefined
      wake()
    }, dropDelayMs)
    dropTimer.unref()
  }

  function wake(): void {
    running ??= run()
  }

  async function run(): Promise<void> {
    // All lines of this turn go into one flush: the watchdog sweeps many events at once.
    await null
    while (waiting.size > 0 || drops.size > 0) {
      const done = await flush()
      // Drops alone do not hammer a failing disk.
      if (!done && waiting.size === 0) break
    }
    running = null
    if (drops.size > 0) scheduleDrops()
  }

  /** One write and one flush for everything that has come since the last one. */
  async function flush(): Promise<boolean> {
    const batch = [...waiting]
    waiting.clear()
    let dropping = [...drops]
    drops = new Set()
    let batchBytes = 0
    for (const entry of batch) batchBytes += entry.record.length
    try {
      await tail.repair()
      if (await tail.reclaim(batchBytes)) {
        unsyncedDrops = []
        dropping = []
      }
      const records = dropping.map(encodeDrop)
      for (const entry of batch) records.push(entry.record)
      await tail.write(Buffer.concat(records))
      if (batch.length === 0) unsyncedDrops.push(...dropping)
      else await sync()
    } catch (error) {
      drops = new Set([...unsyncedDrops, ...dropping, ...drops])
      unsyncedDrops = []
      // At once, so that a crash does not replay what we are about to reject.
      await tail.undo().catch(() => {})
      const reason = error instanceof JournalError ? error : diskError(error)
      for (const entry of batch) {
        forget(entry)
        entry.answer(reason)
      }
      return false
    }
    for (const entry of batch) keep(entry)
    return true
  }

  async function sync(): Promise<void> {
    await tail.file.datasync()
    // Lines that nobody will find are not kept.
    await place.look()
    tail.keep()
    unsyncedDrops = []
  }

  function keep(entry: WaitingLine): void {
    const { slot } = entry.line
    forget(entry)
    unkeep(slot)
    if (entry.dropped) {
      drops.add(slot)
    } else {
      // An earlier line of the slot that was given up in this flush is before this one, and its drop would come after it.
      drops.delete(slot)
      kept.set(slot, entry)
      keptBytes += entry.record.length
    }
    entry.answer(null)
  }

  async function shutDown(): Promise<void> {
    clearTimeout(dropTimer)
    place.stop()
    if (drops.size > 0) wake()
    await running
    // What was rejected must not be replayed by the next process.
    await (kept.size === 0 ? tail.reset() : tail.repair()).catch(() => {})
    await tail.close()
    await lock.release()
  }

  return {
    append,
    drop,
    pending: () => Array.from(kept.values(), (entry) => entry.line),
    get lengthBytes() {
      return tail.lengthBytes
    },
    get whereabouts() {
      return place.problem
    },
    opening: { ...opened.found, lockProblem: lock.problem },
    close: () => {
      closing ??= shutDown()
      return closing
    },
  }
}
