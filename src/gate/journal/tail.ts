import { type JournalFile, type JournalFs, syncFolder, writeAll, writeFresh } from './file.ts'
import { fileHeader, type LineRecord } from './record.ts'

/** The end of the journal's file: what is on the disk for certain, and what is added behind it. */
export interface Tail {
  readonly file: JournalFile
  readonly lengthBytes: number
  write(bytes: Buffer): Promise<void>
  /** All that was written is on the disk. */
  keep(): void
  /** Nothing that was written since the last flush counts. */
  undo(): Promise<void>
  /** What an earlier failure left behind comes before anything new. */
  repair(): Promise<void>
  /**
   * Makes room when it is due, or when so many bytes would not fit. True when the file now holds the kept
   * lines and no others.
   */
  reclaim(neededBytes: number): Promise<boolean>
  /** Nothing is kept: the file begins anew. */
  reset(): Promise<void>
  close(): Promise<void>
}

export interface TailOptions {
  readonly fs: JournalFs
  readonly folder: string
  readonly path: string
  readonly maxBytes: number
  /** What a file that is written anew must have. */
  readonly kept: ReadonlyMap<string, LineRecord>
  readonly keptBytes: () => number
  /** Rejects when another file is in the place, which must not be written over. */
  readonly look: () => Promise<void>
}

const resetAboveBytes = 64 * 1024
const compactAboveBytes = 1024 * 1024

export function createTail(
  opened: { readonly file: JournalFile; readonly lengthBytes: number },
  options: TailOptions,
): Tail {
  const { fs, kept, maxBytes } = options
  let { file, lengthBytes } = opened
  // Up to here the file is on the disk for certain. After a failed flush the kernel may have
  // thrown away anything beyond it and call it written.
  let syncedBytes = lengthBytes
  let tailUncertain = false
  let folderUncertain = false
  let skipCompactionBelowBytes = 0

  async function repair(): Promise<void> {
    if (tailUncertain) {
      await file.truncate(syncedBytes)
      tailUncertain = false
    }
    if (folderUncertain) {
      await syncFolder(fs, options.folder)
      folderUncertain = false
    }
  }

  async function reclaim(neededBytes: number): Promise<boolean> {
    const full = lengthBytes + neededBytes > maxBytes
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
      options.keptBytes() * 4 < lengthBytes
    )
  }

  async function reset(): Promise<void> {
    // If the flush that follows fails, this is the length to go back to.
    syncedBytes = fileHeader.length
    tailUncertain = true
    await repair()
    lengthBytes = syncedBytes
  }

  async function compact(): Promise<void> {
    await options.look()
    const next = await writeFresh(fs, options.path, [...kept.values()])
    await file.close().catch(() => {})
    file = next.file
    lengthBytes = next.lengthBytes
    syncedBytes = lengthBytes
    skipCompactionBelowBytes = 0
    // Until the folder is flushed a crash may bring the old file back, without what is added now.
    folderUncertain = true
    await repair()
  }

  return {
    get file() {
      return file
    },
    get lengthBytes() {
      return lengthBytes
    },
    async write(bytes) {
      await writeAll(file, bytes, lengthBytes)
      lengthBytes += bytes.length
    },
    keep() {
      syncedBytes = lengthBytes
    },
    undo() {
      lengthBytes = syncedBytes
      tailUncertain = true
      return repair()
    },
    repair,
    reclaim,
    reset,
    async close() {
      await file.datasync().catch(() => {})
      await file.close().catch(() => {})
    },
  }
}
