import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { freePort } from './free-port.ts'
import { endWithTests, removeWithTests } from './leftovers.ts'
import { findRedis, type RedisServer } from './redis-server.ts'
import { until } from './server.ts'

/** Real sentinels that watch one master; together they decide who succeeds it. */
export interface Sentinels {
  readonly urls: readonly string[]
  /** The port of the master that they agree on. */
  masterPort(): Promise<number>
  /** Has the best replica take over from a master that is well. */
  failOver(): Promise<void>
  dispose(): Promise<void>
}

export const masterName = 'mymaster'

/** A user is whom they sign in as at the servers that they watch. */
export async function startSentinels(
  master: RedisServer,
  count = 3,
  user?: { readonly name: string; readonly password: string },
): Promise<Sentinels> {
  const folder = await mkdtemp(join(tmpdir(), 'arbiter-sentinel-'))
  const remove = removeWithTests(folder)
  const ports: number[] = []
  const children: ChildProcess[] = []
  for (let i = 0; i < count; i++) {
    const port = await freePort()
    const file = join(folder, `${i}.conf`)
    const lines = [
      `port ${port}`,
      'bind 127.0.0.1',
      `dir ${folder}`,
      `sentinel monitor ${masterName} 127.0.0.1 ${master.port} 2`,
      `sentinel down-after-milliseconds ${masterName} 1000`,
      // A replica that follows through a proxy is left alone for as long.
      `sentinel failover-timeout ${masterName} 60000`,
    ]
    if (user !== undefined) {
      lines.push(`sentinel auth-user ${masterName} ${user.name}`)
      lines.push(`sentinel auth-pass ${masterName} ${user.password}`)
    }
    await writeFile(file, `${lines.join('\n')}\n`)
    const child = spawn(findRedis(), [file, '--sentinel'], { stdio: 'ignore' })
    endWithTests(child)
    children.push(child)
    ports.push(port)
  }

  async function ask(port: number, ...words: [string, ...string[]]): Promise<unknown> {
    const client = new Redis(port, '127.0.0.1', {
      retryStrategy: () => null,
      enableReadyCheck: false,
      maxRetriesPerRequest: 0,
    })
    client.on('error', () => {})
    try {
      return await client.call('SENTINEL', ...words)
    } finally {
      client.disconnect()
    }
  }

  const hasQuorum = (port: number) =>
    ask(port, 'CKQUORUM', masterName).then(
      (reply) => String(reply).startsWith(`OK ${count} usable`),
      () => false,
    )
  await until(async () => (await Promise.all(ports.map(hasQuorum))).every(Boolean))

  return {
    urls: ports.map((port) => `redis://127.0.0.1:${port}`),
    async masterPort() {
      const replies = await Promise.all(
        ports.map((port) => ask(port, 'GET-MASTER-ADDR-BY-NAME', masterName)),
      )
      const found = new Set(replies.map((reply) => Number((reply as string[])[1])))
      return found.size === 1 ? [...found][0]! : 0
    },
    async failOver() {
      await ask(ports[0]!, 'FAILOVER', masterName)
    },
    async dispose() {
      for (const child of children) {
        if (child.exitCode !== null || child.signalCode !== null) continue
        child.kill('SIGKILL')
        await once(child, 'exit')
      }
      remove()
    },
  }
}
