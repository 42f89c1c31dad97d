import { statfsSync } from 'node:fs'
import { StoreError } from '../port.ts'

/** A disk with less is full: LMDB may end the process on one without any, and the journal needs some. */
const reservedBytes = 32 * 2 ** 20

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
