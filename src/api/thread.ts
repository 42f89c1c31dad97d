import { Worker } from 'node:worker_threads'
import type { AnsweredCall } from './server.ts'
import type { ApiWorkerSettings, FromApi, ToApi } from './worker.ts'

export interface ApiThreadOptions {
  readonly settings: ApiWorkerSettings
  readonly heapMb: number
  readonly onCalls: (calls: readonly AnsweredCall[]) => void
  readonly onListening: (port: number) => void
  /** It cannot start, and starting again would not help; nothing was served yet. */
  readonly onRefused: (message: string) => void
  readonly onTrouble: (message: string) => void
}

export interface ApiThread {
  readonly state: 'starting' | 'serving' | 'down' | 'stopped'
  readonly restarts: number
  /** Resolves when it listens, or when it cannot. */
  started(): Promise<void>
  stop(timeoutMs: number): Promise<void>
}

const firstRestartMs = 100
const maxRestartMs = 10_000

/** Keeps the management plane in a thread of its own; decisions go on whatever happens to it. */
export function startApiThread(options: ApiThreadOptions): ApiThread {
  let worker: Worker | null = null
  let state: ApiThread['state'] = 'starting'
  let served = false
  let restarts = 0
  let pauseMs = firstRestartMs
  let tellStarted: () => void = () => {}
  const first = new Promise<void>((resolve) => {
    tellStarted = resolve
  })

  function start(): void {
    const current = new Worker(new URL('./worker.js', import.meta.url), {
      workerData: options.settings,
      resourceLimits: { maxOldGenerationSizeMb: options.heapMb },
    })
    worker = current
    current.on('message', (message: FromApi) => receive(message))
    current.on('error', (error) => options.onTrouble(`the management API failed: ${error.message}`))
    current.on('exit', () => {
      if (worker === current) lost()
    })
  }

  function receive(message: FromApi): void {
    switch (message.type) {
      case 'calls':
        options.onCalls(message.calls)
        return
      case 'listening':
        state = 'serving'
        served = true
        pauseMs = firstRestartMs
        options.onListening(message.port)
        tellStarted()
        return
      case 'trouble':
        options.onTrouble(message.message)
        return
      case 'refused':
        if (served) options.onTrouble(`the management API cannot start: ${message.message}`)
        else options.onRefused(message.message)
    }
  }

  /** Each time a little later: a fault that comes back at once must not keep a core busy. */
  function lost(): void {
    worker = null
    if (state === 'stopped') return
    state = 'down'
    restarts++
    setTimeout(() => {
      if (state === 'down') start()
    }, pauseMs).unref()
    pauseMs = Math.min(maxRestartMs, 2 * pauseMs)
    // A store that is away keeps it from starting; the relay's port must not wait for that.
    tellStarted()
  }

  start()
  return {
    get state() {
      return state
    },
    get restarts() {
      return restarts
    },
    started: () => first,
    stop(timeoutMs) {
      const ending = worker
      state = 'stopped'
      if (ending === null) return Promise.resolve()
      return new Promise((resolve) => {
        const timer = setTimeout(resolve, timeoutMs)
        ending.once('exit', () => {
          clearTimeout(timer)
          resolve()
        })
        ending.postMessage({ type: 'stop' } satisfies ToApi)
      })
    },
  }
}
