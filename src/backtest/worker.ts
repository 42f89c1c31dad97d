import { parentPort, workerData } from 'node:worker_threads'
import { createReplayer, type ReplayOptions } from './replayer.ts'
import type { FromReplayer, ToReplayer } from './run.ts'

/** The content of one thread of a backtest. */
if (parentPort !== null) {
  const port = parentPort
  const replayer = createReplayer(workerData as ReplayOptions)
  const send = (message: FromReplayer) => port.postMessage(message)
  port.on('message', (message: ToReplayer) => {
    if (message.type === 'lines') {
      replayer.take(message.text.split('\n'))
      send({ type: 'taken' })
    } else if (message.type === 'end') send({ type: 'cut', accounts: replayer.cut() })
    else {
      send({ type: 'done', tally: replayer.finish(message.snapshots) })
      port.close()
    }
  })
}
