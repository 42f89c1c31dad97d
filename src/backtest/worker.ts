import { parentPort, workerData } from 'node:worker_threads'
import { createReplayer, type ReplayerOptions } from './replay/replayer.ts'
import type { FromReplayer, ToReplayer } from './run.ts'

if (parentPort !== null) {
  const port = parentPort
  const replayer = createReplayer(workerData as ReplayerOptions)
  const send = (message: FromReplayer) => port.postMessage(message)
  port.on('message', (message: ToReplayer) => {
    if (message.type === 'lines') {
      replayer.addLines(message.text.split('\n'))
      send({ type: 'taken' })
    } else if (message.type === 'end') send({ type: 'cut', waiting: replayer.cut() })
    else {
      const onReplayed = (lines: number) => send({ type: 'waited', lines })
      send({ type: 'done', replayed: replayer.finish(message.snapshots, onReplayed) })
      port.close()
    }
  })
}
