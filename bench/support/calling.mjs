import { join } from 'node:path'
import { messagesOf } from './closed-loop.mjs'
import { root, start } from './processes.mjs'

/** The client of the management API in a process of its own; one job at a time. */
export function startCaller() {
  const entry = join(root, 'bench/clients/caller.mjs')
  const child = start('client', process.execPath, [entry], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const next = messagesOf(child)
  return {
    async drive(job) {
      child.send(job)
      const { result } = await next('driven')
      if (result.wrong + result.errors > 0) {
        throw new Error(`${result.wrong} wrong, ${result.errors} lost: ${result.firstWrong}`)
      }
      return result
    },
    end: () => child.kill('SIGKILL'),
  }
}
