import type { ChildKey, ChildPut, Command, IndexEntryPut, IndexKey, Loaded } from '../store/port.ts'

/** An aggregate as one change finds it. */
export interface AggregateView {
  /** null while the aggregate does not exist. */
  readonly root: string | null
  /** One of the children that the change reads; null when there is none. */
  child(key: ChildKey): string | null
}

/** What a change writes; an empty one only renews the version. */
export interface AggregateWrite {
  /** Absent: the root stays as it is. */
  readonly root?: string
  readonly put?: readonly ChildPut[]
  readonly remove?: readonly ChildKey[]
  readonly index?: readonly IndexEntryPut[]
  readonly unindex?: readonly IndexKey[]
  readonly log?: readonly string[]
}

/** A working copy of one aggregate, which the changes of a batch are decided on in turn. */
export interface AggregateCopy {
  readonly view: AggregateView
  /** As it was read; null while the aggregate does not exist. */
  readonly version: string | null
  write(write: AggregateWrite): void
  commandOf(aggregate: string, forced: boolean, newVersion: () => string): Command | null
}

export function openAggregateCopy(
  keys: readonly ChildKey[],
  loaded: readonly (Loaded | undefined)[],
): AggregateCopy {
  const children = new Map<string, string | null>()
  keys.forEach((key, i) => {
    if (i > 0) children.set(nameOf(key), loaded[i]?.value ?? null)
  })
  const version = loaded[0]?.version ?? null
  let written = false
  const puts = new Map<string, ChildPut>()
  const removed = new Map<string, ChildKey>()
  const index = new Map<string, IndexEntryPut>()
  const unindex = new Map<string, IndexKey>()
  const log: string[] = []

  // No getter: with one V8 makes a hidden class for each copy, which keeps all of it until a full collection.
  const view = {
    root: loaded[0]?.value ?? null,
    child(key: ChildKey) {
      const found = children.get(nameOf(key))
      if (found === undefined) throw new Error('a change looks at a child that it does not read')
      return found
    },
  }

  return {
    view,
    version,
    write(write) {
      written = true
      view.root = write.root ?? view.root ?? ''
      for (const key of write.remove ?? []) {
        children.set(nameOf(key), null)
        puts.delete(nameOf(key))
        removed.set(nameOf(key), key)
      }
      for (const put of write.put ?? []) {
        children.set(nameOf(put), put.value)
        removed.delete(nameOf(put))
        puts.set(nameOf(put), put)
      }
      for (const key of write.unindex ?? []) {
        index.delete(`${key.index}\n${key.sortKey}`)
        unindex.set(`${key.index}\n${key.sortKey}`, key)
      }
      for (const entry of write.index ?? []) {
        unindex.delete(`${entry.index}\n${entry.sortKey}`)
        index.set(`${entry.index}\n${entry.sortKey}`, entry)
      }
      log.push(...(write.log ?? []))
    },
    commandOf(aggregate, forced, newVersion) {
      if (!written && !forced) return null
      return {
        aggregate,
        expectedVersion: version,
        newVersion: newVersion(),
        root: view.root ?? '',
        mustBeAbsent: [],
        put: [...puts.values()],
        remove: [...removed.values()],
        index: [...index.values()],
        unindex: [...unindex.values()],
        log,
      }
    },
  }
}

function nameOf({ group, id }: ChildKey): string {
  return `${group}\n${id}`
}
