import { once } from 'node:events'
import { cpSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { cpuOfProcessUs, freePort, start, temporaryFolder } from './processes.mjs'

const startTimeoutMs = 20_000

/** As in deploy/redis/redis.conf. */
const memorySettings = { 'hash-max-listpack-value': '512', 'stream-node-max-bytes': '32768' }

/** A real server on a free port with an append-only file; `copyOf` is a folder to begin with. */
export async function startRedis({ appendfsync = 'everysec', copyOf, place = 'server' } = {}) {
  const folder = temporaryFolder()
  if (copyOf !== undefined) cpSync(copyOf, folder.path, { recursive: true })
  const port = await freePort()
  const settings = { appendonly: 'yes', appendfsync, ...memorySettings }
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder.path, '--save', '']
  for (const [name, value] of Object.entries(settings)) args.push(`--${name}`, value)
  const child = start(place, 'redis-server', args, { stdio: 'ignore' })
  const client = new Redis(port, '127.0.0.1', { maxRetriesPerRequest: null })
  client.on('error', () => {})
  await ready(client)
  return {
    url: `redis://127.0.0.1:${port}`,
    folder: folder.path,
    client,
    cpuUs: () => cpuOfProcessUs(child.pid),
    pause: () => child.kill('SIGSTOP'),
    resume: () => child.kill('SIGCONT'),
    /** Ends it in order, so that its folder can be copied. */
    async stop() {
      client.disconnect()
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      const late = setTimeout(() => child.kill('SIGKILL'), 5_000)
      await ended
      clearTimeout(late)
    },
    remove: () => folder.remove(),
  }
}

async function ready(client) {
  const deadlineMs = performance.now() + startTimeoutMs
  for (;;) {
    const reply = await client.ping().catch(({ message }) => message)
    if (reply === 'PONG') return
    if (performance.now() > deadlineMs) throw new Error(`redis-server does not answer: ${reply}`)
    await sleep(20)
  }
}
