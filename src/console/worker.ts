import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { followTime, type SharedTime } from '../clock.ts'
import { claimStore } from '../engine/format/meta.ts'
import { listenAt } from '../listening.ts'
import { lowerOwnPriority } from '../right-of-way.ts'
import { closingOnFailure, openStore, type StorePlace } from '../store/open.ts'
import { StoreRefused } from '../store/port.ts'
import { beatOn, type FromThread, type ToThread } from '../thread.ts'
import { type ConsoleSettings, createConsole } from './console.ts'
import type { Given } from './figures.ts'

/** What the thread of the console is given. */
export interface ConsoleWorkerSettings extends ConsoleSettings, StorePlace {
  readonly sandbox: boolean
  readonly time: SharedTime
}

type FromConsole = FromThread<never>

/** The content of the thread. */
async function run(port: MessagePort, settings: ConsoleWorkerSettings): Promise<void> {
  const send = (message: FromConsole) => port.postMessage(message)
  const clock = followTime(settings.time)
  const store = await openStore(settings, clock.nowMs)
  const { problem } = await closingOnFailure(store, claimStore(store, settings))
  if (problem !== '') send({ type: 'trouble', message: problem })
  const console = createConsole(store, clock, settings, (message) =>
    send({ type: 'trouble', message }),
  )
  const stop = () => console.stop().then(() => store.close())
  port.on('message', (message: ToThread<Given>) => {
    if (message.type === 'given') console.take(message.given)
    else void stop().then(() => port.close())
  })
  const place = { ...settings, name: 'the console', prefix: 'CONSOLE' }
  const listening = closingOnFailure({ close: stop }, listenAt(console.server, place))
  send({ type: 'listening', port: await listening })
}

if (parentPort !== null) {
  lowerOwnPriority()
  const port = parentPort
  beatOn(port)
  run(port, workerData as ConsoleWorkerSettings).catch((error: unknown) => {
    if (!(error instanceof StoreRefused)) throw error
    port.postMessage({ type: 'refused', message: error.message } satisfies FromConsole)
    port.close()
  })
}
