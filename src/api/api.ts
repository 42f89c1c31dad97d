import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import type { Clock } from '../clock.ts'
import { createAggregates } from '../engine/aggregates.ts'
import { createSecretBox } from '../management/secret-box.ts'
import { type Store, StoreRefused } from '../store/port.ts'
import { createAuthentication } from './authentication.ts'
import { createClientCache } from './client-cache.ts'
import { createReferences } from './references.ts'
import { organizationRoutes } from './route/organization.ts'
import { requestRoutes } from './route/request.ts'
import { type AnsweredCall, createApiServer } from './server.ts'
import { createTokens } from './token.ts'

/** What the management API is served with. */
export interface ApiSettings {
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
  /** Of this program, for the OpenAPI document. */
  readonly version: string
}

export interface ApiListeners {
  readonly onAnswered: (call: AnsweredCall) => void
  readonly onTrouble: (message: string) => void
}

/** The management API on an open store. */
export function createApi(
  store: Store,
  clock: Clock,
  settings: ApiSettings,
  { onAnswered, onTrouble }: ApiListeners,
): FastifyInstance {
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
    onAnswered,
    onBug(error, requestId) {
      const message = error instanceof Error ? (error.stack ?? error.message) : String(error)
      onTrouble(`a bug in the management API, ${requestId}: ${message}`)
    },
  })
}

/** Resolves to the port; rejects with a StoreRefused that says what to set. */
export async function listen(server: FastifyInstance, host: string, port: number): Promise<number> {
  try {
    await server.listen({ host, port })
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    if (!['EADDRINUSE', 'EACCES', 'EADDRNOTAVAIL'].includes(code)) throw error
    throw new StoreRefused(`the management API cannot listen: ${message}: set API_PORT or API_HOST`)
  }
  const [address] = server.addresses()
  return typeof address === 'object' ? address.port : port
}
