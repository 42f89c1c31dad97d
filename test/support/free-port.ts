import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Below the ports that systems give to outgoing connections (32768 and up): one of those may be taken by any
 * connection between the time that it is found free and the time that it is used, or while its server restarts.
 */
const firstPort = 12_000
const portsOfWorker = 1_000
const slices = 20

const worker = Number(process.env.VITEST_POOL_ID ?? 0) % slices
let next = Math.floor(Math.random() * portsOfWorker)

export async function freePort(): Promise<number> {
  for (let tries = 0; tries < portsOfWorker; tries++) {
    next = (next + 1) % portsOfWorker
    const port = firstPort + worker * portsOfWorker + next
    if (await isFree(port)) return port
  }
  throw new Error('no port is free')
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  server.listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return false
  }
  server.close()
  await once(server, 'close')
  return true
}
