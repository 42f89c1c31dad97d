import type { FollowedClock } from '../clock.ts'
import type { ReachableEntries, Store } from '../store/port.ts'
import { waitAtMost } from '../timing.ts'
import type { Engine } from './engine.ts'
import { indexes, splitSortKey } from './format/layout.ts'

export interface SweeperOptions {
  readonly engine: Pick<Engine, 'sweepTransaction'>
  readonly store: Store
  readonly clock: FollowedClock
  readonly intervalMs: number
  readonly logRetentionMs: number
  /** Told when it changes: a store may be away for hours, and is looked for every second. */
  readonly onError: (error: unknown) => void
  /** How many of the first entries name no transaction; told when it changes. */
  readonly onUnreadable?: (entries: number) => void
}

export interface Sweeper {
  /**
   * Sweeps all that is due now and drops what is past its time; resolves to how many there were. What a node keeps
   * that is down is not waited for.
   */
  sweep(): Promise<number>
  stop(): void
}

const batchSize = 200
/** A portion that takes longer leaves its place to the next: some of its accounts may be on a node that is down. */
const patientMs = 500
/** Of a node that can be read and takes no commits all that is due comes to wait. */
const maxAtWork = 10_000

interface DuePlace {
  readonly sortKey: string
  readonly dueAtMs: number
  readonly parts: readonly [accountId: string, cardId: string, transactionId: string]
}

const timePattern = /^\d{15,16}$/
const namePattern = /^[\x20-\x7e\u00b7]{1,80}$/

export function duePlace(sortKey: string): DuePlace | null {
  const [time = '', ...parts] = sortKey.split('\n')
  const isPlace = parts.length === 3 && parts.every((part) => namePattern.test(part))
  if (!isPlace || !timePattern.test(time)) return null
  return { sortKey, dueAtMs: splitSortKey(sortKey).atMs, parts: parts as never }
}

/** Sends holds whose time has come through the engine, as any other event. */
export function startSweeper(options: SweeperOptions): Sweeper {
  const { engine, store, clock } = options
  let stopped = false
  let running: Promise<number> | null = null
  let unreadable = 0
  /** Sort keys of what waits for its account's commit. */
  const atWork = new Set<string>()

  /** What a wrong clock has expired or dropped does not come back: while there is a doubt, all waits. */
  function isOver(): boolean {
    return stopped || clock.isDoubted()
  }

  async function sweepDue(): Promise<number> {
    let swept = 0
    let after = ''
    while (!isOver() && atWork.size < maxAtWork) {
      const { entries, unread } = await dueAfter(after)
      const nowMs = clock.nowMs()
      // What is no place of a transaction is passed over: its neighbours are.
      const places = entries.map(({ sortKey }) => duePlace(sortKey))
      const due = places.filter((place) => place !== null && place.dueAtMs <= nowMs)
      const begun = due.filter((place) => !atWork.has(place!.sortKey))
      const broken = places.filter((place) => place === null).length
      if (after === '' && unread === 0 && broken !== unreadable) {
        unreadable = broken
        options.onUnreadable?.(broken)
      }
      await waitAtMost(patientMs, Promise.all(begun.map((place) => sweepOne(place!))))
      swept += begun.length
      const last = places.at(-1)
      if (entries.length < batchSize || (last && last.dueAtMs > nowMs)) return swept
      after = entries.at(-1)!.sortKey
    }
    return swept
  }

  /** A node that is away keeps only its own. */
  async function dueAfter(after: string): Promise<ReachableEntries> {
    if (store.rangeReachable !== undefined) {
      return store.rangeReachable(indexes.due, after, batchSize)
    }
    return { entries: await store.range(indexes.due, after, batchSize), unread: 0 }
  }

  async function sweepOne({ sortKey, parts }: DuePlace): Promise<void> {
    const [accountId, cardId, transactionId] = parts
    atWork.add(sortKey)
    try {
      await engine.sweepTransaction(accountId, cardId, transactionId, sortKey)
    } finally {
      atWork.delete(sortKey)
    }
  }

  async function dropOld(): Promise<void> {
    const nowMs = clock.nowMs()
    while (!isOver() && (await store.sweep(nowMs, nowMs - options.logRetentionMs, batchSize)) > 0) {
      // Let events through between two portions.
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  async function sweepAll(): Promise<number> {
    const swept = await sweepDue()
    await dropOld()
    return swept
  }

  function sweep(): Promise<number> {
    running ??= sweepAll().finally(() => {
      running = null
    })
    return running
  }

  let told = ''

  function tell(error: unknown): void {
    if (String(error) === told) return
    told = String(error)
    options.onError(error)
  }

  function sweepInTurn(): void {
    sweep().then(() => {
      told = ''
    }, tell)
  }

  const timer = setInterval(sweepInTurn, options.intervalMs)
  timer.unref()

  return {
    sweep,
    stop() {
      stopped = true
      clearInterval(timer)
    },
  }
}
