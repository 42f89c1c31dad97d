import { StoreError } from '../port.ts'
import { throwCause, writeFailureText } from './database.ts'
import { tryDisk } from './room.ts'

/** Waits for the disk, and knows what it still owes. */
export interface DiskWait {
  /** Resolves when all that was queued is on the disk. Rejects when it fails, or takes too long: then it may still get there. */
  untilWritten(queued: readonly Promise<boolean>[]): Promise<boolean[]>
  /**
   * Throws while something that took too long is still on its way: what is queued behind it would wait as long, and
   * nobody could tell what becomes of it.
   */
  refuseWhileLate(): void
  /** Rejects where the last write failed, and the disk takes nothing still. */
  trial(): Promise<void>
}

export interface DiskWaitOptions {
  readonly folder: string
  readonly timeoutMs: number
  /** Throws when what was written is not where it will be looked for. */
  readonly check: () => void
}

export function createDiskWait({ folder, timeoutMs, check }: DiskWaitOptions): DiskWait {
  const late = new Set<Promise<unknown>>()
  let hasFailed = false
  const problem = `nothing was heard for ${timeoutMs} ms`

  function noteLate(queued: readonly Promise<boolean>[]): void {
    const all = Promise.allSettled(queued)
    late.add(all)
    void all.then(() => late.delete(all))
  }

  return {
    async untilWritten(queued) {
      let timer: NodeJS.Timeout | undefined
      const tooLate = new Promise<never>((_, reject) => {
        timer = setTimeout(() => {
          noteLate(queued)
          reject(new Error(problem))
        }, timeoutMs)
      })
      try {
        const answered = await Promise.race([Promise.all(queued).catch(throwCause), tooLate])
        check()
        // Where nothing was to be written, as in a conflict, nobody has asked the disk.
        if (answered.includes(true)) hasFailed = false
        return answered
      } catch (cause) {
        hasFailed = true
        // Unknown also when LMDB reports a failure: the last step of a commit can fail after it took effect.
        throw unwritten(writeFailureText(cause), 'unknown', cause)
      } finally {
        clearTimeout(timer)
      }
    },
    refuseWhileLate() {
      if (late.size > 0) throw unwritten(problem, 'no')
    },
    async trial() {
      if (!hasFailed) return
      await tryDisk(folder)
      hasFailed = false
    },
  }
}

function unwritten(why: string, executed: StoreError['executed'], cause?: unknown): StoreError {
  return new StoreError(`the store cannot be written: ${why}`, executed, { cause })
}
