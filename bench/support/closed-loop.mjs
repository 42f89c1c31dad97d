import { once } from 'node:events'
import { join } from 'node:path'
import { costOf, look } from './cost.mjs'
import { root, start } from './processes.mjs'

/**
 * Drives one server with autocannon, first to warm it, then measured. What the server and Redis used is
 * taken around the measured part only.
 */
export async function driveClosed({ server, redis, ...job }) {
  const client = start('client', process.execPath, [join(root, 'bench/clients/autocannon.mjs')], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const next = messagesOf(client)
  try {
    client.send({ port: server.port, ...job })
    await next('ready')
    client.send('go')
    const warm = await next('driven')
    await next('ready')
    const before = await look(server, redis)
    client.send('go')
    const { result } = await next('driven')
    const after = await look(server, redis)
    const wrong = warm.result.wrong + result.wrong
    if (wrong > 0) {
      const shown = warm.result.firstWrong || result.firstWrong
      throw new Error(`${wrong} wrong answers, the first: ${shown}`)
    }
    return { ...result, warm: warm.result, cpu: costOf(before, after, result.answered) }
  } finally {
    client.kill('SIGKILL')
  }
}

/** Messages in the order they came, by type; an end of the child is an error. */
export function messagesOf(child) {
  const waiting = []
  const kept = []
  child.on('message', (message) => {
    const i = waiting.findIndex(({ type }) => type === message.type)
    if (i === -1) kept.push(message)
    else waiting.splice(i, 1)[0].resolve(message)
  })
  const ended = once(child, 'exit').then(([code, signal]) => {
    throw new Error(`the client ended (${code ?? signal})`)
  })
  ended.catch(() => {})
  return (type) => {
    const i = kept.findIndex((message) => message.type === type)
    if (i !== -1) return Promise.resolve(kept.splice(i, 1)[0])
    return Promise.race([ended, new Promise((resolve) => waiting.push({ type, resolve }))])
  }
}
