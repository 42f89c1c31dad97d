import { join } from 'node:path'
import { messagesOf } from './closed-loop.mjs'
import { root, start } from './processes.mjs'

/** Our own client in a process of its own; one job at a time. */
export function startSender() {
  const entry = join(root, 'bench/clients/sender.mjs')
  const child = start('client', process.execPath, [entry], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const next = messagesOf(child)
  return {
    /** `onGo` is called when the load begins. */
    async drive(job, onGo = () => {}) {
      child.send({ maxConnections: 2_000, ...job })
      await next('ready')
      await onGo()
      child.send('go')
      const { result } = await next('driven')
      if (result.wrong + result.lost > 0) {
        throw new Error(`${result.wrong} wrong and ${result.lost} lost: ${result.firstWrong}`)
      }
      return result
    },
    end: () => child.kill('SIGKILL'),
  }
}
