import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { followTime, type SharedTime } from '../clock.ts'
import { claimStore } from '../engine/format/meta.ts'
import { openStore, type StorePlace } from '../store/open.ts'
import { StoreRefused } from '../store/port.ts'
import type { FromThread } from '../thread.ts'
import { type ApiSettings, createApi, listen } from './api.ts'
import type { AnsweredCall } from './server.ts'

/** What the thread of the management plane is given. */
export interface ApiWorkerSettings extends ApiSettings, StorePlace {
  readonly eventRetentionDays: number
  readonly time: SharedTime
}

type FromApi = FromThread<readonly AnsweredCall[]>

/** The content of the thread. */
async function run(port: MessagePort, settings: ApiWorkerSettings): Promise<void> {
  const send = (message: FromApi) => port.postMessage(message)
  const clock = followTime(settings.time)
  const store = await openStore(settings, clock.nowMs)
  const { problem } = await claimStore(store, settings)
  if (problem !== '') send({ type: 'trouble', message: problem })
  const server = createApi(store, clock, settings, {
    onAnswered: batched((calls) => send({ type: 'told', told: calls })),
    onTrouble: (message) => send({ type: 'trouble', message }),
  })
  port.on('message', () => {
    void server
      .close()
      .then(() => store.close())
      .then(() => port.close())
  })
  send({ type: 'listening', port: await listen(server, settings.host, settings.port) })
}

/** All calls of one turn of the loop in one message. */
function batched(tell: (calls: readonly AnsweredCall[]) => void): (call: AnsweredCall) => void {
  let calls: AnsweredCall[] = []
  return (call) => {
    if (calls.length === 0) {
      setImmediate(() => {
        tell(calls)
        calls = []
      })
    }
    calls.push(call)
  }
}

if (parentPort !== null) {
  const port = parentPort
  run(port, workerData as ApiWorkerSettings).catch((error: unknown) => {
    if (!(error instanceof StoreRefused)) throw error
    port.postMessage({ type: 'refused', message: error.message } satisfies FromApi)
    port.close()
  })
}
