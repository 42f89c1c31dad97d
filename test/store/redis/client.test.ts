import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { connectRedis } from '../../../src/store/redis/client.ts'
import { startRedis } from '../../support/redis-server.ts'
import { until } from '../../support/server.ts'

const endings: (() => Promise<void> | void)[] = []

afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

interface StandInSentinel {
  readonly url: string
  /** How many have asked who the master is, and have no answer yet. */
  readonly asking: number
  readonly listening: number
  hold(): void
  answer(): void
  /** Tells all who listen that another master has taken over. */
  tellOfFailover(): void
}

const bulk = (...texts: string[]) =>
  `*${texts.length}\r\n${texts.map((text) => `$${text.length}\r\n${text}\r\n`).join('')}`

/** No real one can be made to speak of a failover just when it is asked for the master. */
async function startStandIn(masterPort: number): Promise<StandInSentinel> {
  const asking = new Set<Socket>()
  const listening = new Set<Socket>()
  let isHeld = false
  const answerTo = (socket: Socket) => {
    asking.delete(socket)
    socket.write(bulk('127.0.0.1', String(masterPort)))
  }
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('close', () => {
      asking.delete(socket)
      listening.delete(socket)
    })
    socket.on('data', (data) => {
      const commands = data
        .toString()
        .toLowerCase()
        .split(/^\*\d+\r\n/m)
      for (const command of commands.slice(1)) {
        if (command.includes('get-master-addr-by-name')) {
          asking.add(socket)
          if (!isHeld) answerTo(socket)
        } else if (command.includes('+switch-master')) {
          listening.add(socket)
          socket.write('*3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n:1\r\n')
        } else socket.write('-NOPROTO unknown\r\n')
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  endings.push(() => void server.close())
  const address = server.address() as { port: number }
  return {
    url: `redis://127.0.0.1:${address.port}`,
    get asking() {
      return asking.size
    },
    get listening() {
      return listening.size
    },
    hold() {
      isHeld = true
    },
    answer() {
      isHeld = false
      for (const socket of asking) answerTo(socket)
    },
    tellOfFailover() {
      for (const socket of listening) socket.write(bulk('message', '+switch-master', 'mymaster'))
    },
  }
}

describe('a connection by sentinels', () => {
  it('names the master by its address, and by its name while there is none', async () => {
    const redis = await startRedis()
    endings.push(redis.dispose)
    const sentinel = await startStandIn(redis.port)
    const connection = connectRedis({
      urls: ['redis://mymaster'],
      cluster: false,
      sentinels: [sentinel.url],
      commandTimeoutMs: 5_000,
    })
    endings.push(connection.close)
    expect(await connection.askMasters('PING', [])).toMatchObject([{ address: 'mymaster' }])
    await connection.ready(5_000)
    expect(await connection.askMasters('PING', [])).toEqual([
      { address: `127.0.0.1:${redis.port}`, reply: 'PONG' },
    ])
  })

  it('comes back when they tell of a failover while they are asked for the master', async () => {
    const redis = await startRedis()
    endings.push(redis.dispose)
    const sentinel = await startStandIn(redis.port)
    const connection = connectRedis({
      urls: ['redis://mymaster'],
      cluster: false,
      sentinels: [sentinel.url],
      commandTimeoutMs: 5_000,
    })
    endings.push(connection.close)
    await connection.ready(5_000)
    await until(async () => sentinel.listening > 0)

    sentinel.hold()
    await redis.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
    await until(async () => sentinel.asking > 0)
    sentinel.tellOfFailover()
    await until(async () => sentinel.listening === 0)
    sentinel.answer()

    await connection.ready(5_000)
    expect(await connection.send('', 'PING', [])).toBe('PONG')
  })
})
