import { Buffer } from 'node:buffer'
import { type Command, maxCommandsPerCall, type Outcome, StoreError } from '../port.ts'
import type { Database } from './database.ts'
import { childKey, indexKey, logKey, maxKeyBytes, rootKey, versionHash } from './keys.ts'

/** A command in LMDB's terms. */
export interface Write {
  readonly root: string
  readonly expectedVersion: string | null
  readonly newVersion: string
  readonly absent: readonly string[]
  readonly remove: readonly string[]
  readonly put: readonly (readonly [string, string])[]
  readonly rootValue: string
}

/** Names the log entries of a writer, ever increasing. */
export interface EntryNaming {
  readonly nonce: string
  nextMicros(): number
  lastMicros(): number
}

export function toWrites(commands: readonly Command[], clock: EntryNaming): Write[] {
  if (commands.length > maxCommandsPerCall) {
    throw new StoreError(
      `${commands.length} commands in a call, at most ${maxCommandsPerCall} are allowed`,
      'no',
    )
  }
  if (new Set(commands.map(({ aggregate }) => aggregate)).size < commands.length) {
    throw new StoreError('an aggregate stands twice in a call', 'no')
  }
  return commands.map((command) => toWrite(command, clock))
}

function toWrite(command: Command, clock: EntryNaming): Write {
  if (command.newVersion.includes('\n')) throw new StoreError('a version holds a line feed', 'no')
  const { aggregate } = command
  const put: [string, string][] = []
  for (const child of command.put) put.push([childKey(aggregate, child), child.value])
  for (const entry of command.index) put.push([indexKey(entry.index, entry.sortKey), entry.value])
  for (const entry of command.log) put.push([logKey(clock.nextMicros(), clock.nonce), entry])
  const write: Write = {
    root: rootKey(aggregate),
    expectedVersion: command.expectedVersion,
    newVersion: command.newVersion,
    absent: command.mustBeAbsent.map((key) => childKey(aggregate, key)),
    remove: [
      ...command.remove.map((key) => childKey(aggregate, key)),
      ...command.unindex.map(({ index, sortKey }) => indexKey(index, sortKey)),
    ],
    put,
    rootValue: encodeTreeRoot(command.newVersion, clock.lastMicros(), command.root),
  }
  checkKey(write.root)
  for (const key of write.absent) checkKey(key)
  for (const key of write.remove) checkKey(key)
  for (const [key] of write.put) checkKey(key)
  return write
}

export function checkKey(key: string): void {
  // No character takes more than three bytes for each unit of its length: most keys need no counting.
  if (3 * key.length > maxKeyBytes && Buffer.byteLength(key) > maxKeyBytes) {
    throw new StoreError(`a key has more than ${maxKeyBytes} bytes`, 'no')
  }
}

/**
 * Checks a command on the newest snapshot. Every change under an aggregate renews its version, so what
 * is absent beside the expected version stays absent while that version is there: it is enough that the
 * transaction checks the version again. (Conditions of LMDB's own for each key, nested, do the same and
 * took ten times as long for a command with fifty keys.)
 */
export function foresee(db: Database, write: Write): Outcome | undefined {
  const { root, expectedVersion } = write
  const expected =
    expectedVersion === null
      ? !db.doesExist(root)
      : db.doesExist(root, versionHash(expectedVersion))
  if (!expected) return 'conflict'
  return write.absent.some((key) => db.doesExist(key)) ? 'exists' : undefined
}

/**
 * Resolves to whether the version was still there and all was written. No put has a condition of its
 * own: it would not count the one around it. All commands of a loop turn become one transaction by
 * lmdb-js's own batching. A transaction callback would be simpler, but a worker terminated inside one
 * commits half of it.
 */
export function queueWrite(db: Database, write: Write): Promise<boolean> {
  const { root, expectedVersion, newVersion } = write
  const inner = () => {
    for (const key of write.remove) db.remove(key)
    for (const [key, value] of write.put) db.put(key, value)
    db.put(root, write.rootValue, versionHash(newVersion))
  }
  return expectedVersion === null
    ? db.ifNoExists(root, inner)
    : db.ifVersion(root, versionHash(expectedVersion), inner)
}

export function encodeTreeRoot(version: string, logMicros: number, value: string): string {
  return `${version}\n${logMicros}\n${value}`
}

interface TreeRoot {
  readonly version: string
  /** When the newest log entry that its writer knew was written. */
  readonly logMicros: number
  readonly value: string
}

export function decodeTreeRoot(text: string): TreeRoot {
  const versionEnd = text.indexOf('\n')
  const microsEnd = text.indexOf('\n', versionEnd + 1)
  return {
    version: text.slice(0, versionEnd),
    logMicros: Number(text.slice(versionEnd + 1, microsEnd)),
    value: text.slice(microsEnd + 1),
  }
}
