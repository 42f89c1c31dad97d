import type { Worker } from 'node:worker_threads'
import type { Clock } from '../clock.ts'
import type { HandedDelivery } from '../engine/item.ts'
import { createRecall, newMarks, type Recall } from '../engine/memory/recall.ts'
import {
  type AnswerListener,
  createOutbox,
  type DemoCard,
  type FromEngine,
  readAnswers,
  type ToEngine,
  writeDelivery,
} from '../engine/messages.ts'
import type { FindingCounts } from '../engine/notice/finding-counts.ts'
import type { OrganizationTable } from '../engine/notice/organization-table.ts'
import type { RuleCount } from '../engine/notice/rule-counts.ts'
import type { OfferedPack } from '../engine/pack-swap.ts'
import type { EngineFigures } from '../engine/stats.ts'
import type { WorkerSettings } from '../engine/worker-settings.ts'
import { programFolder } from '../installation.ts'
import { createSilence } from '../silence.ts'
import { endThread, openThread } from '../thread.ts'
import { createAbandoned } from './abandoned.ts'
import type { EngineLink } from './slot.ts'
import { createTouchWatch } from './touch-watch.ts'

/** What is not the same for every engine of this process. */
type PerEngine = 'nonce' | 'retired' | 'pack' | 'storeFile' | 'marks' | 'touched' | 'condemned'

export interface EngineThreadOptions extends Omit<AnswerListener, 'onTold'> {
  readonly clock: Clock
  readonly settings: Omit<WorkerSettings, PerEngine>
  readonly newNonce: () => string
  readonly heapMb: number
  /** An engine that says nothing for this long is replaced. */
  readonly heartbeatMs: number
  /** A new engine is ready to be told everything. */
  readonly onStart: () => void
  /** It has ended; another will be started. */
  readonly onEnd: () => void
  /** It cannot start, and starting again would not help. */
  readonly onRefused: (message: string) => void
  /** What became of the pack that was offered last: '' when it is in use. */
  readonly onRules: (problem: string) => void
  readonly onRuleCounts: (counts: readonly RuleCount[]) => void
  readonly onFindings: (counts: FindingCounts) => void
  /** What there is to know of each: at a start, and when it has changed. */
  readonly onOrganizations: (table: OrganizationTable) => void
  /** A record cannot be read, or, where the problem is '', can be again. */
  readonly onDamage: (record: string, problem: string) => void
  readonly onTrouble: (message: string) => void
  /** Why the store takes no commits; '' when it does again. */
  readonly onStore: (problem: string) => void
  readonly onClock: (newestMs: number | null, serverOffsetsMs: readonly number[]) => void
}

export interface EngineThread extends EngineLink {
  readonly state: 'starting' | 'running' | 'down' | 'stopped'
  readonly storeAvailable: boolean
  readonly restarts: number
  readonly figures: EngineFigures | null
  /** A card to try; null when there is none, or nobody asked for a demo. */
  readonly demoCard: DemoCard | null
  /** What is kept in case the store loses it. */
  readonly recall: Pick<Recall, 'size' | 'forgotten' | 'losses'>
  readonly rulesVersion: string
  /** Of the last pack that it took, or could not. */
  readonly packNumber: number
  setPack(pack: OfferedPack): void
  /** Lets it finish what it has, close its store and end. */
  stop(timeoutMs: number): Promise<void>
}

const restartDelayMs = 100
const startingMs = 60_000
const looksPerBeat = 10
const looksOfStuck = 5

/** Keeps one engine running in a thread of its own, whatever happens to it. */
export function startEngineThread(options: EngineThreadOptions): EngineThread {
  const { clock } = options
  let worker: Worker | null = null
  let retired = newFlag()
  let state: EngineThread['state'] = 'starting'
  let storeAvailable = false
  let restarts = 0
  let figures: EngineFigures | null = null
  let demoCard: DemoCard | null = null
  let rulesVersion = ''
  const silence = createSilence(clock)
  let started = false
  let pack: OfferedPack | null = null
  let packNumber = 0
  let storeFile = ''
  const abandoned = createAbandoned()
  const marks = newMarks(options.settings.instance)
  const recall = createRecall({ send: (told, last) => post({ type: 'recall', told, last }) })
  const touches = createTouchWatch(clock, options.onDamage)
  const listener: AnswerListener = {
    ...options,
    onTold: (slot, told) => recall.note(slot, told, silence.heardMonoMs),
  }

  const post = (message: ToEngine) => worker?.postMessage(message)
  const put = createOutbox((cells) => {
    // Items for an engine that died meanwhile are not lost: the next one is told all that is open.
    if (state === 'running') post({ type: 'items', cells })
  })

  function start(): void {
    state = started ? 'down' : 'starting'
    silence.heard()
    retired = newFlag()
    const current = openThread(new URL('engine/worker.js', programFolder), {
      workerData: {
        ...options.settings,
        nonce: options.newNonce(),
        retired,
        pack,
        touched: touches.newCell(),
        condemned: touches.list(),
        storeFile,
        marks,
      } satisfies WorkerSettings,
      resourceLimits: { maxOldGenerationSizeMb: options.heapMb },
    })
    worker = current
    current.on('message', (message: FromEngine) => {
      if (worker === current) receive(message)
    })
    current.on('error', (error) => options.onTrouble(`the engine failed: ${error.message}`))
    current.on('exit', () => {
      if (worker !== current) return
      if (state !== 'stopped') touches.suspect()
      lost()
    })
  }

  function receive(message: FromEngine): void {
    silence.heard()
    switch (message.type) {
      case 'answers':
        readAnswers(message.cells, listener)
        return
      case 'ready':
        if (state === 'stopped') return
        rulesVersion = message.rulesVersion
        packNumber = message.packNumber
        storeFile = message.storeFile
        state = 'running'
        storeAvailable = message.storeProblem === ''
        options.onStore(message.storeProblem)
        started = true
        recall.onEngineStart()
        options.onStart()
        return
      case 'beat':
        figures = message.figures
        if (message.ruleCounts.length > 0) options.onRuleCounts(message.ruleCounts)
        options.onFindings(message.findings)
        return
      case 'lost':
        options.onTrouble('the store lacks what it acknowledged: it is booked again')
        recall.onLost()
        return
      case 'repeated':
        recall.onRepeated()
        return
      case 'checkpoint':
        recall.onCheckpoint(message.number)
        return
      case 'kept':
        recall.onKept(message.number, silence.heardMonoMs)
        return
      case 'store':
        storeAvailable = message.problem === ''
        options.onStore(message.problem)
        return
      case 'demo':
        demoCard = { cardId: message.cardId, currency: message.currency }
        return
      case 'organizations':
        options.onOrganizations(message.table)
        return
      case 'rules':
        rulesVersion = message.rulesVersion
        packNumber = message.packNumber
        options.onRules(message.problem)
        return
      case 'refused':
        refuse(message.message)
        return
      case 'clock':
        options.onClock(message.newestMs, message.serverOffsetsMs)
        return
      case 'damage':
        options.onDamage(message.record, message.problem)
        return
      case 'trouble':
        options.onTrouble(message.message)
    }
  }

  /** Once we serve, as we do also when the store was away at the start, nothing of this kind stops us. */
  function refuse(message: string): void {
    if (started || restarts > 0) {
      storeAvailable = false
      options.onStore(message)
      options.onTrouble(`the engine cannot start: ${message}`)
      return
    }
    worker = null
    state = 'stopped'
    options.onRefused(message)
  }

  function lost(): void {
    worker = null
    if (state === 'stopped') return
    state = started ? 'down' : 'starting'
    restarts++
    setTimeout(() => {
      if (state !== 'stopped') start()
    }, restartDelayMs)
    options.onEnd()
  }

  /** A new engine takes over from one that no longer answers. */
  function replace(stuck: Worker, inside: number): void {
    // What it was seen in once or twice is not what it is stuck in.
    if (inside >= looksOfStuck) touches.suspect()
    options.onTrouble(`the engine said nothing for ${options.heartbeatMs} ms and is replaced`)
    Atomics.store(retired, 0, 1)
    stuck.postMessage({ type: 'stop' } satisfies ToEngine)
    abandoned.add(stuck)
    lost()
  }

  const watch = setInterval(
    () => {
      // While it starts it opens its store, which may take long after a crash.
      const silent = silence.outlasts(state === 'running' ? options.heartbeatMs : startingMs)
      const inside = touches.looksInside()
      if (worker && silent && (state === 'running' || state === 'down')) replace(worker, inside)
    },
    Math.max(50, options.heartbeatMs / looksPerBeat),
  )
  watch.unref()

  function hand(delivery: HandedDelivery): void {
    put((cells) => writeDelivery(cells, delivery))
  }

  start()

  return {
    get state() {
      return state
    },
    get alive() {
      return state === 'running'
    },
    get storeAvailable() {
      return storeAvailable
    },
    get restarts() {
      return restarts
    },
    get figures() {
      return figures
    },
    get demoCard() {
      return demoCard
    },
    recall,
    get rulesVersion() {
      return rulesVersion
    },
    deliver: hand,
    say: hand,
    get packNumber() {
      return packNumber
    },
    setPack(next) {
      // A rule may be what they died of.
      if (pack !== null) touches.forget()
      pack = next
      post({ type: 'pack', number: next.number, bytes: next.bytes })
    },
    stop(timeoutMs) {
      clearInterval(watch)
      state = 'stopped'
      return endThread(worker, timeoutMs)
    },
  }
}

function newFlag(): Int32Array<SharedArrayBuffer> {
  return new Int32Array(new SharedArrayBuffer(4))
}
