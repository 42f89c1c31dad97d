import { Server as TlsServer } from 'node:tls'
import type { FastifyInstance } from 'fastify'
import { createAggregates } from '../engine/aggregates.ts'
import { openTls } from '../http/certificate.ts'
import { createNumbers } from '../management/number/choice.ts'
import { createSecretBox } from '../management/secret-box.ts'
import type { KeptTransfers } from '../management/transfer/kept-transfer.ts'
import type { OpenTransfers } from '../management/transfer/sweeper.ts'
import { createCallerAuthentication } from './authentication.ts'
import { createKeyedHashes } from './body.ts'
import { createClientCache } from './client-cache.ts'
import type { ApiContext, ApiSettings } from './context.ts'
import { createCursors } from './cursor.ts'
import { createEffects } from './effects.ts'
import { openMoney } from './money/money.ts'
import { createReferences } from './reference/references.ts'
import { createListDesk } from './route/list.ts'
import { routesOf } from './routes.ts'
import { type AnsweredCall, createApiServer } from './server.ts'
import { faultText } from './service/fault-text.ts'
import { createTokens } from './token/token.ts'

export interface ApiListeners {
  /** Where it is shown how many calls are at work: one cell. */
  readonly atWork?: Int32Array
  /** Whether decisions need all there is, so that calls are turned away. */
  readonly isPressed?: () => boolean
  readonly onAnswered: (call: AnsweredCall) => void
  /** Every second: the transfers of all instances that are on their way. */
  readonly onTransfers?: (open: OpenTransfers) => void
  readonly onTrouble: (message: string) => void
}

interface ApiBasis extends Pick<ApiContext, 'store' | 'clock' | 'engine' | 'outside'> {
  /** Others are at work on the same store. */
  readonly isShared: boolean
}

/** The management API on an open store. */
export function createApi(
  { store, clock, engine, outside, isShared }: ApiBasis,
  settings: ApiSettings,
  listeners: ApiListeners,
  kept: KeptTransfers | null = null,
): FastifyInstance {
  const { onTransfers, onTrouble, ...told } = listeners
  const keys = settings.keys.map((key) => Buffer.from(key)) as [Buffer, ...Buffer[]]
  const aggregates = createAggregates({ store, newVersion: engine.newVersion })
  const effects = createEffects({ engine, aggregates, clock })
  const { transfers, sweeper } = openMoney({
    store,
    engine,
    aggregates,
    effects,
    clock,
    prepareBeside: outside.besideCredit,
    kept,
    ...(onTransfers && { onOpen: onTransfers }),
    onTrouble,
  })
  const box = createSecretBox(keys)
  const cursors = createCursors(keys)
  const lists = createListDesk({ store, cursors, zone: () => engine.pack().zone })
  const { sandbox, outgoingProxy: proxy } = settings
  const numbers = createNumbers(settings.cardNumbers, { store, box, clock, proxy, onTrouble })
  const desks = { transfers, lists, numbers, outside }
  const context = { store, engine, aggregates, effects, box, clock, settings, ...desks }
  const tokens = createTokens(keys, settings.tokenSeconds)
  const clients = createClientCache(store, box, onTrouble)
  const tls = settings.tls && openTls({ ...settings.tls, clientCaFile: null })
  const references = createReferences({
    store,
    aggregates,
    effects,
    nowMs: clock.nowMs,
    isShared,
    ofReads: settings.getReferences === 'enforce',
  })
  const server = createApiServer({
    routes: routesOf(context),
    outside,
    version: settings.version,
    publicUrls: settings.publicUrls,
    authenticate: createCallerAuthentication({
      clients,
      tokens,
      clock,
      publicUrls: settings.publicUrls,
      scheme: tls === null ? 'http' : 'https',
      ratePerSecond: settings.ratePerSecond,
      sandbox,
    }),
    references,
    keyedHashes: createKeyedHashes(keys),
    token: { clients, tokens, clock },
    tls,
    clock,
    sandbox,
    atWork: new Int32Array(1),
    isPressed: () => false,
    ...told,
    onBug: (error, requestId) => onTrouble(faultText(error, requestId)),
  })
  if (tls !== null && server.server instanceof TlsServer) {
    tls.follow(server.server, (problem) => {
      if (problem !== '') onTrouble(`the management API: ${problem}`)
    })
  }
  server.addHook('onClose', async () => {
    sweeper.stop()
    await references.settle()
  })
  return server
}
