import * as nodeFs from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder } from '../../make-folder.ts'
import { diskError, JournalError, type JournalProblem, unusable } from './error.ts'
import {
  checkInPlace,
  type FoundJournal,
  type JournalFs,
  journalName,
  openFile,
  syncFolder,
  writeAll,
  writeFresh,
} from './file.ts'
import { lockFolder } from './folder-lock.ts'
import {
  encodeDrop,
  encodeLine,
  fileHeader,
  type JournalLine,
  type LineRecord,
  maxPayloadBytes,
} from './record.ts'

export interface Journal {
  /**
   * Resolves when the line is on the disk. Rejects with a JournalError; then the line must not be
   * counted on, and will not be replayed unless we crash before its remains are removed.
   * A later line of the same slot takes the place of the earlier one.
   */
  append(line: JournalLine): Promise<void>
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
  /** An append that is not on the disk by then rejects. */
  readonly flushTimeoutMs?: number
  /** Of the file. Pending lines may take half: the rest is for dropped ones, see `isDue`. */
  readonly maxBytes?: number
  readonly fs?: JournalFs
  /** Also when nothing is written, a file that is gone is noticed within this time. */
  readonly lookMs?: number
  /** The file is no longer in its place, or is again (''). */
  readonly onWhereabouts?: (problem: string) => void
}

/** A line until its flush. */
interface Entry extends LineRecord {
  resolve: () => void
  reject: (error: JournalError) => void
  timer: NodeJS.Timeout | undefined
  answered: boolean
  dropped: boolean
}

const dropDelayMs = 200
const resetAboveBytes = 64 * 1024
const compactAboveBytes = 1024 * 1024

export async function openJournal(options: JournalOptions): Promise<Journal | JournalProblem> {
  const { folder, flushTimeoutMs = 100, maxBytes = 64 * 1024 * 1024, lookMs = 500 } = options
  const fs = options.fs ?? nodeFs
  const path = join(folder, journalName)

  try {
    await makeFolder(folder, 0o700)
  } catch (error) {
    return unusable(error)
  }
  const lock = await lockFolder(folder)
  if (lock === 'locked') {
    return {
      problem: 'locked',
      message: `another process uses the journal in ${folder}: give each instance its own DATA_DIR`,
    }
  }
  const opened = await openFile(fs, folder, path).catch(unusable)
  if ('problem' in opened) {
    await lock.release()
    return opened
  }

  let file = opened.file
  let lengthBytes = opened.lengthBytes
  // Up to here the file is on the disk for certain. After a failed flush the kernel may have
  // thrown away anything beyond it and call it written.
  let syncedBytes = lengthBytes
  let tailUncertain = false
  let folderUncertain = false
  let skipCompactionBelowBytes = 0

  const { kept } = opened
  let keptBytes = 0
  for (const entry of kept.values()) keptBytes += entry.record.length
  const waiting = new Set<Entry>()
  /** The newest entry of a slot that is waiting or in the running flush. */
  const unflushed = new Map<string, Entry>()
  let unflushedBytes = 0
  let drops: string[] = []
  let unsyncedDrops: string[] = []
  let dropTimer: NodeJS.Timeout | undefined
  let running: Promise<void> | null = null
  let whereabouts = ''
  const looking = setInterval(() => {
    if (running !== null) return
    const note = (problem: string) => {
      // A flush that began meanwhile looks by itself, and may have put a new file in the place.
      if (running === null) setWhereabouts(problem)
    }
    checkInPlace(fs, file, path).then(
      () => note(''),
      (error: Error) => note(error.message),
    )
  }, lookMs)
  looking.unref()
  let closing: Promise<void> | null = null

  function append(line: JournalLine): Promise<void> {
    if (closing !== null) return Promise.reject(closedError())
    const record = encodeLine(line)
    if (record.length > maxPayloadBytes || pendingBytes() + record.length > maxBytes / 2) {
      return Promise.reject(new JournalError('full', '', 'too much is pending in the journal'))
    }
    return new Promise((resolve, reject) => {
      const entry: Entry = {
        line,
        record,
        resolve,
        reject,
        timer: undefined,
        answered: false,
        dropped: false,
      }
      // After a loop that stood timers come first: a flush that is done gets a turn to be noticed.
      entry.timer = setTimeout(() => setImmediate(giveUp, entry), flushTimeoutMs)
      waiting.add(entry)
      unflushed.set(line.slot, entry)
      unflushedBytes += record.length
      wake()
    })
  }

  function pendingBytes(): number {
    return keptBytes + unflushedBytes
  }

  function giveUp(entry: Entry): void {
    if (entry.answered) return
    if (waiting.delete(entry)) forget(entry)
    // It is in the running flush and may get to the disk after all: then it is dropped again.
    else entry.dropped = true
    answer(entry, new JournalError('timeout', '', 'the journal was not flushed in time'))
  }

  function forget(entry: Entry): void {
    unflushedBytes -= entry.record.length
    if (unflushed.get(entry.line.slot) === entry) unflushed.delete(entry.line.slot)
  }

  function answer(entry: Entry, error: JournalError | null): void {
    if (entry.answered) return
    entry.answered = true
    clearTimeout(entry.timer)
    if (error === null) entry.resolve()
    else entry.reject(error)
  }

  function drop(slot: string): void {
    const entry = unflushed.get(slot)
    if (entry !== undefined) entry.dropped = true
    if (!unkeep(slot)) return
    drops.push(slot)
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
    while (waiting.size > 0 || drops.length > 0) {
      const done = await flush()
      // Drops alone do not hammer a failing disk.
      if (!done && waiting.size === 0) break
    }
    running = null
    if (drops.length > 0) scheduleDrops()
  }

  /** One write and one flush for everything that has come since the last one. */
  async function flush(): Promise<boolean> {
    const batch = [...waiting]
    waiting.clear()
    let dropping = drops
    drops = []
    let batchBytes = 0
    for (const entry of batch) batchBytes += entry.record.length
    try {
      // Before anything is renamed over it, and after the flush: lines that nobody will find are not kept.
      if (whereabouts !== '') await look()
      await repair()
      if (await reclaim(batchBytes)) dropping = []
      const records = dropping.map(encodeDrop)
      for (const entry of batch) records.push(entry.record)
      const bytes = Buffer.concat(records)
      await writeAll(file, bytes, lengthBytes)
      lengthBytes += bytes.length
      if (batch.length === 0) {
        unsyncedDrops.push(...dropping)
      } else {
        await file.datasync()
        await look()
        syncedBytes = lengthBytes
        unsyncedDrops = []
      }
    } catch (error) {
      drops = [...unsyncedDrops, ...dropping, ...drops]
      unsyncedDrops = []
      lengthBytes = syncedBytes
      tailUncertain = true
      // At once, so that a crash does not replay what we are about to reject.
      await repair().catch(() => {})
      const reason = error instanceof JournalError ? error : diskError(error)
      for (const entry of batch) {
        forget(entry)
        answer(entry, reason)
      }
      return false
    }
    for (const entry of batch) {
      const { slot } = entry.line
      forget(entry)
      unkeep(slot)
      if (entry.dropped) {
        drops.push(slot)
      } else {
        kept.set(slot, entry)
        keptBytes += entry.record.length
      }
      answer(entry, null)
    }
    return true
  }

  async function look(): Promise<void> {
    try {
      await checkInPlace(fs, file, path)
      setWhereabouts('')
    } catch (error) {
      setWhereabouts((error as Error).message)
      throw error
    }
  }

  function setWhereabouts(problem: string): void {
    if (problem === whereabouts) return
    whereabouts = problem
    options.onWhereabouts?.(problem)
  }

  /** What an earlier failure left behind comes before anything new. */
  async function repair(): Promise<void> {
    if (tailUncertain) {
      await file.truncate(syncedBytes)
      tailUncertain = false
    }
    if (folderUncertain) {
      await syncFolder(fs, folder)
      folderUncertain = false
    }
  }

  /** Makes room when it is due. True when the file now holds the kept lines and no others. */
  async function reclaim(batchBytes: number): Promise<boolean> {
    const full = lengthBytes + batchBytes > maxBytes
    if (kept.size === 0 && (full || lengthBytes > resetAboveBytes)) {
      await reset()
      return true
    }
    if (!full && !isDue()) return false
    try {
      await compact()
      return true
    } catch (error) {
      if (full || folderUncertain) throw error
      // The old file is still good, and there may be no room for a second one. Try again later.
      skipCompactionBelowBytes = lengthBytes * 2
      return false
    }
  }

  /** Rewriting costs what is kept, so it must free a multiple of that. */
  function isDue(): boolean {
    return (
      lengthBytes > compactAboveBytes &&
      lengthBytes > skipCompactionBelowBytes &&
      keptBytes * 4 < lengthBytes
    )
  }

  async function reset(): Promise<void> {
    // If the flush that follows fails, this is the length to go back to.
    syncedBytes = fileHeader.length
    tailUncertain = true
    await repair()
    lengthBytes = syncedBytes
    unsyncedDrops = []
  }

  async function compact(): Promise<void> {
    await look()
    const next = await writeFresh(fs, path, [...kept.values()])
    await file.close().catch(() => {})
    file = next.file
    lengthBytes = next.lengthBytes
    syncedBytes = lengthBytes
    unsyncedDrops = []
    skipCompactionBelowBytes = 0
    // Until the folder is flushed a crash may bring the old file back, without what is added now.
    folderUncertain = true
    await repair()
  }

  async function shutDown(): Promise<void> {
    clearTimeout(dropTimer)
    clearInterval(looking)
    if (drops.length > 0) wake()
    await running
    if (kept.size === 0) await reset().catch(() => {})
    await file.datasync().catch(() => {})
    await file.close().catch(() => {})
    if (lock !== 'locked') await lock.release()
  }

  return {
    append,
    drop,
    pending: () => Array.from(kept.values(), (entry) => entry.line),
    get lengthBytes() {
      return lengthBytes
    },
    get whereabouts() {
      return whereabouts
    },
    opening: { ...opened.found, lockProblem: lock.problem },
    close: () => {
      closing ??= shutDown()
      return closing
    },
  }
}

export function isJournalProblem(result: Journal | JournalProblem): result is JournalProblem {
  return 'problem' in result
}

function closedError(): JournalError {
  return new JournalError('closed', '', 'the journal is closed')
}
