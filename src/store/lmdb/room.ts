import { statfsSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { failureText } from '../failure-text.ts'
import { StoreError } from '../port.ts'

/** A disk with less is full: LMDB may end the process on one without any, and the journal needs some. */
const reservedBytes = 32 * 2 ** 20
const trialName = 'trial'
const trialBytes = 65_536

/** Throws, with nothing written, where the disk of a folder is full; some 6 µs. */
export function refuseUnlessRoom(folder: string, freeBytes = freeBytesOf): void {
  if (freeBytes(folder) >= reservedBytes) return
  const left = `has less than ${reservedBytes / 2 ** 20} MB left: free some space`
  throw new StoreError(`the store cannot be written: the disk of ${folder} ${left}`, 'no')
}

/** What is left for those who may not use what is kept for root; no bound where nobody tells. */
function freeBytesOf(folder: string): number {
  try {
    const { blocks, bavail, bsize } = statfsSync(folder)
    return blocks === 0 ? Number.POSITIVE_INFINITY : bavail * bsize
  } catch {
    // A folder that is gone is told of by its whereabouts.
    return Number.POSITIVE_INFINITY
  }
}

/** Rejects unless a file can be written: a disk that is read-only, or that a quota bounds, may have room all the same. */
export async function tryDisk(folder: string): Promise<void> {
  const path = join(folder, trialName)
  try {
    await writeFile(path, Buffer.alloc(trialBytes), { mode: 0o600, flush: true })
    await rm(path, { force: true })
  } catch (cause) {
    throw new StoreError(`the store cannot be written: ${failureText(cause)}`, 'no', { cause })
  }
}
