import { randomUUID } from 'node:crypto'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { followTime, type SharedTime } from '../clock.ts'
import { createAggregates } from '../engine/aggregates.ts'
import { claimStore } from '../engine/format/meta.ts'
import { newMarks } from '../engine/memory/recall.ts'
import type { OfferedPack } from '../engine/pack-swap.ts'
import type { Credentials } from '../management/client.ts'
import { openDemo } from '../management/demo.ts'
import { createSecretBox } from '../management/secret-box.ts'
import type { KeptFigures } from '../management/transfer/kept-transfer.ts'
import type { OpenTransfers } from '../management/transfer/sweeper.ts'
import type { ProjectionFigures } from '../projection/projector.ts'
import { createRightOfWay, lowerOwnPriority, type OpenDecisions } from '../right-of-way.ts'
import { gatheringLoads } from '../store/gathered-loads.ts'
import { closingOnFailure, openStore, type StorePlace } from '../store/open.ts'
import { type Store, StoreRefused } from '../store/port.ts'
import { beatOn, type FromThread, type ToThread } from '../thread.ts'
import type { WebhookFigures } from '../webhook/pending.ts'
import type { ApiSettings } from './context.ts'
import type { AnsweredCall } from './server.ts'
import { createFollowedPack } from './service/followed-pack.ts'
import { openApiService } from './service/service.ts'

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

/** How late a call is in the log and the metrics. */
const tellMs = 25

/** The content of the thread. */
async function run(port: MessagePort, settings: ApiWorkerSettings): Promise<void> {
  const send = (message: FromApi) => port.postMessage(message)
  const clock = followTime(settings.time)
  const onTrouble = (message: string) => send({ type: 'trouble', message })
  const packs = createFollowedPack(clock.monoMs, (problem) => {
    if (problem !== '') onTrouble(problem)
  })
  let isTold = false
  /** Until there is something to end, it is remembered. */
  let end = () => {
    isTold = true
  }
  port.on('message', (message: ToApi) => {
    if (message.type === 'given') packs.setPack(message.given)
    else end()
  })
  if (settings.pack !== null) packs.setPack(settings.pack)
  const rightOfWay = createRightOfWay(settings.openDecisions, clock.monoMs)
  const store = rightOfWay.behindDecisions(await openOwnStore(settings, clock.nowMs))
  const { problem } = await closingOnFailure(store, claimStore(store, settings))
  if (problem !== '') onTrouble(problem)
  settings.atWork.fill(0)
  const tell = (told: Omit<ToldByApi, 'calls'>) =>
    send({ type: 'told', told: { calls: [], ...told } })
  const telling = createTelling((calls) => send({ type: 'told', told: { calls } }))
  const service = await openApiService({
    store,
    clock,
    packs,
    settings,
    isShared: settings.redis !== null,
    listeners: {
      atWork: settings.atWork,
      isPressed: rightOfWay.isPressed,
      onAnswered: telling.add,
      onTransfers: (transfers) => tell({ transfers }),
      onProjection: (projection) => tell({ projection }),
      onPending: (pending) => tell({ pending }),
      onTrouble,
    },
  })
  const stop = () =>
    service
      .stop()
      .then(() => store.close())
      .then(telling.flush)
  end = () => void stop().then(() => port.close())
  if (isTold) return end()
  if (settings.demo) {
    const demoClient = await openDemo({
      store,
      aggregates: createAggregates({ store, newVersion: service.newVersion }),
      box: createSecretBox(settings.keys.map((key) => Buffer.from(key)) as [Buffer]),
      nowMs: clock.nowMs(),
    })
    tell({ demoClient })
  }
  send({ type: 'listening', port: await closingOnFailure({ close: stop }, service.listen()) })
}

async function openOwnStore(settings: ApiWorkerSettings, nowMs: () => number): Promise<Store> {
  // The engine that decides warns of what Redis does not keep.
  const serving = { marks: newMarks(randomUUID()), onWarning() {} }
  const store = await openStore(settings, nowMs, serving)
  // An embedded store reads without a call to anybody.
  return settings.redis === null ? store : gatheringLoads(store)
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
  beatOn(port)
  run(port, workerData as ApiWorkerSettings).catch((error: unknown) => {
    if (!(error instanceof StoreRefused)) throw error
    port.postMessage({ type: 'refused', message: error.message } satisfies FromApi)
    port.close()
  })
}
