import type { FollowedClock } from '../clock.ts'
import type { Store } from '../store/port.ts'
import type { Engine } from './engine.ts'
import { indexes, splitSortKey } from './layout.ts'

export interface SweeperOptions {
  readonly engine: Engine
  readonly store: Store
  readonly clock: FollowedClock
  readonly intervalMs: number
  readonly logRetentionMs: number
  readonly onError: (error: unknown) => void
}

export interface Sweeper {
  /** Tends all that is due now and drops what is past its time; resolves to how many were tended. */
  sweep(): Promise<number>
  stop(): void
}

const batchSize = 200

/** Sends holds whose time has come through the engine, as any other event. */
export function startSweeper(options: SweeperOptions): Sweeper {
  const { engine, store, clock } = options
  let stopped = false
  let running: Promise<number> | null = null

  /** What a wrong clock has expired or dropped does not come back: while there is a doubt, all waits. */
  function isOver(): boolean {
    return stopped || clock.isDoubted()
  }

  async function tendDue(): Promise<number> {
    let tended = 0
    let after = ''
    while (!isOver()) {
      const entries = await store.range(indexes.due, after, batchSize)
      const due = entries.filter(({ sortKey }) => splitSortKey(sortKey).atMs <= clock.nowMs())
      await Promise.all(due.map(({ sortKey }) => tendOne(sortKey)))
      tended += due.length
      if (due.length < batchSize) return tended
      after = due.at(-1)!.sortKey
    }
    return tended
  }

  function tendOne(sortKey: string): Promise<void> {
    const [accountId = '', cardId = '', transactionId = ''] = splitSortKey(sortKey).parts
    return engine.tend(accountId, cardId, transactionId, sortKey)
  }

  async function dropOld(): Promise<void> {
    const nowMs = clock.nowMs()
    while (!isOver() && (await store.sweep(nowMs, nowMs - options.logRetentionMs, batchSize)) > 0) {
      // Let events through between two portions.
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  async function sweepAll(): Promise<number> {
    const tended = await tendDue()
    await dropOld()
    return tended
  }

  function sweep(): Promise<number> {
    running ??= sweepAll().finally(() => {
      running = null
    })
    return running
  }

  const timer = setInterval(() => void sweep().catch(options.onError), options.intervalMs)
  timer.unref()

  return {
    sweep,
    stop() {
      stopped = true
      clearInterval(timer)
    },
  }
}
