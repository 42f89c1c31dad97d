/**
 * What every store offers: one write, the conditional batch, and plain reads. It knows nothing about
 * cards. The unit of versioning is an aggregate: a root value with a version, and children under it.
 */
export interface Store {
  /**
   * Per aggregate, independently and atomically: all checks come before the first write. Resolves only
   * when the result is durable. An aggregate stands at most once in a call, at most
   * `maxCommandsPerCall` in a call. A command with a put into a group whose day has passed is refused alone.
   * Rejects with a StoreError.
   */
  commit(commands: readonly Command[]): Promise<Outcome[]>
  /** Reads in the order given, so that a root listed before its children is never newer than they are. */
  load(keys: readonly Key[]): Promise<(Loaded | undefined)[]>
  /**
   * Whether an aggregate has this version now; true also where that cannot be told. Only an embedded store has it:
   * elsewhere a look takes as long as the commit that would find out.
   */
  hasVersion?(aggregate: string, version: string): boolean
  /** Entries of an index in the order of their sort key, after (not including) `after`; '' from the start. */
  range(index: string, after: string, limit: number): Promise<IndexEntry[]>
  /**
   * The same as far as the store can be reached: a store in several places leaves out those that do not
   * answer, and counts them. Without it all is in one place.
   */
  rangeReachable?(index: string, after: string, limit: number): Promise<ReachableEntries>
  /** How many entries of an index have a sort key that begins so; in time that hardly depends on it. */
  count(index: string, prefix: string): Promise<number>
  /**
   * Log entries in order of writing, after (not including) a cursor; '' is before the oldest. The order
   * of one aggregate is that of its commits. When several processes write at once, an entry may appear
   * before a cursor read while its commit was on the way: who must see all reads a little behind.
   */
  readLog(after: string, limit: number): Promise<LogLine[]>
  /**
   * How many there are after one cursor, up to and including another. Only a store has it for which that is
   * next to nothing, and which never loses one: then their number tells whether another has appeared.
   */
  countLog?(after: string, last: string): Promise<number>
  /** The newest entries before (not including) a cursor, oldest of them first; '' is after the newest. */
  tailLog(limit: number, before?: string): Promise<LogLine[]>
  /**
   * Drops groups whose last day has passed and log entries written before `logBeforeMs`, at most
   * `limit` of each; resolves to how many were dropped, so that the caller goes on while it is above 0.
   * A store may count the children of groups one by one, and then drop a large group in several calls.
   */
  sweep(nowMs: number, logBeforeMs: number, limit: number): Promise<number>
  /**
   * Calls when the store notices by itself, also while nobody uses it, that it cannot keep what it is given,
   * and with '' when it can again. Meanwhile it refuses reads and commits.
   */
  onProblem?(listener: (problem: string) => void): void
  /**
   * Rejects with a StoreError where a commit would be refused now, and writes nothing. Only a store has it that can
   * be read while it takes no commits: one that nobody writes to would not find out.
   */
  trial?(): Promise<void>
  /** Names the file of an embedded store, or a store in Redis, so that a later opening can insist on the same one. */
  readonly file?: string
  /** Only stores that can lose what they acknowledged have this. */
  readonly losses?: LossWatch
  /**
   * Calls before a commit resolves when another writer was turned away at the aggregate by the commit
   * before: it is about to try again. A store of one writer has none.
   */
  onCrowded?(listener: (aggregate: string) => void): void
  /** The time now on each of the store's servers; an embedded store has no servers. */
  serverTimes?(): Promise<readonly number[]>
  /**
   * Everything the store holds, each record once, in pages; the log comes last, in its order. Groups
   * whose last day has passed are left out. What is written meanwhile may be missed.
   */
  scan(): AsyncIterable<readonly StoreRecord[]>
  /**
   * Makes a store in a new folder that holds all that is committed at one instant, while others go on
   * writing. Only a store in a file has it.
   */
  snapshot?(folder: string): Promise<void>
  /**
   * Writes records as they are, over what is there, page by page of a scan: for a store that nobody
   * uses yet. No version is compared, and a page that fails may be written in part.
   */
  fill(records: readonly OwnedRecord[]): Promise<void>
  close(): Promise<void>
}

/**
 * Finds by data whether what was acknowledged is still there: a failover, a fail-back and a server that
 * starts with less than it had look alike.
 */
export interface LossWatch {
  watch(listener: LossListener): void
  /** Looks now, as far as the store can be reached. */
  look(): Promise<void>
  /**
   * The listener will book again what was acknowledged before `onLoss`, before anything else on the same aggregate.
   * Where more was acknowledged since, and is lost, `onLoss` is called again. Rejects when the store cannot be reached;
   * `onLoss` is then called again, too.
   */
  resume(): Promise<void>
}

export interface LossListener {
  /** Less is there than was acknowledged. What is missing there is not committed to until `resume`. */
  onLoss(): void
  /** Once `onKept` names the number given here, everything acknowledged before this call is known to be kept. */
  onCheckpoint(number: number): void
  onKept(number: number): void
}

/** Counts what the store has acknowledged to this process, over all its engines. */
export interface Marks {
  /** Unlike that of any other process. */
  readonly writer: string
  /** The mark acknowledged last in each partition, in memory that all engines share. */
  readonly acknowledged: Float64Array<SharedArrayBuffer>
  /** One cell, which grows with every connection that any engine has made. */
  readonly epoch: Int32Array<SharedArrayBuffer>
}

export const maxPartitions = 100

export const maxCommandsPerCall = 500

/** A child is named by a group and an id within its aggregate; the root has both empty. */
export interface ChildKey {
  /**
   * Children of one group lie together. A group named `…@<day>` (days since 1970 in UTC) is dropped
   * whole once that day has passed.
   */
  readonly group: string
  readonly id: string
}

export interface Key extends ChildKey {
  readonly aggregate: string
}

export interface Loaded {
  readonly value: string
  /** The version token that a root was committed with; '' for children. */
  readonly version: string
  /** Where a key holds no record at all its name, as the tools of the store take it; the value is '' then. */
  readonly wrongType?: string
}

/** Removals (`remove`, `unindex`) come before puts (`put`, `index`): what is in both stays. */
export interface Command {
  readonly aggregate: string
  /** The version the decision was made on; null when the aggregate must not exist yet. */
  readonly expectedVersion: string | null
  /** A token that was never used before: versions are compared for equality only. */
  readonly newVersion: string
  readonly root: string
  readonly mustBeAbsent: readonly ChildKey[]
  readonly put: readonly ChildPut[]
  readonly remove: readonly ChildKey[]
  readonly index: readonly IndexEntryPut[]
  readonly unindex: readonly IndexKey[]
  readonly log: readonly string[]
}

/** The lists of a command that changes nothing besides the root. */
export const noChange = { mustBeAbsent: [], put: [], remove: [], index: [], unindex: [], log: [] }

export interface ChildPut extends ChildKey {
  readonly value: string
}

export interface IndexKey {
  readonly index: string
  readonly sortKey: string
}

/** A sort key belongs to one aggregate: a store in partitions keeps it with that aggregate's other keys. */
export interface IndexEntryPut extends IndexKey {
  readonly value: string
}

export interface IndexEntry {
  readonly sortKey: string
  readonly value: string
}

export interface ReachableEntries {
  readonly entries: readonly IndexEntry[]
  /** Places that did not answer. */
  readonly unread: number
}

export interface LogLine {
  readonly cursor: string
  /** As its writer's clock had it, or a little later where that would have changed the order. */
  readonly writtenMs: number
  readonly entry: string
}

/** One thing that a store holds. */
export type StoreRecord = RootRecord | ChildRecord | IndexRecord | LogRecord

/** The same with the aggregate that an index or log entry belongs to, as their commit said. */
export type OwnedRecord = RootRecord | ChildRecord | (IndexRecord & Owned) | (LogRecord & Owned)

interface Owned {
  readonly aggregate: string
}

export interface RootRecord {
  readonly kind: 'root'
  readonly aggregate: string
  readonly version: string
  readonly value: string
}

export interface ChildRecord extends Key {
  readonly kind: 'child'
  readonly value: string
}

export interface IndexRecord extends IndexEntryPut {
  readonly kind: 'index'
}

export interface LogRecord {
  readonly kind: 'log'
  /** When it was written, as the log is dated; kept, unless that would change the order. */
  readonly writtenMicros: number
  readonly entry: string
}

/** conflict: another version is there. exists: a key of `mustBeAbsent` is there. Nothing was written. */
export type Outcome = 'committed' | 'conflict' | 'exists'

/** Says whether the command may have been executed: 'unknown' is closed by a commit, never by a read. */
export class StoreError extends Error {
  readonly executed: 'no' | 'unknown'

  constructor(message: string, executed: 'no' | 'unknown', options?: ErrorOptions) {
    super(message, options)
    this.name = 'StoreError'
    this.executed = executed
  }
}

/** The outcome of one command of a call that failed in part. */
export type PartOutcome = Outcome | 'refused' | 'unknown'

/** Throws, with nothing written, when commands cannot go in one call. */
export function checkCall(commands: readonly Command[]): void {
  const count = commands.length
  if (count > maxCommandsPerCall) {
    const message = `${count} commands in a call, at most ${maxCommandsPerCall} are allowed`
    throw new StoreError(message, 'no')
  }
  if (new Set(commands.map(({ aggregate }) => aggregate)).size < count) {
    throw new StoreError('an aggregate stands twice in a call', 'no')
  }
}

/**
 * Some commands of a call failed: those of one node of a cluster, or those of an aggregate that is
 * damaged, or those that would not be kept. `outcomes` tells of each; `executed` is about the call as a whole.
 */
export class PartlyFailed extends StoreError {
  readonly outcomes: readonly PartOutcome[]

  constructor(message: string, outcomes: readonly PartOutcome[]) {
    const maybe = outcomes.some((outcome) => outcome === 'committed' || outcome === 'unknown')
    super(message, maybe ? 'unknown' : 'no')
    this.outcomes = outcomes
  }
}

/** A store that must not be opened; the message says what to do. */
export class StoreRefused extends Error {
  override readonly name = 'StoreRefused'
}
