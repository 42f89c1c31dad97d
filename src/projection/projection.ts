import type { FollowedClock } from '../clock.ts'
import { createAggregates } from '../engine/aggregates.ts'
import { RecordUnreadable } from '../engine/format/row-codec.ts'
import { type Store, StoreError } from '../store/port.ts'
import type { Consumer } from './consumer.ts'
import { createProjector, type ProjectionFigures } from './projector.ts'
import { createRowDesk } from './row-desk.ts'
import { createRowSweep } from './row-sweep.ts'
import { createWalletSweep } from './wallet-sweep.ts'

export interface ProjectionOptions {
  readonly store: Store
  readonly clock: FollowedClock
  readonly newVersion: () => string
  /** Names the process among those that share the store; null where no other does. */
  readonly instance: string | null
  /** How long rows of the transactions list, and entries of wallets, are kept. */
  readonly retentionDays: number
  /** Who makes something of the log besides rows of that list. */
  readonly consumers: readonly Consumer[]
  /** About once a second. */
  readonly onFigures: (figures: ProjectionFigures) => void
  readonly onTrouble: (message: string) => void
}

export interface Projection {
  /** Lets another instance take over at once. */
  stop(): Promise<void>
}

const pauseMs = 250
const failedPauseMs = 2_000
const figuresMs = 1_000
const sweepMs = 60_000

/** Keeps what follows from the decision log: lists, and what others make of it. */
export function startProjection(options: ProjectionOptions): Projection {
  const { store, clock, retentionDays, onTrouble } = options
  const aggregates = createAggregates({ store, newVersion: options.newVersion })
  const rows = createRowDesk({ aggregates, retentionDays, nowMs: clock.nowMs })
  const consumers = [rows, ...options.consumers]
  // Who is alone need not wait for one that was killed to be missed.
  const instance = options.instance ?? 'alone'
  const projector = createProjector({ store, aggregates, clock, instance, consumers, onTrouble })
  let stopped = false
  let timer: NodeJS.Timeout | null = null
  const swept = { store, aggregates, clock, retentionDays }
  const sweeps = [createRowSweep(swept), createWalletSweep(swept)]
  /** The sweep whose round is not over. */
  let sweeping = 0
  let sweptMonoMs = clock.monoMs()
  let failing = ''

  /** Resolves to whether there may be more to do at once. */
  async function step(): Promise<boolean> {
    if (await projector.step()) return true
    if (!projector.isLeading || clock.monoMs() - sweptMonoMs < sweepMs) return false
    for (; sweeping < sweeps.length; sweeping++) if (await sweeps[sweeping]!()) return true
    sweeping = 0
    sweptMonoMs = clock.monoMs()
    return false
  }

  async function work(): Promise<void> {
    let nextMs = pauseMs
    try {
      if (await step()) nextMs = 0
      failing = ''
    } catch (error) {
      nextMs = failedPauseMs
      const message = troubleOf(error)
      if (message !== failing) onTrouble(`the lists do not follow the log: ${message}`)
      failing = message
    }
    if (!stopped) timer = setTimeout(begin, nextMs)
  }

  let working = Promise.resolve()
  function begin(): void {
    working = work()
  }

  const telling = setInterval(() => options.onFigures(projector.figures), figuresMs)
  telling.unref()
  begin()
  return {
    async stop() {
      stopped = true
      clearInterval(telling)
      if (timer !== null) clearTimeout(timer)
      await working
      await projector.stop().catch(() => {})
      aggregates.stop()
    },
  }
}

function troubleOf(error: unknown): string {
  if (error instanceof StoreError) return error.message
  if (!(error instanceof RecordUnreadable)) return String((error as Error).stack)
  return `a record cannot be read, ${error.message}: see arbiter damaged`
}
