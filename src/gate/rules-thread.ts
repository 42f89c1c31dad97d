import type { Worker } from 'node:worker_threads'
import { programFolder } from '../installation.ts'
import type { FromLoader, LoaderSettings, ToLoader } from '../rules/load/loader.ts'
import type { PackBytes } from '../rules/pack/bytes.ts'
import { openThread } from '../thread.ts'

/** A pack that was checked; a later one has a higher number. */
interface CheckedPack {
  readonly number: number
  readonly version: string
  readonly bytes: PackBytes
}

export interface RulesThreadOptions {
  readonly settings: Omit<LoaderSettings, 'used' | 'seen'>
  readonly heapMb: number
  /** Another pack than before is to be used. */
  readonly onPack: (pack: CheckedPack, warnings: readonly string[]) => void
  /** The folder has the pack that is in use, again or still. */
  readonly onUnchanged: () => void
  /** What is wrong with the folder; the pack before goes on, where there is one. */
  readonly onRefused: (problem: string) => void
}

export interface RulesThread {
  /** The newest that was checked. */
  readonly pack: CheckedPack | null
  /** Looks at the folder now; resolves to what is wrong with it, '' when `pack` is what it has. */
  load(): Promise<string>
  stop(): Promise<void>
}

/** Far more than the largest pack takes; its tests are the author's. */
const loadingMs = 60_000
const restartDelayMs = 1_000

/**
 * Keeps the thread that watches the folder and checks packs. Neither gate nor engine waits for it, and
 * whatever a pack does to it, they go on with the pack they have.
 */
export function startRulesThread(options: RulesThreadOptions): RulesThread {
  let worker: Worker | null = null
  let pack: CheckedPack | null = null
  let seen = ''
  let ids = 0
  let stopped = false
  let failure = ''
  let limit: NodeJS.Timeout | undefined
  const waiting = new Map<number, (problem: string) => void>()

  function start(): void {
    const current = openThread(new URL('rules/load/loader.js', programFolder), {
      workerData: {
        ...options.settings,
        used: pack?.version ?? '',
        // That the folder has the pack in use is told anew: something else was wrong since.
        seen: seen === pack?.version ? '' : seen,
      } satisfies LoaderSettings,
      resourceLimits: { maxOldGenerationSizeMb: options.heapMb },
    })
    worker = current
    failure = ''
    current.on('message', receive)
    current.on('error', (error: NodeJS.ErrnoException) => {
      const full = error.code === 'ERR_WORKER_OUT_OF_MEMORY'
      failure = full ? 'it is too large: make it smaller, or raise ENGINE_HEAP_MB' : error.message
    })
    current.on('exit', lost)
    for (const id of waiting.keys()) current.postMessage({ id } satisfies ToLoader)
  }

  function receive(message: FromLoader): void {
    clearTimeout(limit)
    if (message.type === 'loading') {
      seen = message.version
      limit = setTimeout(giveUp, loadingMs)
    } else if (message.type === 'refused') {
      refused(message.problem, message.ids)
    } else {
      const { version, pack: bytes, warnings } = message
      if (bytes === null) options.onUnchanged()
      else {
        pack = { number: (pack?.number ?? 0) + 1, version, bytes }
        options.onPack(pack, warnings)
      }
      answer(message.ids, '')
    }
  }

  function refused(problem: string, answered: Iterable<number>): void {
    options.onRefused(problem)
    answer(answered, problem)
  }

  function answer(answered: Iterable<number>, problem: string): void {
    for (const id of [...answered]) {
      waiting.get(id)?.(problem)
      waiting.delete(id)
    }
  }

  /** It runs nothing but our code and the pack's tests, so it can be ended at any time. */
  function giveUp(): void {
    failure = `loading took more than ${loadingMs} ms`
    void worker?.terminate()
  }

  function lost(): void {
    worker = null
    clearTimeout(limit)
    if (stopped) return
    refused(`the pack could not be loaded: ${failure || 'its thread ended'}`, waiting.keys())
    setTimeout(() => {
      if (!stopped) start()
    }, restartDelayMs).unref()
  }

  start()

  return {
    get pack() {
      return pack
    },
    load() {
      return new Promise((resolve) => {
        const id = ids++
        waiting.set(id, resolve)
        worker?.postMessage({ id } satisfies ToLoader)
      })
    },
    async stop() {
      stopped = true
      clearTimeout(limit)
      await worker?.terminate()
    },
  }
}
