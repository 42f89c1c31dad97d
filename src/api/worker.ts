import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { followTime, type SharedTime } from '../clock.ts'
import { createAggregates } from '../engine/aggregates.ts'
import { claimStore } from '../engine/format/meta.ts'
import { createSecretBox } from '../management/secret-box.ts'
import { openStore, type StorePlace } from '../store/open.ts'
import { type Store, StoreRefused } from '../store/port.ts'
import { createAuthentication } from './authentication.ts'
import { createClientCache } from './client-cache.ts'
import { createReferences } from './references.ts'
import { organizationRoutes } from './route/organization.ts'
import { requestRoutes } from './route/request.ts'
import { type AnsweredCall, createApiServer } from './server.ts'
import { createTokens } from './token.ts'

/** What the thread of the management plane is given. */
export interface ApiSettings extends StorePlace {
  readonly host: string
  readonly port: number
  readonly tls: { readonly certFile: string; readonly keyFile: string } | null
  readonly publicUrls: readonly string[]
  /** The first seals and signs, the others only open and read. */
  readonly keys: readonly Uint8Array[]
  readonly tokenSeconds: number
  readonly ratePerSecond: number
  readonly getReferences: 'enforce' | 'ignore'
  readonly sandbox: boolean
  readonly eventRetentionDays: number
  readonly time: SharedTime
  /** Of this program, for the OpenAPI document. */
  readonly version: string
}

export type FromApi =
  | { readonly type: 'listening'; readonly port: number }
  /** It cannot start, and starting again would not help. */
  | { readonly type: 'refused'; readonly message: string }
  | { readonly type: 'calls'; readonly calls: readonly AnsweredCall[] }
  | { readonly type: 'trouble'; readonly message: string }

export type ToApi = { readonly type: 'stop' }

/** The content of the thread. */
async function run(port: MessagePort, settings: ApiSettings): Promise<void> {
  const send = (message: FromApi) => port.postMessage(message)
  const store = await openStore(settings, followTime(settings.time).nowMs)
  await claimStore(store, settings.eventRetentionDays)
  const server = serverOn(store, settings, send)
  port.on('message', () => {
    void server
      .close()
      .then(() => store.close())
      .then(() => port.close())
  })
  try {
    await server.listen({ host: settings.host, port: settings.port })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const inUse = code === 'EADDRINUSE' || code === 'EACCES' || code === 'EADDRNOTAVAIL'
    if (!inUse) throw error
    throw new StoreRefused(`the management API cannot listen: ${message}: set API_PORT or API_HOST`)
  }
  const [address] = server.addresses()
  const listening = typeof address === 'object' ? address.port : settings.port
  send({ type: 'listening', port: listening })
}

function serverOn(store: Store, settings: ApiSettings, send: (message: FromApi) => void) {
  const clock = followTime(settings.time)
  const [first, ...others] = settings.keys.map((key) => Buffer.from(key))
  const keys = [first!, ...others] as const
  const nonce = randomUUID().slice(0, 8)
  let versions = 0
  const newVersion = () => `${nonce}.${(versions++).toString(36)}`
  const aggregates = createAggregates({ store, newVersion })
  const tokens = createTokens(keys, settings.tokenSeconds)
  const clients = createClientCache(store, createSecretBox(keys))
  const { tls, sandbox } = settings
  return createApiServer({
    routes: [...organizationRoutes, ...requestRoutes(store)],
    version: settings.version,
    authenticate: createAuthentication({
      clients,
      tokens,
      clock,
      publicUrls: settings.publicUrls,
      scheme: tls === null ? 'http' : 'https',
      ratePerSecond: settings.ratePerSecond,
      sandbox,
    }),
    references: createReferences({
      store,
      aggregates,
      nowMs: clock.nowMs,
      ofReads: settings.getReferences === 'enforce',
    }),
    token: { clients, tokens, clock },
    tls: tls && { cert: readFileSync(tls.certFile), key: readFileSync(tls.keyFile) },
    clock,
    sandbox,
    onAnswered: batched((calls) => send({ type: 'calls', calls })),
    onBug(error, requestId) {
      const message = error instanceof Error ? (error.stack ?? error.message) : String(error)
      send({ type: 'trouble', message: `a bug in the management API, ${requestId}: ${message}` })
    },
  })
}

/** All calls of one turn of the loop in one message. */
function batched(tell: (calls: readonly AnsweredCall[]) => void): (call: AnsweredCall) => void {
  let calls: AnsweredCall[] = []
  return (call) => {
    if (calls.length === 0) {
      setImmediate(() => {
        tell(calls)
        calls = []
      })
    }
    calls.push(call)
  }
}

if (parentPort !== null) {
  const port = parentPort
  run(port, workerData as ApiSettings).catch((error: unknown) => {
    if (!(error instanceof StoreRefused)) throw error
    port.postMessage({ type: 'refused', message: error.message } satisfies FromApi)
    port.close()
  })
}
