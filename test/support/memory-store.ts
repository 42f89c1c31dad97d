import { Buffer } from 'node:buffer'
import { lastDayOf, refusingPassed } from '../../src/store/dated-group.ts'
import {
  type ChildKey,
  type Command,
  checkCall,
  type LogLine,
  type Outcome,
  type OwnedRecord,
  type Store,
  StoreError,
  type StoreRecord,
} from '../../src/store/port.ts'

/** What happens to one call of `commit`. */
export type Fault =
  | { readonly kind: 'none' }
  /** Rejects as not executed, and is not executed. */
  | { readonly kind: 'refused' }
  /** Is executed, and rejects as unknown. */
  | { readonly kind: 'replyLost' }
  /** Rejects as unknown at once, and is executed when `release` resolves. */
  | { readonly kind: 'late'; readonly release: Promise<void> }
  /** Is executed, and answered, when `until` resolves. */
  | { readonly kind: 'delayed'; readonly until: Promise<void> }
  /** Its process dies, before or after it: neither this nor a later call of this store is answered. */
  | { readonly kind: 'dies'; readonly executed: boolean }

export interface MemoryStoreOptions {
  /** Asked once for each call of `commit`, in order; without it nothing ever fails. */
  readonly faults?: (commands: readonly Command[]) => Fault
  /** Dates the log, and says which groups are over; without it none is, for tests have days of their own. */
  readonly nowMs?: () => number
  /** Called with each call of `commit`; what it gives runs the call when it is executed, or throws. */
  readonly guard?: () => (execute: () => Outcome[]) => Outcome[]
}

/** What several stores share, as several processes share a database. */
export interface MemoryState {
  readonly aggregates: Map<string, Aggregate>
  readonly indexes: Map<string, Map<string, string>>
  readonly log: { readonly sequence: number; readonly atMs: number; readonly entry: string }[]
  nextSequence: number
}

interface Aggregate {
  version: string
  root: string
  /** By group, then by id. */
  readonly groups: Map<string, Map<string, string>>
}

/** Everything a store holds, sorted: equal states have equal dumps. */
interface MemoryDump {
  readonly aggregates: Record<string, DumpedAggregate>
  readonly indexes: Record<string, readonly (readonly [string, string])[]>
  readonly log: readonly string[]
}

interface DumpedAggregate {
  readonly version: string
  readonly root: string
  readonly groups: Record<string, readonly (readonly [string, string])[]>
}

export type MemoryStore = Store & { dump(): MemoryDump }

const dayMs = 86_400_000
const never = () => new Promise<never>(() => {})
const none: Fault = { kind: 'none' }

export function createMemoryState(): MemoryState {
  return { aggregates: new Map(), indexes: new Map(), log: [], nextSequence: 1 }
}

export function createMemoryStore(
  state: MemoryState = createMemoryState(),
  { faults = () => none, nowMs: ownNowMs, guard = () => run }: MemoryStoreOptions = {},
): MemoryStore {
  const nowMs = ownNowMs ?? Date.now
  let isClosed = false
  let isDead = false

  async function commit(commands: readonly Command[]): Promise<Outcome[]> {
    refuseWhenClosed()
    if (isDead) return never()
    checkCall(commands)
    const fault = faults(commands)
    const guarded = guard()
    // Commands are executed as they were when the call was made, however late.
    const isLater = fault.kind === 'late' || fault.kind === 'delayed'
    const given = isLater ? (structuredClone(commands) as readonly Command[]) : commands
    const executeOnce = () => guarded(() => execute(given))
    switch (fault.kind) {
      case 'none':
        return executeOnce()
      case 'refused':
        throw new StoreError('refused by the test', 'no')
      case 'replyLost':
        executeOnce()
        throw new StoreError('reply lost by the test', 'unknown')
      case 'late':
        // Nobody hears whether it was refused.
        fault.release.then(executeOnce).catch(() => {})
        throw new StoreError('late by the test', 'unknown')
      case 'delayed':
        await fault.until
        return executeOnce()
      case 'dies':
        if (fault.executed) executeOnce()
        isDead = true
        return never()
    }
  }

  function execute(commands: readonly Command[]): Outcome[] {
    return commands.map((command) => {
      const aggregate = state.aggregates.get(command.aggregate)
      if ((aggregate?.version ?? null) !== command.expectedVersion) return 'conflict'
      if (command.mustBeAbsent.some((key) => childOf(aggregate, key) !== undefined)) return 'exists'
      // Nothing below may refuse.
      apply(command)
      return 'committed'
    })
  }

  function apply(command: Command): void {
    const aggregate = state.aggregates.get(command.aggregate) ?? {
      version: '',
      root: '',
      groups: new Map(),
    }
    state.aggregates.set(command.aggregate, aggregate)
    aggregate.version = command.newVersion
    aggregate.root = command.root
    for (const { group, id } of command.remove) removeFrom(aggregate.groups, group, id)
    for (const { index, sortKey } of command.unindex) removeFrom(state.indexes, index, sortKey)
    for (const { group, id, value } of command.put) putInto(aggregate.groups, group, id, value)
    for (const { index, sortKey, value } of command.index) {
      putInto(state.indexes, index, sortKey, value)
    }
    for (const entry of command.log) {
      state.log.push({ sequence: state.nextSequence++, atMs: nowMs(), entry })
    }
  }

  function fillOne(record: OwnedRecord): void {
    if (record.kind === 'index') {
      putInto(state.indexes, record.index, record.sortKey, record.value)
    } else if (record.kind === 'log') {
      const atMs = record.writtenMicros / 1_000
      state.log.push({ sequence: state.nextSequence++, atMs, entry: record.entry })
    } else {
      const blank: Aggregate = { version: '', root: '', groups: new Map() }
      const aggregate = state.aggregates.get(record.aggregate) ?? blank
      state.aggregates.set(record.aggregate, aggregate)
      if (record.kind === 'root') {
        aggregate.version = record.version
        aggregate.root = record.value
      } else putInto(aggregate.groups, record.group, record.id, record.value)
    }
  }

  function refuseWhenClosed(): void {
    if (isClosed) throw new StoreError('the store is closed', 'no')
  }

  return {
    commit: ownNowMs === undefined ? commit : refusingPassed(commit, ownNowMs),

    async load(keys) {
      refuseWhenClosed()
      if (isDead) return never()
      return keys.map((key) => {
        const aggregate = state.aggregates.get(key.aggregate)
        if (aggregate === undefined) return undefined
        if (key.group === '' && key.id === '') {
          return { value: aggregate.root, version: aggregate.version }
        }
        const value = childOf(aggregate, key)
        return value === undefined ? undefined : { value, version: '' }
      })
    },

    async range(index, after, limit) {
      refuseWhenClosed()
      const entries = [...(state.indexes.get(index) ?? [])]
      return sorted(
        after === '' ? entries : entries.filter(([key]) => compareBytes(key, after) > 0),
      )
        .slice(0, Math.max(0, limit))
        .map(([sortKey, value]) => ({ sortKey, value }))
    },

    async count(index, prefix) {
      refuseWhenClosed()
      const sortKeys = [...(state.indexes.get(index)?.keys() ?? [])]
      return sortKeys.filter((sortKey) => sortKey.startsWith(prefix)).length
    },

    async readLog(after, limit) {
      refuseWhenClosed()
      const start = after === '' ? 0 : Number(after)
      return state.log
        .filter(({ sequence }) => sequence > start)
        .slice(0, Math.max(0, limit))
        .map(toLogLine)
    },

    async tailLog(limit, before = '') {
      refuseWhenClosed()
      const end = before === '' ? Infinity : Number(before)
      const earlier = state.log.filter(({ sequence }) => sequence < end)
      return limit < 1 ? [] : earlier.slice(-limit).map(toLogLine)
    },

    async sweep(sweptAtMs, logBeforeMs, limit) {
      refuseWhenClosed()
      const today = Math.floor(sweptAtMs / dayMs)
      let groupsDropped = 0
      for (const aggregate of state.aggregates.values()) {
        for (const group of aggregate.groups.keys()) {
          if (lastDayOf(group) < today && groupsDropped < limit) {
            aggregate.groups.delete(group)
            groupsDropped++
          }
        }
      }
      const expired = state.log.filter(({ atMs }) => atMs < logBeforeMs).slice(0, limit)
      const dropped = new Set(expired)
      const kept = state.log.filter((line) => !dropped.has(line))
      state.log.splice(0, state.log.length, ...kept)
      return groupsDropped + dropped.size
    },

    async *scan() {
      refuseWhenClosed()
      const today = ownNowMs === undefined ? 0 : Math.floor(ownNowMs() / dayMs)
      const records: StoreRecord[] = []
      for (const [aggregate, { version, root, groups }] of state.aggregates) {
        records.push({ kind: 'root', aggregate, version, value: root })
        for (const [group, children] of groups) {
          if (lastDayOf(group) < today) continue
          for (const [id, value] of children) {
            records.push({ kind: 'child', aggregate, group, id, value })
          }
        }
      }
      for (const [index, entries] of state.indexes) {
        for (const [sortKey, value] of entries) {
          records.push({ kind: 'index', index, sortKey, value })
        }
      }
      yield records
      yield state.log.map(({ atMs, entry }) => {
        return { kind: 'log', writtenMicros: 1_000 * atMs, entry }
      })
    },

    async fill(records) {
      refuseWhenClosed()
      for (const record of records) fillOne(record)
    },

    async close() {
      isClosed = true
    },

    dump() {
      return {
        aggregates: Object.fromEntries(
          sorted(state.aggregates).map(([name, { version, root, groups }]) => [
            name,
            { version, root, groups: dumpGroups(groups) },
          ]),
        ),
        indexes: dumpGroups(state.indexes),
        log: state.log.map(({ entry }) => entry),
      }
    },
  }
}

function run(execute: () => Outcome[]): Outcome[] {
  return execute()
}

function childOf(aggregate: Aggregate | undefined, { group, id }: ChildKey): string | undefined {
  return aggregate?.groups.get(group)?.get(id)
}

function putInto(
  groups: Map<string, Map<string, string>>,
  group: string,
  id: string,
  value: string,
): void {
  const entries = groups.get(group)
  if (entries === undefined) groups.set(group, new Map([[id, value]]))
  else entries.set(id, value)
}

function removeFrom(groups: Map<string, Map<string, string>>, group: string, id: string): void {
  const entries = groups.get(group)
  entries?.delete(id)
  // An empty group is no group: a dump must not tell how it came about.
  if (entries?.size === 0) groups.delete(group)
}

function dumpGroups(groups: Map<string, Map<string, string>>) {
  return Object.fromEntries(sorted(groups).map(([name, entries]) => [name, sorted(entries)]))
}

function sorted<V>(entries: Iterable<[string, V]>): [string, V][] {
  return [...entries].sort(([a], [b]) => compareBytes(a, b))
}

const surrogate = /[\ud800-\udfff]/

/** JavaScript orders strings by UTF-16, which is the order of their bytes but for surrogates. */
function compareBytes(a: string, b: string): number {
  if (surrogate.test(a) || surrogate.test(b)) return Buffer.compare(Buffer.from(a), Buffer.from(b))
  if (a === b) return 0
  return a < b ? -1 : 1
}

function toLogLine({ sequence, atMs, entry }: MemoryState['log'][number]): LogLine {
  return { cursor: String(sequence), writtenMs: atMs, entry }
}
