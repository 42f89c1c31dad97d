import { randomBytes } from 'node:crypto'
import type { Clock } from '../../clock.ts'
import type { Pack } from '../../domain/decide/pack.ts'
import { countPlace, maxSharedKeys, sharedKeysOf } from '../../domain/decide/shared-window.ts'
import type { SharedCounts, SharedPlace, WindowFacts } from '../../domain/decide/window.ts'
import type { OpenStates, WindowStates } from '../../domain/record/window-state.ts'
import { type ChildPut, type Loaded, StoreError } from '../../store/port.ts'
import type { Aggregates } from '../aggregates.ts'
import { sharedCountsKey } from '../format/layout.ts'
import type { Wanted } from '../memory/working-book.ts'
import { addWriting, encodeCounts, isWrittenBy, readCounts, withIds } from './record.ts'

/** How often an instance writes what it has counted: what a crash can lose. */
const sharedFlushMs = 1000
/** What other instances counted is read again after this time, by the next ask that needs it. */
export const sharedStaleMs = 1000
/** Of the 256 partitions; beyond it the store forgets what was counted longest ago. */
const maxIdsPerPartition = 1000
/** Asks that wait to be written; while the store is away longer, later ones are not counted there. */
const maxPendingCounts = 100_000

/**
 * Keeps the windows over several cards. Decisions read memory, and count there once they are committed;
 * the store is written behind them, in records that no account's commit touches, so that no card waits for
 * another. What instances count meets there.
 */
export interface SharedDesk extends SharedCounts {
  /** What must be read before an ask can be decided; null when memory has all of it. */
  missing(pack: Pack, facts: WindowFacts): Wanted | null
  /** Merchants, customers and so on in memory. */
  readonly size: number
  /** Writes what is left. */
  stop(): Promise<void>
}

export interface SharedDeskOptions {
  readonly aggregates: Aggregates
  readonly clock: Pick<Clock, 'monoMs'>
  /** Infinity where nobody else writes the store. */
  readonly staleMs: number
  readonly onTrouble: (message: string) => void
  readonly flushMs?: number
  readonly maxKeys?: number
  readonly maxPending?: number
}

interface Counted {
  readonly place: SharedPlace
  readonly amountMinor: number
}

/** Counts that are written together; the store may have them though nobody heard it, and says so by this name. */
interface Writing {
  readonly name: string
  readonly counted: readonly Counted[]
}

interface Held {
  /** As the store had it, with all that was counted here since. */
  states: OpenStates
  readMonoMs: number
  /** Counted here and not yet on its way to the store. */
  pending: Counted[]
  /** On its way, or to be written again before all that is pending; null when all was heard of. */
  writing: Writing | null
  flying: boolean
}

const nothing: WindowStates = {}

export function createSharedDesk(options: SharedDeskOptions): SharedDesk {
  const { aggregates, clock, staleMs, flushMs = sharedFlushMs } = options
  const { maxKeys = maxSharedKeys, maxPending = maxPendingCounts } = options
  const byKey = new Map<string, Held>()
  const dirty = new Set<string>()
  const underWay = new Set<Promise<boolean>>()
  let pendingCount = 0

  /** Gives the key's place, as the one that was used last. */
  function open(key: string): Held {
    const held = byKey.get(key) ?? {
      states: {},
      readMonoMs: Number.NEGATIVE_INFINITY,
      pending: [],
      writing: null,
      flying: false,
    }
    byKey.delete(key)
    byKey.set(key, held)
    return held
  }

  function trim(): void {
    for (const [key, { flying }] of byKey) {
      if (byKey.size <= maxKeys) return
      if (!flying && !dirty.has(key)) byKey.delete(key)
    }
  }

  function isFresh(key: string): boolean {
    const held = byKey.get(key)
    return held !== undefined && clock.monoMs() - held.readMonoMs <= staleMs
  }

  function fill(key: string, found: Loaded | undefined): void {
    const held = open(key)
    held.readMonoMs = clock.monoMs()
    // What flies may be in what was read or not: the commit tells.
    if (held.flying) return
    held.states = withCounted(withWriting(key, found?.value ?? null, held.writing), held.pending)
  }

  /** Writes the counts of one partition; resolves to whether they are written. */
  async function write(aggregate: string, keys: readonly string[]): Promise<boolean> {
    const taken = keys.map((key) => {
      const held = open(key)
      held.flying = true
      if (held.writing === null) {
        held.writing = { name: randomBytes(6).toString('base64url'), counted: held.pending }
        held.pending = []
      }
      if (held.pending.length === 0) dirty.delete(key)
      return { key, held, writing: held.writing, place: sharedCountsKey(key) }
    })
    const finish = () => {
      for (const { held, writing } of taken) {
        pendingCount -= writing.counted.length
        held.writing = null
      }
    }
    try {
      const written = await aggregates.change({
        aggregate,
        reads: taken.map(({ place }) => place),
        decide(view) {
          // It is decided again where nobody heard what became of it: nothing counts twice.
          const merged = taken.map(({ key, writing, place }) =>
            withWriting(key, view.child(place), writing),
          )
          const ids = taken.map(({ place }) => place.id)
          const { root, gone } = withIds(view.root, ids, maxIdsPerPartition)
          const put = taken.map(({ key, place, writing }, i): ChildPut => {
            const names = addWriting(view.child(place), writing.name)
            const value = encodeCounts(key, merged[i]!, names)
            return { group: place.group, id: place.id, value }
          })
          const remove = gone.map((id) => ({ group: taken[0]!.place.group, id }))
          return { result: merged, write: { root, put, remove } }
        },
      })
      finish()
      taken.forEach(({ held }, i) => {
        held.states = withCounted(written[i]!, held.pending)
        held.readMonoMs = clock.monoMs()
      })
      return true
    } catch (error) {
      // A bug would come back with the same counts: they are left out, and somebody is told.
      if (!(error instanceof StoreError)) {
        options.onTrouble(`counting failed: ${error}`)
        finish()
        return false
      }
      // The store is away, and may have them: they are written again as they are.
      for (const { key } of taken) dirty.add(key)
      return false
    } finally {
      for (const { held } of taken) held.flying = false
    }
  }

  async function flush(): Promise<void> {
    const byAggregate = new Map<string, string[]>()
    for (const key of dirty) {
      if (byKey.get(key)?.flying !== false) continue
      const { aggregate } = sharedCountsKey(key)
      const keys = byAggregate.get(aggregate)
      if (keys === undefined) byAggregate.set(aggregate, [key])
      else keys.push(key)
    }
    const writes = Array.from(byAggregate, ([aggregate, keys]) => write(aggregate, keys))
    for (const one of writes) {
      underWay.add(one)
      void one.finally(() => underWay.delete(one))
    }
    await Promise.all(writes)
    trim()
  }

  const timer = setInterval(() => void flush(), flushMs)
  timer.unref()
  return {
    statesOf: (key) => byKey.get(key)?.states ?? nothing,
    count(places, amountMinor) {
      for (const place of places) {
        const held = open(place.key)
        countPlace(held.states, place, amountMinor)
        if (pendingCount >= maxPending) continue
        held.pending.push({ place, amountMinor })
        pendingCount++
        dirty.add(place.key)
      }
    },
    missing(pack, facts) {
      const keys = sharedKeysOf(pack, facts).filter((key) => !isFresh(key))
      if (keys.length === 0) return null
      return {
        keys: keys.map(sharedCountsKey),
        fill(loaded) {
          for (const [i, key] of keys.entries()) fill(key, loaded[i])
        },
      }
    },
    get size() {
      return byKey.size
    },
    async stop() {
      clearInterval(timer)
      const begun = Promise.all(underWay)
      await flush()
      // What was counted while its key was on its way is left; a store that is away takes it no more.
      if ((await begun).every((isWritten) => isWritten)) await flush()
    },
  }
}

function withWriting(key: string, text: string | null, writing: Writing | null): OpenStates {
  const states = readCounts(key, text)
  if (writing === null || isWrittenBy(text, writing.name)) return states
  return withCounted(states, writing.counted)
}

function withCounted(states: OpenStates, counted: readonly Counted[]): OpenStates {
  for (const { place, amountMinor } of counted) countPlace(states, place, amountMinor)
  return states
}
