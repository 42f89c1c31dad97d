import { indexes, splitSortKey } from '../../engine/format/layout.ts'
import { failureText } from '../../store/failure-text.ts'
import { type ReachableEntries, type Store, StoreError } from '../../store/port.ts'
import { waitAtMost } from '../../timing.ts'
import type { TransferSteps } from './step.ts'
import { lookedAfterMs } from './transfer.ts'
import type { Transfers } from './transfers.ts'

export interface TransferSweeperOptions {
  readonly store: Pick<Store, 'range' | 'rangeReachable'>
  readonly steps: Pick<TransferSteps, 'find'>
  readonly transfers: Pick<Transfers, 'finish'>
  readonly clock: { nowMs(): number; isDoubted?(): boolean }
  readonly intervalMs: number
  /** After every look. */
  readonly onOpen?: (open: OpenTransfers) => void
  readonly onTrouble: (message: string) => void
}

/** What was on its way at the last look. */
export interface OpenTransfers {
  /** At most `maxOpen`. */
  readonly count: number
  /** Since its call came; 0 when there is none. */
  readonly oldestMs: number
  /** Places of the store that did not answer: there is at least what was there before. */
  readonly unread: number
}

export interface TransferSweeper {
  readonly open: OpenTransfers
  /** Looks after all that is due now; resolves when each was tried once. */
  sweep(): Promise<void>
  stop(): void
}

/** Transfers that are counted, and looked after in one look; the next one begins behind them. */
const maxOpen = 10_000
const perRead = 500
/** Those that failed before have places of their own: a node that is down must not take all. */
const maxAtWork = 16
/** One that takes longer leaves its place to the next: its destination may be on a node that is down. */
const patientMs = 500
const againMs = 5_000
const maxKnown = 20_000

interface Place {
  readonly sortKey: string
  readonly dueAtMs: number
  readonly home: string
  readonly clientId: string
  readonly reference: string
}

/** Finishes what crashed servers left on its way: credits it, or takes it back. Every instance does. */
export function startTransferSweeper(options: TransferSweeperOptions): TransferSweeper {
  const { store, steps, transfers, clock } = options
  const failed = new Map<string, number>()
  const atWork = new Set<string>()
  const [fresh, again] = [createPool(), createPool()]
  let open: OpenTransfers = { count: 0, oldestMs: 0, unread: 0 }
  let lookedMs = 0
  /** Where the next look begins: one that found too many has not seen what is behind them. */
  let begin = ''
  let running: Promise<void> | null = null
  let stopped = false

  /** Also those that are not due yet, because they count as open; `end` is '' when there are no more. */
  async function list() {
    const places: Place[] = []
    let unread = 0
    let end = begin
    while (places.length < maxOpen) {
      const read = await range(end)
      unread = Math.max(unread, read.unread)
      places.push(...read.entries.flatMap(({ sortKey }) => placeOf(sortKey)))
      end = read.entries.length < perRead ? '' : read.entries.at(-1)!.sortKey
      if (end === '') break
    }
    return { places, unread, end }
  }

  async function range(after: string): Promise<ReachableEntries> {
    if (store.rangeReachable !== undefined) {
      return store.rangeReachable(indexes.moving, after, perRead)
    }
    return { entries: await store.range(indexes.moving, after, perRead), unread: 0 }
  }

  /** Drives what waits, some at a time. */
  function createPool() {
    const waiting: Place[] = []
    const workers = new Set<Promise<void>>()
    const driven = new Set<Promise<void>>()
    async function work(): Promise<void> {
      for (let next = waiting.shift(); next !== undefined && !stopped; next = waiting.shift()) {
        const { sortKey } = next
        const ended: Promise<void> = drive(next).then(() => {
          atWork.delete(sortKey)
          driven.delete(ended)
        })
        driven.add(ended)
        await waitAtMost(patientMs, ended)
      }
    }
    return {
      add(place: Place): void {
        atWork.add(place.sortKey)
        waiting.push(place)
        if (workers.size >= maxAtWork) return
        const worker: Promise<void> = work().finally(() => workers.delete(worker))
        workers.add(worker)
      },
      async idle(): Promise<void> {
        await Promise.all(workers)
        await Promise.all(driven)
      },
    }
  }

  /** Never rejects: what fails is tried again. */
  async function drive({ home, clientId, reference, sortKey }: Place): Promise<void> {
    try {
      const found = await steps.find(home, { clientId, reference }, sortKey)
      if (found !== null) await transfers.finish(found)
      failed.delete(sortKey)
    } catch (error) {
      if (failed.size < maxKnown) failed.set(sortKey, clock.nowMs() + againMs)
      if (error instanceof StoreError) return
      options.onTrouble(`a transfer of ${home} cannot be finished: ${failureText(error)}`)
    }
  }

  async function look(): Promise<void> {
    const { places, unread, end } = await list()
    const nowMs = clock.nowMs()
    const [oldest] = places
    const oldestMs = oldest === undefined ? 0 : nowMs - oldest.dueAtMs + lookedAfterMs
    const read = { count: places.length, oldestMs: Math.max(0, oldestMs), unread }
    const isWhole = unread === 0 && begin === ''
    open = isWhole ? read : atLeast(read, open, nowMs - lookedMs)
    lookedMs = nowMs
    options.onOpen?.(open)
    const isSeen = (sortKey: string) => sortKey > begin && (end === '' || sortKey <= end)
    const known = new Set(places.map(({ sortKey }) => sortKey))
    for (const key of failed.keys()) if (isSeen(key) && !known.has(key)) failed.delete(key)
    begin = end
    // A clock that jumped would call everything due, which does no harm, or too old, which does.
    if (clock.isDoubted?.() === true) return
    for (const place of places) {
      if (atWork.size >= maxOpen) break
      if (place.dueAtMs > nowMs || atWork.has(place.sortKey)) continue
      const againAtMs = failed.get(place.sortKey)
      if (againAtMs === undefined) fresh.add(place)
      else if (againAtMs <= nowMs) again.add(place)
    }
  }

  function looking(): Promise<void> {
    running ??= look().finally(() => {
      running = null
    })
    return running
  }

  const timer = setInterval(() => {
    looking().catch((error: unknown) => {
      if (!(error instanceof StoreError))
        options.onTrouble(`sweeping failed: ${failureText(error)}`)
    })
  }, options.intervalMs)
  timer.unref()

  return {
    get open() {
      return open
    },
    async sweep() {
      await looking()
      await Promise.all([fresh.idle(), again.idle()])
    },
    stop() {
      stopped = true
      clearInterval(timer)
    },
  }
}

/** What was seen before where nobody can look now is still there, and older. */
function atLeast(read: OpenTransfers, before: OpenTransfers, passedMs: number): OpenTransfers {
  const agedMs = before.oldestMs === 0 ? 0 : before.oldestMs + passedMs
  const count = Math.max(read.count, before.count)
  return { ...read, count, oldestMs: Math.max(read.oldestMs, agedMs) }
}

function placeOf(sortKey: string): Place[] {
  const { atMs: dueAtMs, parts } = splitSortKey(sortKey)
  const [home, clientId, reference] = parts
  if (home === undefined || clientId === undefined || reference === undefined) return []
  return Number.isFinite(dueAtMs) ? [{ sortKey, dueAtMs, home, clientId, reference }] : []
}
