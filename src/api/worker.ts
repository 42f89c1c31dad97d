import { randomUUID } from 'node:crypto'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { followTime, type SharedTime } from '../clock.ts'
import type { Pack } from '../domain/decide/pack.ts'
import { createAggregates } from '../engine/aggregates.ts'
import { createEngine } from '../engine/engine.ts'
import { claimStore } from '../engine/format/meta.ts'
import { newMarks } from '../engine/memory/recall.ts'
import { createPackSwap, type OfferedPack } from '../engine/pack-swap.ts'
import { listenAt } from '../listening.ts'
import type { Credentials } from '../management/client.ts'
import { openDemo } from '../management/demo.ts'
import { createSecretBox } from '../management/secret-box.ts'
import { createKeptTransfers, type KeptFigures } from '../management/transfer/kept-transfer.ts'
import type { OpenTransfers } from '../management/transfer/sweeper.ts'
import { startProjection } from '../projection/projection.ts'
import type { ProjectionFigures } from '../projection/projector.ts'
import { createRightOfWay, lowerOwnPriority, type OpenDecisions } from '../right-of-way.ts'
import { gatheringLoads } from '../store/gathered-loads.ts'
import { openStore, type StorePlace } from '../store/open.ts'
import { type Store, StoreRefused } from '../store/port.ts'
import type { FromThread, ToThread } from '../thread.ts'
import type { WebhookFigures } from '../webhook/pending.ts'
import { createApi } from './api.ts'
import type { ApiSettings } from './context.ts'
import { createOutside } from './outside/outside.ts'
import type { AnsweredCall } from './server.ts'

/** What the thread of the management plane is given. */
export interface ApiWorkerSettings extends ApiSettings, StorePlace {
  readonly eventRetentionDays: number
  readonly time: SharedTime
  readonly openDecisions: OpenDecisions
  /** How many calls are at work: one cell. */
  readonly atWork: Int32Array<SharedArrayBuffer>
  /** The one that decisions are made by; null when it is still to come. */
  readonly pack: OfferedPack | null
  /** Makes an organization and a client to try, and tells the client. */
  readonly demo: boolean
}

export interface ToldByApi {
  readonly calls: readonly AnsweredCall[]
  readonly demoClient?: Credentials
  readonly projection?: ProjectionFigures
  readonly pending?: WebhookFigures
  readonly transfers?: OpenTransfers & KeptFigures
}

type FromApi = FromThread<ToldByApi>
type ToApi = ToThread<OfferedPack>

/** A few cards at a time are in use; the engine that decides has memory of its own. */
const cachedCards = 10_000

/** How late a call is in the log and the metrics. */
const tellMs = 25

/** The content of the thread. */
async function run(port: MessagePort, settings: ApiWorkerSettings): Promise<void> {
  const send = (message: FromApi) => port.postMessage(message)
  const clock = followTime(settings.time)
  const packs = receivePacks(port, settings.pack, clock.monoMs, (message) =>
    send({ type: 'trouble', message }),
  )
  const rightOfWay = createRightOfWay(settings.openDecisions, clock.monoMs)
  const store = rightOfWay.behindDecisions(await openOwnStore(settings, clock.nowMs))
  const { problem } = await claimStore(store, settings)
  if (problem !== '') send({ type: 'trouble', message: problem })
  const kept = createKeptTransfers({
    monoMs: clock.monoMs,
    onTrouble: (message) => send({ type: 'trouble', message }),
  })
  const engine = createEngine({
    store,
    clock,
    pack: await packs.first,
    nonce: randomUUID().slice(0, 8),
    cacheCards: cachedCards,
    onAnswer: unexpected,
    onBooked: unexpected,
    onLoss() {
      kept.onLoss()
      // No delivery was told here: with that the store may be committed to again.
      engine.recall([], true)
    },
    onCheckpoint: kept.onCheckpoint,
    onKept: kept.onKept,
  })
  packs.follow(engine.setPack)
  const outside = createOutside({
    store,
    clock,
    newVersion: engine.newVersion,
    settings,
    isShared: settings.redis !== null,
    onPending: (pending) => send({ type: 'told', told: { calls: [], pending } }),
    onTrouble: (message) => send({ type: 'trouble', message }),
  })
  settings.atWork.fill(0)
  const telling = createTelling((calls) => send({ type: 'told', told: { calls } }))
  const listeners = {
    atWork: settings.atWork,
    isPressed: rightOfWay.isPressed,
    onAnswered: telling.add,
    onTransfers(open: OpenTransfers) {
      send({ type: 'told', told: { calls: [], transfers: { ...open, ...kept.figures } } })
    },
    onTrouble: (message: string) => send({ type: 'trouble', message }),
  }
  const mayLose = store.losses === undefined ? null : kept
  const server = createApi({ store, clock, engine, outside }, settings, listeners, mayLose)
  const projection = startProjection({
    store,
    clock,
    newVersion: engine.newVersion,
    instance: settings.redis === null ? null : randomUUID(),
    retentionDays: settings.transactionRetentionDays,
    consumers: [outside.consumer],
    onFigures: (projection) => send({ type: 'told', told: { calls: [], projection } }),
    onTrouble: (message) => send({ type: 'trouble', message }),
  })
  port.on('message', (message: ToApi) => {
    if (message.type !== 'stop') return
    void Promise.all([server.close(), projection.stop(), outside.stop()])
      .then(() => {
        kept.stop()
        engine.stop()
      })
      .then(() => store.close())
      .then(telling.flush)
      .then(() => port.close())
  })
  outside.start()
  if (settings.demo) {
    const demoClient = await openDemo({
      store,
      aggregates: createAggregates({ store, newVersion: engine.newVersion }),
      box: createSecretBox(settings.keys.map((key) => Buffer.from(key)) as [Buffer]),
      nowMs: clock.nowMs(),
    })
    send({ type: 'told', told: { calls: [], demoClient } })
  }
  const place = { ...settings, name: 'the management API', prefix: 'API' }
  send({ type: 'listening', port: await listenAt(server, place) })
}

async function openOwnStore(settings: ApiWorkerSettings, nowMs: () => number): Promise<Store> {
  // The engine that decides warns of what Redis does not keep.
  const serving = { marks: newMarks(randomUUID()), onWarning() {} }
  const store = await openStore(settings, nowMs, serving)
  // An embedded store reads without a call to anybody.
  return settings.redis === null ? store : gatheringLoads(store)
}

/** The packs that the server decides by: time zone, charges and retention are the same here. */
function receivePacks(
  port: MessagePort,
  offered: OfferedPack | null,
  monoMs: () => number,
  onTrouble: (message: string) => void,
) {
  let use: (pack: Pack) => void = () => {}
  let newest: Pack | null = null
  let number = 0
  const first = new Promise<Pack>((resolve) => {
    use = resolve
  })
  const swap = createPackSwap({
    monoMs,
    onPack(pack) {
      newest = pack
      use(pack)
    },
    onFailed: ({ message }) => onTrouble(`the management API cannot use the pack: ${message}`),
  })
  /** The same may come twice: with the start, and again once this thread serves. */
  function take(pack: OfferedPack): void {
    if (pack.number > number) swap(pack)
    number = Math.max(number, pack.number)
  }
  port.on('message', (message: ToApi) => {
    if (message.type === 'given') take(message.given)
  })
  if (offered !== null) take(offered)
  return {
    first,
    follow(next: (pack: Pack) => void): void {
      use = next
      if (newest !== null) next(newest)
    },
  }
}

function unexpected(): never {
  throw new Error('nobody delivers events here')
}

/** Each message wakes the gate, which has better to do: calls are told of together. */
function createTelling(tell: (calls: readonly AnsweredCall[]) => void) {
  let calls: AnsweredCall[] = []
  function flush(): void {
    if (calls.length > 0) tell(calls)
    calls = []
  }
  return {
    flush,
    add(call: AnsweredCall): void {
      if (calls.length === 0) setTimeout(flush, tellMs)
      calls.push(call)
    },
  }
}

if (parentPort !== null) {
  lowerOwnPriority()
  const port = parentPort
  run(port, workerData as ApiWorkerSettings).catch((error: unknown) => {
    if (!(error instanceof StoreRefused)) throw error
    port.postMessage({ type: 'refused', message: error.message } satisfies FromApi)
    port.close()
  })
}
