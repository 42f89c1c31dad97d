import { type MessagePort, Worker, type WorkerOptions } from 'node:worker_threads'

/** What every thread beside gate and engine can say. */
export type FromThread<Told> =
  | { readonly type: 'listening'; readonly port: number }
  /** It cannot start, and starting again would not help. */
  | { readonly type: 'refused'; readonly message: string }
  | { readonly type: 'trouble'; readonly message: string }
  | { readonly type: 'told'; readonly told: Told }
  /** Its loop goes round. */
  | { readonly type: 'beat' }

export type ToThread<Given> =
  | { readonly type: 'stop' }
  | { readonly type: 'given'; readonly given: Given }

export interface SideThreadOptions<Told> {
  /** For sentences, such as "the management API". */
  readonly name: string
  readonly file: URL
  /** Asked at every start. */
  readonly settings: () => unknown
  readonly heapMb: number
  /** Where what was made lately lies, V8's own choice unless given. */
  readonly youngHeapMb?: number
  readonly onTold: (told: Told) => void
  readonly onListening: (port: number) => void
  /** It cannot start, and starting again would not help; nothing was served yet. */
  readonly onRefused: (message: string) => void
  readonly onTrouble: (message: string) => void
}

export interface SideThread<Given> {
  /** silent: it listens, and its loop has not gone round for some seconds. */
  readonly state: 'starting' | 'serving' | 'silent' | 'down' | 'stopped'
  readonly restarts: number
  /** Resolves when it listens, or when it cannot. */
  started(): Promise<void>
  /** What is given while it does not serve is lost. */
  give(given: Given): void
  stop(timeoutMs: number): Promise<void>
}

const firstRestartMs = 100
const maxRestartMs = 10_000
const beatMs = 1_000
/** Beats that are missed before it is told: a machine that was suspended has missed one. */
const maxMissed = 10

/** Shows whoever started this thread that its loop goes round. */
export function beatOn(port: MessagePort): void {
  setInterval(() => port.postMessage({ type: 'beat' }), beatMs).unref()
}

/** Keeps a server for people or back offices in a thread of its own; decisions go on whatever happens to it. */
export function startSideThread<Told, Given = never>(
  options: SideThreadOptions<Told>,
): SideThread<Given> {
  const { name, youngHeapMb } = options
  let worker: Worker | null = null
  let state: Exclude<SideThread<Given>['state'], 'silent'> = 'starting'
  let served = false
  let restarts = 0
  let pauseMs = firstRestartMs
  let missed = 0
  let tellStarted: () => void = () => {}
  const first = new Promise<void>((resolve) => {
    tellStarted = resolve
  })

  function start(): void {
    const current = openThread(options.file, {
      workerData: options.settings(),
      resourceLimits: {
        maxOldGenerationSizeMb: options.heapMb,
        ...(youngHeapMb === undefined ? {} : { maxYoungGenerationSizeMb: youngHeapMb }),
      },
    })
    worker = current
    current.on('message', (message: FromThread<Told>) => receive(message))
    current.on('error', (error) => options.onTrouble(`${name} failed: ${error.message}`))
    current.on('exit', () => {
      if (worker === current) lost()
    })
  }

  function receive(message: FromThread<Told>): void {
    missed = 0
    switch (message.type) {
      case 'told':
        options.onTold(message.told)
        return
      case 'listening':
        // It was told to stop meanwhile, and is no thread that has to come back.
        if (state === 'stopped') return
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
        // Who was told that it starts later serves without it.
        if (served || restarts > 0) options.onTrouble(`${name} cannot start: ${message.message}`)
        else options.onRefused(message.message)
        return
      case 'beat':
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

  /** Ending it inside native code could end the process: people are told. */
  function listen(): void {
    if (++missed !== maxMissed || state !== 'serving') return
    options.onTrouble(`${name} has not answered for ${maxMissed} seconds: its thread hangs`)
  }

  start()
  setInterval(listen, beatMs).unref()
  return {
    get state() {
      return state === 'serving' && missed >= maxMissed ? 'silent' : state
    },
    get restarts() {
      return restarts
    },
    started: () => first,
    give(given) {
      if (state === 'serving') worker?.postMessage({ type: 'given', given })
    },
    stop(timeoutMs) {
      state = 'stopped'
      return endThread(worker, timeoutMs)
    },
  }
}

/**
 * What we have to tell comes as messages. What a library prints beside, as LMDB does of every commit that fails, is
 * left out: the gate would write it, wait for its disk meanwhile, and end where that is full.
 */
export function openThread(file: URL, options: WorkerOptions): Worker {
  const worker = new Worker(file, { ...options, stdout: true, stderr: true })
  worker.stdout.resume()
  worker.stderr.resume()
  return worker
}

/** Asks a thread to end; resolves when it has, or when nobody waits any longer. */
export function endThread(worker: Worker | null, timeoutMs: number): Promise<void> {
  if (worker === null) return Promise.resolve()
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, timeoutMs)
    worker.once('exit', () => {
      clearTimeout(timer)
      resolve()
    })
    worker.postMessage({ type: 'stop' })
  })
}
