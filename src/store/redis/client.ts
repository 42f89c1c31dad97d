import { setTimeout as sleep } from 'node:timers/promises'
import { Cluster, Command, Redis } from 'ioredis'
import { failureText } from '../failure-text.ts'
import { StoreError, StoreRefused } from '../port.ts'
import { withoutCredentials } from './address.ts'
import {
  clusterOptionsFor,
  maxReconnectDelayMs,
  optionsFor,
  type RedisPlace,
  reconnectDelayMs,
  sentinelOptionsFor,
} from './client-options.ts'
import { adviceOn, createReplicaExit } from './failures.ts'

/** What the store needs of a client: a command goes out now, on a connection that is there, or not at all. */
export interface RedisConnection {
  readonly isCluster: boolean
  /** Resolves when all masters can be reached. */
  ready(withinMs: number): Promise<void>
  /** To the master of a key. Rejects with a StoreError 'no' when it is not connected. */
  send(key: string, name: string, args: readonly string[]): Promise<unknown>
  /** To all masters that are connected; rejects when none of them took it. */
  sendToMasters(name: string, args: readonly string[]): Promise<unknown[]>
  /** Calls whenever a connection to a server is made. */
  onConnected(listener: () => void): void
  /** The same, with what each of them said. */
  askMasters(name: string, args: readonly string[]): Promise<MasterReply[]>
  /** All keys of all masters that fit a pattern, some perhaps more than once. */
  scanKeys(pattern: string): AsyncIterable<readonly string[]>
  close(): Promise<void>
}

export interface MasterReply {
  /** Host and port. */
  readonly address: string
  readonly reply?: unknown
  /** Why there is no reply. */
  readonly problem?: unknown
}

const endTimeoutMs = 1_000

export function connectRedis(place: RedisPlace): RedisConnection {
  const options = optionsFor(place)
  if (!place.cluster) {
    // The offline queue would send commands after their callers were told that they failed.
    const own = { ...options, enableOfflineQueue: false, retryStrategy: reconnectDelayMs }
    if (place.sentinels.length === 0) {
      return standaloneConnection(new Redis(place.urls[0] ?? '', own), place.urls)
    }
    const client = new Redis({ ...own, ...sentinelOptionsFor(place) })
    return standaloneConnection(client, place.sentinels)
  }
  return clusterConnection(new Cluster([...place.urls], clusterOptionsFor(place)), place.urls)
}

/** The arguments are one flat list: ioredis's own `call` would look for lists in each of thousands. */
function run(client: Redis | Cluster, name: string, args: readonly string[]): Promise<unknown> {
  const command = new Command(name, [], { replyEncoding: 'utf8' })
  command.args = args as string[]
  return client.sendCommand(command) as Promise<unknown>
}

export function standaloneConnection(client: Redis, urls: readonly string[]): RedisConnection {
  const trouble = createTrouble(urls)
  // Without a listener ioredis writes to the console; commands fail anyway and tell why.
  client.on('error', (error: { readonly command?: { readonly name: string } }) => {
    trouble.note(error)
    // It would go on with the first database, which may be another store.
    if (error.command?.name === 'select') client.disconnect(true)
  })
  client.on('sentinelError', trouble.note)
  const leaveReplica = createReplicaExit(() => client.disconnect(true))
  let writes = false
  let isClosed = false
  // ioredis gives up for good when sentinels tell of a failover while it asks them for the master.
  client.on('end', () => {
    if (isClosed) return
    setTimeout(() => {
      if (!isClosed) client.connect().catch(ignore)
    }, maxReconnectDelayMs).unref()
  })

  async function send(key: string, name: string, args: readonly string[]): Promise<unknown> {
    if (client.status !== 'ready') throw trouble.notSent()
    // Who only looks may do so at a replica.
    writes ||= name === 'FCALL'
    const sent = run(client, name, args)
    return (writes ? sent.catch(leaveReplica) : sent).catch(namingKey(key))
  }

  return {
    isCluster: false,
    ready: (withinMs) => becomeReady(() => client.status === 'ready', withinMs, trouble),
    send,
    sendToMasters: async (name, args) => [await send('', name, args)],
    onConnected: (listener) => void client.on('ready', listener),
    askMasters: async (name, args) => [
      await answerOf(masterAddressOf(client), send('', name, args)),
    ],
    scanKeys: (pattern) => scanOne((args) => send('', 'SCAN', args), pattern),
    close() {
      isClosed = true
      return end(client)
    },
  }
}

function clusterConnection(client: Cluster, urls: readonly string[]): RedisConnection {
  const trouble = createTrouble(urls)
  const slots = new Map<string, number>()
  let refreshing = false
  client.on('error', trouble.note)
  client.on('node error', trouble.note)
  client.on('+node', connectMaster)

  /** ioredis connects when the first command comes, and that one would wait. */
  function connectMaster(node: Redis): void {
    if (node.options.readOnly !== true && node.status === 'wait') node.connect().catch(ignore)
  }

  function masterOf(key: string): Redis | undefined {
    const tag = key.slice(0, key.indexOf('}') + 1)
    let slot = slots.get(tag)
    if (slot === undefined) {
      slot = new Command('get', [tag]).getSlot()
      slots.set(tag, slot)
    }
    const address = client.slots[slot]?.[0]
    return client.nodes('master').find((node) => addressOf(node) === address)
  }

  /** A master that is gone may have a successor. */
  function lookForMasters(): void {
    if (refreshing || client.status !== 'ready') return
    refreshing = true
    client.refreshSlotsCache(() => {
      setTimeout(() => {
        refreshing = false
      }, maxReconnectDelayMs / 4).unref()
    })
  }

  async function send(key: string, name: string, args: readonly string[]): Promise<unknown> {
    if (client.status !== 'ready' || masterOf(key)?.status !== 'ready') {
      lookForMasters()
      throw trouble.notSent()
    }
    return run(client, name, args).catch(namingKey(key))
  }

  function askMasters(name: string, args: readonly string[]): Promise<MasterReply[]> {
    const ready = client.nodes('master').filter(({ status }) => status === 'ready')
    return Promise.all(ready.map((node) => answerOf(addressOf(node), run(node, name, args))))
  }

  function mastersAreReady(): boolean {
    const masters = client.nodes('master')
    for (const node of masters) connectMaster(node)
    return client.status === 'ready' && masters.every(({ status }) => status === 'ready')
  }

  return {
    isCluster: true,
    ready: (withinMs) => becomeReady(mastersAreReady, withinMs, trouble),
    send,
    async sendToMasters(name, args) {
      const replies = await askMasters(name, args)
      const reached = replies.filter(({ problem }) => problem === undefined)
      if (reached.length > 0) return reached.map(({ reply }) => reply)
      throw replies[0]?.problem ?? trouble.notSent()
    },
    onConnected(listener) {
      for (const node of client.nodes('master')) node.on('ready', listener)
      client.on('+node', (node) => {
        node.on('ready', listener)
        // A replica that we knew already is not connected anew when it is promoted.
        listener()
      })
    },
    askMasters,
    async *scanKeys(pattern) {
      for (const node of client.nodes('master')) {
        yield* scanOne((args) => run(node, 'SCAN', args), pattern)
      }
    },
    close: () => end(client),
  }
}

/** Redis does not say which. */
function namingKey(key: string) {
  return (error: unknown): never => {
    if (!failureText(error).startsWith('WRONGTYPE ')) throw error
    throw new Error(`WRONGTYPE ${key} holds another type of value: rename or delete that key`)
  }
}

const keysPerScan = 500

async function* scanOne(
  scan: (args: readonly string[]) => Promise<unknown>,
  pattern: string,
): AsyncGenerator<readonly string[]> {
  let cursor = '0'
  do {
    const args = [cursor, 'MATCH', pattern, 'COUNT', String(keysPerScan)]
    const [next, keys] = (await scan(args)) as [string, string[]]
    cursor = next
    if (keys.length > 0) yield keys
  } while (cursor !== '0')
}

async function answerOf(address: string, asking: Promise<unknown>): Promise<MasterReply> {
  try {
    return { address, reply: await asking }
  } catch (problem) {
    return { address, problem }
  }
}

function addressOf({ options }: Redis): string {
  return `${options.host}:${options.port}`
}

/** Where sentinels tell who the master is, the options have defaults in the place of its address. */
function masterAddressOf(client: Redis): string {
  const { sentinels, name } = client.options
  if (sentinels == null) return addressOf(client)
  // There is no stream before the first connection, and no address of one that has ended.
  const { remoteAddress, remotePort } = client.stream ?? {}
  return remoteAddress === undefined ? String(name) : `${remoteAddress}:${remotePort}`
}

interface Trouble {
  note(error: unknown): void
  notSent(): StoreError
  unreachable(): Error
}

/** Said after the reason: that none of the sentinels would do, and that a connection which failed is closed. */
const tellsNoReason = /^(All sentinels are unreachable|Connection is closed|Stream isn't writeable)/

/** Keeps what was last wrong with the connection, for those who ask later. */
function createTrouble(urls: readonly string[]): Trouble {
  const where = urls.map(withoutCredentials).join(',')
  let last = 'no connection'
  return {
    note(error) {
      // A cluster's error only says that no node would do; what the last of them said is inside.
      const inner = (error as { lastNodeError?: unknown } | undefined)?.lastNodeError
      const text = failureText(inner ?? error)
      if (!tellsNoReason.test(text)) last = text
    },
    notSent: () => new StoreError(`not sent to Redis at ${where}: ${last}`, 'no'),
    unreachable() {
      const advice = adviceOn(last)
      if (advice === undefined) {
        return new StoreError(`Redis at ${where} cannot be reached: ${last}`, 'no')
      }
      return new StoreRefused(`Redis at ${where} says ${last}. ${advice}`)
    },
  }
}

async function becomeReady(
  isReady: () => boolean,
  withinMs: number,
  trouble: Trouble,
): Promise<void> {
  const stepMs = 10
  for (let waitedMs = 0; !isReady(); waitedMs += stepMs) {
    const problem = trouble.unreachable()
    if (problem instanceof StoreRefused || waitedMs >= withinMs) throw problem
    await sleep(stepMs)
  }
}

function end(client: Redis | Cluster): Promise<void> {
  return new Promise((resolve) => {
    // While it waits to connect again there is nothing that could end.
    const isOpen = ['connecting', 'connect', 'ready'].includes(client.status)
    if (!isOpen) {
      client.disconnect()
      return resolve()
    }
    const timer = setTimeout(resolve, endTimeoutMs)
    client.once('end', () => {
      clearTimeout(timer)
      resolve()
    })
    client.disconnect()
  })
}

function ignore(): void {}
