import { open, type RootDatabase, type RootDatabaseOptionsWithPath } from 'lmdb'
import { failureText } from '../failure-text.ts'
import { StoreRefused } from '../port.ts'
import { cursorOf, keyEncoder, logRangeUpTo, microsOfCursor } from './keys.ts'

export type Database = RootDatabase<string, string>

/** The folder must have been checked: LMDB ends the process on a file that is not its own. */
export function openDatabase(folder: string): Database {
  const options: RootDatabaseOptionsWithPath & Record<string, unknown> = {
    path: folder,
    // The default takes a folder with a dot in its name for a file.
    noSubdir: false,
    encoding: 'string',
    keyEncoder,
    useVersions: true,
    // A promise resolves when its transaction is on the disk. With the default it resolves before, and
    // `flushed` must be awaited as well: no faster in interleaved runs (42 µs a command both ways in
    // calls of 500; 0.38 against 0.43 ms for a call of one), so the mode with one promise to wait for.
    overlappingSync: false,
    // Address space, not memory or disk. The default starts at 128 KB and maps anew whenever the file
    // doubles, keeping the old maps; beyond this size it still does.
    mapSize: 64 * 2 ** 30,
    // Accounts are touched in no order: reading ahead would push out pages that are needed.
    noReadAhead: true,
    // Writing starts when the turn's commands are all queued, never in their midst: a worker terminated
    // there would leave the writing thread waiting, with LMDB's lock, for commands that never come.
    batchStartThreshold: Number.MAX_SAFE_INTEGER,
    // The default, 0664, would let others read what cards were used for.
    permissionsMode: 0o600,
  }
  try {
    return open<string, string>(options)
  } catch (cause) {
    throw new StoreRefused(
      `LMDB cannot open ${folder} (${failureText(cause)}). Name a folder on a local disk that this user ` +
        'may write. If another version of Arbiter used it, stop that one and remove lock.mdb.',
      { cause },
    )
  }
}

/** When the newest log entry was written; 0 where there is none. */
export function newestMicrosIn(db: Database): number {
  const { start, end } = logRangeUpTo('')
  const backwards = { start: end, end: start, reverse: true, exclusiveStart: true, limit: 1 }
  const [newest] = db.getKeys(backwards)
  return newest === undefined ? 0 : microsOfCursor(cursorOf(newest))
}

/** lmdb-js rejects with an error that carries, as another promise, the one that says why. */
export async function throwCause(error: unknown): Promise<never> {
  if (error instanceof Error && 'commitError' in error) await error.commitError
  throw error
}

/** LMDB calls a write that was cut short an input/output error, and a full disk cuts writes short. */
export function writeFailureText(cause: unknown): string {
  const text = failureText(cause)
  return text.startsWith('Input/output error') ? `${text}, as a full disk gives` : text
}
