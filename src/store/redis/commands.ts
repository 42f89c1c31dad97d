import { type Command, checkCall, type Outcome, type PartOutcome, StoreError } from '../port.ts'
import { checked, fieldOf, lifeMsOf, type RedisKeys, rootField } from './keys.ts'
import type { LogClock } from './log.ts'

/** One call of the library's `commit`: commands that are sent together. */
export interface Call {
  readonly keys: readonly string[]
  readonly args: readonly string[]
  /** The partition whose mark counts this call; without a cluster that of the first counts all. */
  readonly target: number
  /** The places of its commands in the caller's list. */
  readonly places: readonly number[]
}

export interface CallContext {
  readonly keys: RedisKeys
  readonly clock: LogClock
  readonly nowMs: number
  /** A node of a cluster takes only its own keys. */
  readonly byPartition: boolean
  /** The key of this writer's mark and what was acknowledged to it; null when it keeps none. */
  readonly markAt: (target: number) => WriterMark | null
}

export interface WriterMark {
  readonly key: string
  readonly acknowledged: number
  /** The next mark is above it: no server of an earlier connection can have it. */
  readonly base: number
}

/** A call beyond this is split: Redis serves nobody else while it runs one. */
const maxArgumentsPerCall = 50_000

/** Throws, with nothing sent, when a command is not one that can be executed. */
export function toCalls(commands: readonly Command[], context: CallContext): Call[] {
  checkCall(commands)
  const full: CallDraft[] = []
  const open = new Map<number, CallDraft>()
  for (const [place, command] of commands.entries()) {
    const partition = context.keys.partitionOf(command.aggregate)
    const target = context.byPartition ? partition : 0
    let draft = open.get(target)
    if (draft === undefined || draft.args.length + lengthOf(command) > maxArgumentsPerCall) {
      if (draft !== undefined) full.push(draft)
      draft = createDraft(target, context.markAt(target))
      open.set(target, draft)
    }
    draft.places.push(place)
    write(command, partition, draft, context)
  }
  return [...full, ...open.values()]
}

/** About how many arguments a command takes. */
function lengthOf({ mustBeAbsent, put, remove, index, unindex, log }: Command): number {
  return (
    16 +
    3 * (put.length + index.length + log.length) +
    2 * (mustBeAbsent.length + remove.length) +
    2 * unindex.length
  )
}

interface CallDraft {
  readonly target: number
  readonly keys: string[]
  readonly args: string[]
  readonly places: number[]
  /** The place of a key among the keys, as text. */
  placeOf(key: string): string
}

function createDraft(target: number, mark: WriterMark | null): CallDraft {
  const keys: string[] = mark === null ? [] : [mark.key]
  const places = new Map<string, string>()
  return {
    target,
    keys,
    args: mark === null ? ['0', '0', '0'] : ['1', String(mark.acknowledged), String(mark.base)],
    places: [],
    placeOf(key) {
      let place = places.get(key)
      if (place === undefined) {
        place = String(keys.push(key))
        places.set(key, place)
      }
      return place
    },
  }
}

/** The arguments that the library reads, in its order. */
function write(command: Command, partition: number, draft: CallDraft, context: CallContext): void {
  const { args, placeOf } = draft
  const { keys, clock } = context
  const { aggregate, expectedVersion, newVersion } = command
  if (newVersion.includes('\n')) throw new StoreError('a version holds a line feed', 'no')
  args.push(placeOf(keys.aggregate(aggregate)))
  args.push(expectedVersion === null ? '' : `${expectedVersion}\n`)

  args.push(String(command.mustBeAbsent.length))
  for (const key of command.mustBeAbsent) {
    args.push(placeOf(keys.group(aggregate, key.group)), fieldOf(key))
  }

  const hashes = putsOf(command, context)
  args.push(String(hashes.size))
  for (const [key, { lifeMs, pairs }] of hashes) {
    args.push(placeOf(key), lifeMs === undefined ? '' : String(lifeMs), String(pairs.size))
    for (const [field, value] of pairs) args.push(field, value)
  }
  writeList(
    command.remove.filter((key) => {
      return !hashes.get(keys.group(aggregate, key.group))?.pairs.has(fieldOf(key))
    }),
    args,
    (key) => args.push(placeOf(keys.group(aggregate, key.group)), fieldOf(key)),
  )
  writeList(command.index, args, ({ index, sortKey, value }) => {
    args.push(placeOf(keys.index(partition, index)), checked(sortKey), value)
  })
  writeList(
    command.unindex.filter(({ index, sortKey }) => {
      return !command.index.some((put) => put.index === index && put.sortKey === sortKey)
    }),
    args,
    ({ index, sortKey }) => args.push(placeOf(keys.index(partition, index)), checked(sortKey)),
  )
  writeList(command.log, args, (entry) => {
    args.push(placeOf(keys.log(partition)), clock.next(), entry)
  })
}

function writeList<T>(list: readonly T[], args: string[], write: (item: T) => void): void {
  args.push(String(list.length))
  for (const item of list) write(item)
}

interface HashPut {
  readonly lifeMs: number | undefined
  readonly pairs: Map<string, string>
}

/** What is put, by the hash it lies in; the root is put with every command. */
function putsOf(command: Command, { keys, nowMs }: CallContext): Map<string, HashPut> {
  const { aggregate, newVersion, root } = command
  const rootKey = keys.aggregate(aggregate)
  const rootPut = { lifeMs: undefined, pairs: new Map([[rootField, `${newVersion}\n${root}`]]) }
  const hashes = new Map<string, HashPut>([[rootKey, rootPut]])
  for (const child of command.put) {
    const key = keys.group(aggregate, child.group)
    let hash = hashes.get(key)
    if (hash === undefined) {
      hash = { lifeMs: lifeMsOf(child.group, nowMs), pairs: new Map() }
      hashes.set(key, hash)
    }
    hash.pairs.set(fieldOf(child), child.value)
  }
  return hashes
}

const outcomeOf: Readonly<Record<string, PartOutcome>> = {
  c: 'committed',
  d: 'committed',
  x: 'conflict',
  e: 'exists',
  w: 'refused',
}

export interface CallReply {
  readonly outcomes: readonly PartOutcome[]
  /** Of the commands, those at whose aggregate another writer was turned away before. */
  readonly crowded: readonly number[]
  /** The mark that now counts this call; 0 when the writer keeps none. */
  readonly mark: number
  readonly logIds: readonly string[]
}

export function readReply(reply: unknown, call: Call): CallReply {
  const [letters, mark, ...logIds] = reply as string[]
  const outcomes = [...(letters ?? '')].map((letter) => outcomeOf[letter] ?? 'unknown')
  if (outcomes.length !== call.places.length) {
    throw new StoreError('Redis answered for another number of commands', 'unknown')
  }
  const crowded = call.places.filter((_, i) => letters![i] === 'd')
  return { outcomes, crowded, mark: Number(mark), logIds }
}

export function isOutcome(outcome: PartOutcome): outcome is Outcome {
  return outcome !== 'refused' && outcome !== 'unknown'
}

export interface Root {
  readonly version: string
  readonly value: string
}

export function decodeRoot(text: string): Root {
  const end = text.indexOf('\n')
  return { version: text.slice(0, end), value: text.slice(end + 1) }
}
