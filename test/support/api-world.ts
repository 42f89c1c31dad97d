import { randomBytes } from 'node:crypto'
import { onTestFinished } from 'vitest'
import { createCallerAuthentication } from '../../src/api/authentication.ts'
import { createKeyedHashes } from '../../src/api/body.ts'
import { createClientCache } from '../../src/api/client-cache.ts'
import type { ApiContext, RelayTarget } from '../../src/api/context.ts'
import { createCursors } from '../../src/api/cursor.ts'
import { createEffects } from '../../src/api/effects.ts'
import { openMoney } from '../../src/api/money/money.ts'
import { createOutside, type KycSettings } from '../../src/api/outside/outside.ts'
import { createReferences } from '../../src/api/reference/references.ts'
import { createListDesk } from '../../src/api/route/list.ts'
import type { Route } from '../../src/api/route.ts'
import { routesOf } from '../../src/api/routes.ts'
import { type AnsweredCall, createApiServer } from '../../src/api/server.ts'
import { signCall } from '../../src/api/signature.ts'
import { createTokens } from '../../src/api/token/token.ts'
import { createAggregates } from '../../src/engine/aggregates.ts'
import { addClient, type Credentials, type Scope } from '../../src/management/client.ts'
import { type CardNumbers, createNumbers } from '../../src/management/number/choice.ts'
import type { NumberSource } from '../../src/management/number/source.ts'
import { addOrganization } from '../../src/management/organization.ts'
import { createSecretBox } from '../../src/management/secret-box.ts'
import type { Store } from '../../src/store/port.ts'
import { expectDocumented } from './documented-answer.ts'
import { startEngine } from './engine-world.ts'
import {
  createMemoryState,
  createMemoryStore,
  type MemoryState,
  type MemoryStoreOptions,
} from './memory-store.ts'

const startMs = Date.UTC(2026, 10, 15, 10)

export interface ApiWorldOptions {
  /** Where the OpenAPI document says that it is. */
  readonly publicUrls?: readonly string[]
  readonly sandbox?: boolean
  readonly kyc?: KycSettings
  readonly relay?: RelayTarget
  /** Besides those of the program. */
  readonly routes?: (context: ApiContext) => readonly Route[]
  readonly scopes?: Scope[]
  /** Of the organization; its own comes first. */
  readonly currencies?: string[]
  readonly faults?: MemoryStoreOptions['faults']
  readonly cardNumbers?: CardNumbers
  /** Instead of those. */
  readonly numbers?: NumberSource
  /** Shared with another world, as two servers share a Redis. */
  readonly state?: MemoryState
  /** The key and the client of that other one. */
  readonly like?: { readonly key: Buffer; readonly credentials: Credentials }
  /** What was the key before. */
  readonly oldKeys?: readonly Buffer[]
  readonly callMs?: number
  readonly isPressed?: () => boolean
  /** Instead of one in memory. */
  readonly openStore?: (nowMs: () => number) => Promise<Store>
}

interface Answer {
  readonly responseCode: string
  readonly message: string
  readonly errors?: readonly { readonly field: string; readonly message: string }[]
  readonly warnings?: readonly string[]
  // biome-ignore lint/suspicious/noExplicitAny: each test knows what it asked for
  readonly data: any
}

/** The management API on a store in memory, with one client, called over HTTP. */
export async function openApi(options: ApiWorldOptions = {}) {
  const troubles: string[] = []
  const { sandbox = false, routes = () => [], faults } = options
  /** `jumpMs` is what only the wall clock has jumped by. */
  const time = { ms: startMs, jumpMs: 0 }
  const clock = {
    nowMs: () => time.ms + time.jumpMs,
    monoMs: () => time.ms,
    isDoubted: () => false,
  }
  const key = options.like?.key ?? randomBytes(32)
  const memory = createMemoryStore(options.state ?? createMemoryState(), {
    ...(faults && { faults }),
  })
  const store = { ...memory, ...(await options.openStore?.(clock.nowMs)) }
  const engine = startEngine(store, { clock })
  const aggregates = createAggregates({ store, newVersion: engine.newVersion })
  const effects = createEffects({ engine, aggregates, clock })
  const box = createSecretBox([key])
  const cursors = createCursors([key])
  const lists = createListDesk({ store, cursors, zone: () => engine.pack().zone })
  const onTrouble = (message: string) => troubles.push(message)
  const { cardNumbers = { source: 'none' } } = options
  const made = createNumbers(cardNumbers, { store, box, clock, proxy: '', onTrouble })
  const numbers = options.numbers ?? made
  const publicUrls = ['https://cards.example.com']
  const { kyc = { provider: sandbox ? 'sandbox' : 'none', delayMs: 2_000 } as KycSettings } =
    options
  const outside = createOutside({
    store,
    clock,
    newVersion: engine.newVersion,
    settings: {
      sandbox,
      publicUrls,
      keys: [key],
      kyc,
      webhookNetworks: [],
      webhookRetentionDays: 30,
      outgoingProxy: '',
    },
    isShared: false,
    onPending() {},
    onTrouble,
  })
  onTestFinished(() => outside.stop(Promise.resolve()))
  const { transfers, sweeper } = openMoney({
    store,
    engine,
    aggregates,
    effects,
    clock,
    prepareBeside: outside.besideCredit,
    onTrouble,
  })
  onTestFinished(() => sweeper.stop())
  const settings = { sandbox, relay: options.relay ?? null }
  const context = {
    store,
    engine,
    aggregates,
    effects,
    transfers,
    box,
    lists,
    numbers,
    outside,
    clock,
    settings,
  }
  const tokens = createTokens([key], 900)
  const clients = createClientCache(store, box, () => {})
  await addOrganization(
    aggregates,
    'org-1',
    {
      name: 'Acme',
      country: 'US',
      currencies: options.currencies ?? ['USD', 'NGN'],
      defaultDecision: 'decline',
      maxTopUpMinor: { USD: 1_000_000 },
      minimumBalanceMinor: { USD: 100 },
      cardValidityMonths: 36,
    },
    startMs,
  )
  const owned = { organizationId: 'org-1', name: 'back office' }
  const scopes = options.scopes ?? ['CardAPIs.Read', 'CardAPIs.Fund']
  const credentials =
    options.like?.credentials ?? (await addClient(aggregates, box, { ...owned, scopes }, startMs))
  const answered: AnsweredCall[] = []
  const bugs: unknown[] = []
  const server = createApiServer({
    routes: [...routesOf(context), ...routes(context)],
    version: '1.2.3',
    publicUrls: options.publicUrls ?? [],
    authenticate: createCallerAuthentication({
      clients,
      tokens,
      clock,
      publicUrls: [],
      scheme: 'http',
      ratePerSecond: 50,
      sandbox,
    }),
    references: createReferences({
      store,
      aggregates,
      effects,
      nowMs: clock.nowMs,
      isShared: options.state !== undefined,
      ofReads: true,
    }),
    keyedHashes: createKeyedHashes([key, ...(options.oldKeys ?? [])]),
    outside,
    token: { clients, tokens, clock },
    tls: null,
    ...(options.callMs !== undefined && { callMs: options.callMs }),
    clock,
    sandbox,
    atWork: new Int32Array(1),
    isPressed: options.isPressed ?? (() => false),
    onAnswered: (call) => answered.push(call),
    onBug: (error) => bugs.push(error),
  })
  const url = await server.listen({ port: 0, host: '127.0.0.1' })
  onTestFinished(() => {
    server.server.closeAllConnections()
    return server.close()
  })

  function basic({ clientId, clientSecret }: Credentials): string {
    return `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`
  }

  async function askToken(form = 'grant_type=client_credentials', headers = {}) {
    return fetch(`${url}/connect/token`, {
      method: 'POST',
      headers: {
        authorization: basic(credentials),
        'content-type': 'application/x-www-form-urlencoded',
        ...headers,
      },
      body: form,
    })
  }

  async function freshToken(): Promise<string> {
    return ((await (await askToken()).json()) as { access_token: string }).access_token
  }

  let references = 0
  async function headersOf(method: string, target: string, given: Record<string, string> = {}) {
    const token = given.authorization ?? `Bearer ${await freshToken()}`
    const reference = given.reference ?? `Ref-${references++}`
    return { ...signedHeaders(method, target, token, reference), ...given }
  }

  function signedHeaders(method: string, target: string, token: string, reference: string) {
    const { clientId, clientSecret } = credentials
    const signature = signCall(
      { method, baseUrls: [url], target, reference, clientId },
      clientSecret,
    )
    return {
      reference,
      serviceauthorization: `ServiceAuth ${Buffer.from(clientId).toString('base64')}`,
      authorization: token,
      uniquekey: credentials.uniqueKey,
      signature,
    } as Record<string, string>
  }

  async function call(
    method: string,
    target: string,
    headers: Record<string, string>,
    body?: string,
  ) {
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    const sent = { method, headers: { ...type, ...headers }, ...(body !== undefined && { body }) }
    const response = await fetch(`${url}${target}`, sent)
    const answer = (await response.json()) as Record<string, unknown>
    return { status: response.status, headers: response.headers, body: answer }
  }

  let token: Promise<string> | null = null
  /** One call whole, as a client makes it; a little later than the one before. */
  async function send(method: string, path: string, body?: unknown, reference?: string) {
    time.ms += 25
    token ??= freshToken()
    const target = `/api/v1${path}`
    const text = body === undefined ? undefined : JSON.stringify(body)
    const signed = signedHeaders(
      method,
      target,
      `Bearer ${await token}`,
      reference ?? `Ref-${references++}`,
    )
    const { status, body: answer } = await call(method, target, signed, text)
    await expectDocumented({ url, sandbox }, method, target, { status, body: answer })
    const { responseCode, data, ...rest } = answer as unknown as Answer
    return { said: `${status} ${responseCode}`, data, ...rest }
  }

  return {
    ...context,
    sweeper,
    key,
    send,
    time,
    url,
    credentials,
    askToken,
    headersOf,
    call,
    answered,
    bugs,
    outside,
    troubles,
  }
}
