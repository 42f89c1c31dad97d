import { Buffer } from 'node:buffer'
import { type Command, checkCall, type Outcome, StoreError } from '../port.ts'
import type { Database } from './database.ts'
import { childKey, indexKey, logKey, maxKeyBytes, rootKey, versionHash } from './keys.ts'

/** A command in LMDB's terms: its keys, in the order of its lists. */
export interface Write {
  readonly command: Command
  readonly root: string
  readonly rootValue: string
  readonly absent: readonly string[]
  readonly remove: readonly string[]
  /** Of children, index entries and log entries, in this order. */
  readonly put: readonly string[]
}

/** Names the log entries of a writer, ever increasing. */
export interface EntryNaming {
  readonly nonce: string
  nextMicros(): number
  lastMicros(): number
}

export function toWrites(commands: readonly Command[], clock: EntryNaming): Write[] {
  checkCall(commands)
  return commands.map((command) => toWrite(command, clock))
}

function toWrite(command: Command, clock: EntryNaming): Write {
  const { aggregate, newVersion } = command
  if (newVersion.includes('\n')) throw new StoreError('a version holds a line feed', 'no')
  const put: string[] = []
  for (const child of command.put) put.push(checked(childKey(aggregate, child)))
  for (const { index, sortKey } of command.index) put.push(checked(indexKey(index, sortKey)))
  for (const _ of command.log) put.push(logKey(clock.nextMicros(), clock.nonce))
  const remove: string[] = []
  for (const child of command.remove) remove.push(checked(childKey(aggregate, child)))
  for (const { index, sortKey } of command.unindex) remove.push(checked(indexKey(index, sortKey)))
  const absent: string[] = []
  for (const child of command.mustBeAbsent) absent.push(checked(childKey(aggregate, child)))
  const root = checked(rootKey(aggregate))
  const rootValue = encodeTreeRoot(newVersion, clock.lastMicros(), command.root)
  return { command, root, rootValue, absent, remove, put }
}

function checked(key: string): string {
  checkKey(key)
  return key
}

export function checkKey(key: string): void {
  // No character takes more than three bytes for each unit of its length: most keys need no counting.
  if (3 * key.length > maxKeyBytes && Buffer.byteLength(key) > maxKeyBytes) {
    throw new StoreError(`a key has more than ${maxKeyBytes} bytes`, 'no')
  }
}

/**
 * Looks on the newest snapshot for what must be absent. Every change under an aggregate renews its version, so
 * what is absent now stays absent while the expected version is there, and the transaction looks for that: one
 * that is here already is newer, and stays. (Conditions of LMDB's own for each key, nested, do the same and took
 * ten times as long for a command with fifty keys.)
 */
export function foresee(db: Database, { command, root, absent }: Write): Outcome | undefined {
  if (!absent.some((key) => db.doesExist(key))) return undefined
  const { expectedVersion } = command
  const expected =
    expectedVersion === null
      ? !db.doesExist(root)
      : db.doesExist(root, versionHash(expectedVersion))
  return expected ? 'exists' : 'conflict'
}

/**
 * Resolves to whether the version was still there and all was written. No put has a condition of its
 * own: it would not count the one around it. All commands of a loop turn become one transaction by
 * lmdb-js's own batching. A transaction callback would be simpler, but a worker terminated inside one
 * commits half of it.
 */
export function queueWrite(db: Database, write: Write): Promise<boolean> {
  const { command, root, put } = write
  const { expectedVersion, newVersion } = command
  const inner = () => {
    for (const key of write.remove) db.remove(key)
    let at = 0
    for (const { value } of command.put) db.put(put[at++]!, value)
    for (const { value } of command.index) db.put(put[at++]!, value)
    for (const entry of command.log) db.put(put[at++]!, entry)
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
