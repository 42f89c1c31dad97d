import { monitorEventLoopDelay } from 'node:perf_hooks'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../clock.ts'
import type { Pack } from '../domain/pack.ts'
import { compilePack, type PackFiles, PackRefused, readPackFiles } from '../rules/load-pack.ts'
import { openStore, type StorePlace } from '../store/open.ts'
import { type Store, StoreRefused } from '../store/port.ts'
import { demoCards } from './demo-cards.ts'
import { createEngine, type Engine } from './engine.ts'
import { importRows } from './import.ts'
import { indexes } from './layout.ts'
import {
  createOutbox,
  type FromEngine,
  readItems,
  type ToEngine,
  writeAnswered,
  writeBooked,
  writeStandIn,
} from './messages.ts'
import { claimStore } from './meta.ts'
import { startSweeper } from './sweeper.ts'

/** What the gate gives a new engine. */
export interface WorkerSettings extends StorePlace {
  readonly rulesDir: string
  readonly eventRetentionDays: number
  readonly logRetentionDays: number
  readonly cacheCards: number
  readonly nonce: string
  /** One cell; not 0 when another engine has taken over. */
  readonly retired: Int32Array<SharedArrayBuffer>
  /** The pack of the engine before this one: a folder that was broken meanwhile stops nothing. */
  readonly lastPackFiles: PackFiles | null
  /** Puts the demo cards into an empty embedded store. */
  readonly demo: boolean
}

const dayMs = 86_400_000
const beatMs = 250
const sweepMs = 1000

/** The content of the engine's thread. */
async function run(port: MessagePort, settings: WorkerSettings): Promise<void> {
  const send = (message: FromEngine) => port.postMessage(message)
  const store = await openStore(settings, systemClock.nowMs, (warning) =>
    send({ type: 'trouble', message: `warning: ${warning}` }),
  )
  await claimStore(store, settings.eventRetentionDays)
  let loaded = loadRules(settings, settings.lastPackFiles)
  const put = createOutbox((cells) => send({ type: 'answers', cells }))
  const engine = createEngine({
    store,
    clock: systemClock,
    pack: loaded.pack,
    nonce: settings.nonce,
    cacheCards: settings.cacheCards,
    isRetired: () => Atomics.load(settings.retired, 0) !== 0,
    onAnswer: (slot, answer, timing) => put((cells) => writeAnswered(cells, slot, answer, timing)),
    onBooked: (slot) => put((cells) => writeBooked(cells, slot)),
    onStandIn: (slot) => put((cells) => writeStandIn(cells, slot)),
    onStore: (available) => send({ type: 'store', available }),
  })
  if (settings.demo) await addDemoCards(store, engine, settings)
  const sweeper = startSweeper({
    engine,
    store,
    clock: systemClock,
    intervalMs: sweepMs,
    logRetentionMs: settings.logRetentionDays * dayMs,
    onError: (error) => send({ type: 'trouble', message: `sweeping failed: ${error}` }),
  })
  const beat = startBeat(engine, send)

  function reloadRules(): void {
    loaded = loadRules(settings, loaded.packFiles)
    engine.setPack(loaded.pack)
    const { pack, problem, packFiles } = loaded
    send({ type: 'rules', version: pack.version, problem, packFiles })
  }

  async function stop(): Promise<void> {
    if (Atomics.load(settings.retired, 0) === 0) await engine.idle()
    sweeper.stop()
    clearInterval(beat)
    engine.stop()
    await store.close()
    port.close()
  }

  port.on('message', (message: ToEngine) => {
    if (message.type === 'stop') void stop()
    else if (message.type === 'reloadRules') reloadRules()
    else {
      readItems(message.cells, ({ event, slot, receivedAtMs, said, uncertain }) => {
        if (said === null) engine.deliver(event, slot, receivedAtMs, uncertain)
        else engine.say(event, slot, receivedAtMs, said, uncertain)
      })
    }
  })
  const { pack, problem, packFiles } = loaded
  send({ type: 'ready', rulesVersion: pack.version, problem, packFiles })
}

interface LoadedRules {
  readonly pack: Pack
  readonly packFiles: PackFiles
  /** What is wrong with the folder, when an earlier pack goes on. */
  readonly problem: string
}

/** All or nothing: a pack that is refused leaves the last one in use, where there is one. */
function loadRules(settings: WorkerSettings, lastPackFiles: PackFiles | null): LoadedRules {
  const { rulesDir, eventRetentionDays } = settings
  try {
    const packFiles = readPackFiles(rulesDir)
    return { pack: compilePack(packFiles, eventRetentionDays), packFiles, problem: '' }
  } catch (error) {
    if (!(error instanceof PackRefused) || lastPackFiles === null) throw error
    const pack = compilePack(lastPackFiles, eventRetentionDays)
    return { pack, packFiles: lastPackFiles, problem: error.message }
  }
}

/** Tells the gate that this loop turns, and what it has done. */
function startBeat(engine: Engine, send: (message: FromEngine) => void): NodeJS.Timeout {
  const lag = monitorEventLoopDelay({ resolution: 10 })
  lag.enable()
  return setInterval(() => {
    const loopLagMs = lag.max / 1e6
    lag.reset()
    const heapUsedBytes = process.memoryUsage().heapUsed
    send({ type: 'beat', figures: { ...engine.stats(), loopLagMs, heapUsedBytes } })
  }, beatMs)
}

async function addDemoCards(store: Store, engine: Engine, settings: WorkerSettings): Promise<void> {
  if (settings.redis !== null) return
  if ((await store.range(indexes.cards, '', 1)).length > 0) return
  await importRows(demoCards, engine)
}

if (parentPort !== null) {
  const port = parentPort
  run(port, workerData as WorkerSettings).catch((error: unknown) => {
    const refused = error instanceof StoreRefused || error instanceof PackRefused
    if (!refused) throw error
    port.postMessage({ type: 'refused', message: error.message } satisfies FromEngine)
    port.close()
  })
}
