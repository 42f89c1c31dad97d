import type { Worker } from 'node:worker_threads'
import { programFolder } from '../installation.ts'
import { openThread } from '../thread.ts'
import { waitAtMost } from '../timing.ts'
import type { FromSeeder, SeedingSettings, SeedingTask } from './worker.ts'

export interface SeedingWatchOptions {
  /** How many windows and facts of the pack in use the log is to be asked for. */
  readonly unseeded: () => number
  /** null while there is no pack. */
  readonly settings: () => SeedingSettings | null
  readonly heapMb: number
  readonly monoMs: () => number
  readonly onDone: (seeded: Extract<FromSeeder, { type: 'done' }>) => void
  readonly onTrouble: (message: string) => void
}

export interface SeedingWatch {
  stop(): Promise<void>
}

const lookMs = 250
const busyMs = 2_000
const failedMs = 60_000
/** It ends between two reads or commits, so a store that is away is not waited for. */
const stopMs = 3_000

/** Starts the thread that asks the log when a pack looks at what was not counted before. */
export function watchSeeding(options: SeedingWatchOptions): SeedingWatch {
  const { monoMs } = options
  let worker: Worker | null = null
  let version = ''
  /** The pack that accounts were not met for at a low priority. */
  let unmetVersion = ''
  let notBeforeMonoMs = 0
  let ended: Promise<void> = Promise.resolve()

  function look(): void {
    const settings = options.settings()
    if (worker !== null) {
      // Another pack looks at other things.
      if (settings?.rulesVersion !== version) worker.postMessage('stop')
      return
    }
    if (settings === null || options.unseeded() === 0) return
    if (settings.rulesVersion === version && monoMs() < notBeforeMonoMs) return
    start(settings)
  }

  function start(settings: SeedingSettings): void {
    version = settings.rulesVersion
    notBeforeMonoMs = monoMs() + busyMs
    const task: SeedingTask = { ...settings, hurries: unmetVersion === version }
    const current = openThread(new URL('seeding/worker.js', programFolder), {
      workerData: task,
      resourceLimits: { maxOldGenerationSizeMb: options.heapMb },
    })
    worker = current
    current.on('message', (said: FromSeeder) => {
      if (said.type === 'done') options.onDone(said)
      if (said.type === 'unmet') unmet(task)
      if (said.type === 'failed') failed(said.problem)
    })
    current.on('error', ({ message }: Error) => failed(message))
    ended = new Promise((resolve) => {
      current.on('exit', () => {
        worker = null
        resolve()
      })
    })
  }

  /** At the priority of decisions it must not go on again and again. */
  function unmet({ rulesVersion, hurries }: SeedingTask): void {
    unmetVersion = rulesVersion
    if (hurries) notBeforeMonoMs = monoMs() + failedMs
  }

  function failed(problem: string): void {
    notBeforeMonoMs = monoMs() + failedMs
    options.onTrouble(`seeding from the log failed, and is tried again: ${problem}`)
  }

  const timer = setInterval(look, lookMs)
  timer.unref()
  return {
    stop() {
      clearInterval(timer)
      worker?.postMessage('stop')
      return waitAtMost(stopMs, ended)
    },
  }
}
