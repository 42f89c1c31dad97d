import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { freePort } from './free-port.ts'
import { findPrograms } from './installed.ts'
import { endWithTests } from './leftovers.ts'
import { fastFolder } from './server.ts'

export interface RedisServer {
  readonly port: number
  readonly url: string
  readonly folder: string
  /** Runs one command on a connection of its own. */
  command(...args: string[]): Promise<unknown>
  /** Ends it as a crash would; what it has written stays. */
  kill(): Promise<void>
  /** Starts it again on the same port with what it has written. */
  restart(): Promise<void>
  pause(): void
  resume(): void
  /** Ends it and removes its folder. */
  dispose(): Promise<void>
}

export interface RedisCluster {
  readonly urls: readonly string[]
  readonly masters: readonly RedisServer[]
  dispose(): Promise<void>
}

/** Settings as in redis.conf. */
export type RedisSettings = Readonly<Record<string, string>>

/** Another way to start it than by its own program, and who may then sign in. */
export interface RedisStart {
  readonly program: string
  readonly env: Readonly<Record<string, string>>
  readonly username: string
  readonly password: string
}

/** Every write is handed to the disk before it is answered, so that a kill loses nothing. */
export const durable: RedisSettings = { appendonly: 'yes', appendfsync: 'always' }

const startTimeoutMs = 10_000

/**
 * A real server on a free port; nothing is kept unless settings say so. Its folder is in memory, which outlives a
 * killed process as a disk does: a disk that other tests write to may take 300 ms for what Redis waits for.
 */
export async function startRedis(
  settings: RedisSettings = {},
  special?: RedisStart,
): Promise<RedisServer> {
  const program = special?.program ?? findRedis()
  const { path: folder, remove } = fastFolder()
  const port = await freePort()
  const password = special?.password ?? settings.requirepass
  const user = special === undefined ? '' : `${special.username}:${special.password}@`
  const url = `redis://${user}127.0.0.1:${port}`
  const all = {
    port: String(port),
    bind: '127.0.0.1',
    dir: folder,
    save: '',
    ...settings,
  }
  const args = Object.entries(all).flatMap(([name, value]) => [`--${name}`, value])
  let child = start()

  function start(): ChildProcess {
    const env = { ...process.env, REDIS_DIR: folder, ...special?.env }
    const started = spawn(program, args, { stdio: 'ignore', env })
    endWithTests(started)
    return started
  }

  async function command(...words: string[]): Promise<unknown> {
    const client = new Redis(port, '127.0.0.1', {
      retryStrategy: () => null,
      enableReadyCheck: false,
      maxRetriesPerRequest: 0,
      disableClientInfo: true,
      ...(special === undefined ? {} : { username: special.username }),
      ...(password === undefined ? {} : { password }),
    })
    client.on('error', () => {})
    try {
      const [name = '', ...rest] = words
      return await client.call(name, ...rest)
    } finally {
      client.disconnect()
    }
  }

  async function answers(): Promise<void> {
    const deadlineMs = Date.now() + startTimeoutMs
    for (;;) {
      const reply = await command('PING').catch((error: Error) => error.message)
      if (reply === 'PONG' || String(reply).startsWith('LOADING')) return
      if (child.exitCode !== null) throw new Error(`redis-server ended with ${child.exitCode}`)
      if (Date.now() > deadlineMs) throw new Error(`redis-server does not answer: ${reply}`)
      await sleep(10)
    }
  }

  async function kill(): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }

  await answers()
  return {
    port,
    url,
    folder,
    command,
    kill,
    async restart() {
      child = start()
      await answers()
    },
    pause: () => child.kill('SIGSTOP'),
    resume: () => child.kill('SIGCONT'),
    async dispose() {
      await kill()
      remove()
    },
  }
}

const slotCount = 16_384

/** Three masters, or as many as given, that share the slots evenly. */
export async function startRedisCluster(
  masters = 3,
  settings: RedisSettings = {},
): Promise<RedisCluster> {
  const nodes = await Promise.all(Array.from({ length: masters }, () => startClusterNode(settings)))
  const first = nodes[0] as RedisServer
  const share = Math.ceil(slotCount / masters)
  for (const [i, node] of nodes.entries()) {
    const last = Math.min((i + 1) * share, slotCount) - 1
    await node.command('CLUSTER', 'ADDSLOTSRANGE', String(i * share), String(last))
    await node.command('CLUSTER', 'SET-CONFIG-EPOCH', String(i + 1))
  }
  await Promise.all(nodes.slice(1).map((node) => introduce(node, first)))
  await Promise.all(nodes.map((node) => joined(node, masters)))
  return {
    urls: nodes.map(({ url }) => url),
    masters: nodes,
    async dispose() {
      await Promise.all(nodes.map((node) => node.dispose()))
    },
  }
}

/** A node that knows no other yet. */
export async function startClusterNode(settings: RedisSettings = {}): Promise<RedisServer> {
  return startRedis({
    'cluster-enabled': 'yes',
    'cluster-node-timeout': '1000',
    'cluster-port': String(await freePort()),
    ...settings,
  })
}

/** Tells a node of another; the port of the cluster's own talk is not the usual one. */
export async function introduce(node: RedisServer, to: RedisServer): Promise<void> {
  const [, busPort] = (await to.command('CONFIG', 'GET', 'cluster-port')) as string[]
  await node.command('CLUSTER', 'MEET', '127.0.0.1', String(to.port), busPort ?? '')
}

/** Resolves when a node sees the whole cluster in order. */
export async function joined(node: RedisServer, members: number): Promise<void> {
  const deadlineMs = Date.now() + startTimeoutMs
  for (;;) {
    const info = String(await node.command('CLUSTER', 'INFO'))
    // A cluster that may lack slots calls itself ok before it knows of all.
    const wanted = ['state:ok', `known_nodes:${members}`, `slots_assigned:${slotCount}`]
    if (wanted.every((one) => info.includes(`cluster_${one}\r`))) return
    if (Date.now() > deadlineMs) throw new Error(`the cluster does not form:\n${info}`)
    await sleep(20)
  }
}

export function findRedis(): string {
  return findPrograms('redis-server')[0]!
}
