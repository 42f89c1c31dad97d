import { timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../clock.ts'
import { type Scope, scopes, sha256 } from '../../management/client.ts'
import { isUlid } from '../../management/id.ts'
import { StoreError } from '../../store/port.ts'
import type { ClientCache } from '../client-cache.ts'
import { headerIn } from '../header.ts'
import { createRateLimit } from '../rate-limit.ts'
import type { Tokens } from './token.ts'

export interface TokenEndpointOptions {
  readonly clients: ClientCache
  readonly tokens: Tokens
  readonly clock: Clock
  readonly onAnswered: (status: number, clientId: string) => void
  readonly onBug: (error: unknown) => void
}

/** An answer that RFC 6749 describes. */
interface Answer {
  readonly status: 200 | 400 | 401 | 403 | 405 | 429 | 500 | 503
  readonly body: Readonly<Record<string, string | number>>
  readonly headers?: Readonly<Record<string, string>>
}

const tokenPath = '/connect/token'
const maxBodyBytes = 4_096
const tokensPerSecond = 5
const maxClients = 10_000
const basicPattern = /^Basic ([A-Za-z0-9+/]{1,512}={0,2})$/i
const formType = /^application\/x-www-form-urlencoded\s*(?:;|$)/i
/** An unknown client is checked against this, so that it takes as long as a known one. */
const nobodysSecret = sha256('')

export function addTokenEndpoint(server: FastifyInstance, options: TokenEndpointOptions): void {
  const { clients, tokens, clock } = options
  const limit = createRateLimit(tokensPerSecond, tokensPerSecond, maxClients)

  async function answer(request: FastifyRequest, credentials: Credentials | null): Promise<Answer> {
    if (request.method !== 'POST') {
      return { ...refusal(405, 'invalid_request', 'send a POST'), headers: { allow: 'POST' } }
    }
    if (!formType.test(request.headers['content-type'] ?? '')) {
      const must = 'the body must be application/x-www-form-urlencoded'
      return refusal(400, 'invalid_request', must)
    }
    const form = new URLSearchParams(String(request.body ?? ''))
    const grant = form.getAll('grant_type')
    if (grant.length !== 1) return refusal(400, 'invalid_request', 'send grant_type once')
    if (form.getAll('scope').length > 1) return refusal(400, 'invalid_request', 'send scope once')
    if (credentials === null) return notAuthenticated
    const known = await clients.find(credentials.clientId, clock.nowMs())
    const given = sha256(credentials.clientSecret)
    let fits = false
    for (const secret of known?.secrets ?? ['']) {
      const expected = known === null ? nobodysSecret : sha256(secret)
      fits = timingSafeEqual(given, expected) || fits
    }
    if (known === null || !fits) return notAuthenticated
    if (!limit.take(credentials.clientId, clock.monoMs())) return tooMany
    if (grant[0] !== 'client_credentials') {
      return refusal(400, 'unsupported_grant_type', 'grant_type must be client_credentials')
    }
    const asked = (form.get('scope') ?? '').split(' ').filter((scope) => scope !== '')
    if (!asked.every(isScope)) return refusal(400, 'invalid_scope', `scopes: ${scopes.join(' ')}`)
    const { client } = known
    const granted = asked.length === 0 ? client.scopes : asked
    if (!client.enabled) return refusal(403, 'unauthorized_client', 'the client is disabled')
    if (granted.length === 0 || !granted.every((scope) => client.scopes.includes(scope))) {
      return refusal(403, 'unauthorized_client', 'the client was not given this scope')
    }
    // Its secret was given after the change that ended older tokens, in the same second or by a clock that is ahead.
    const issuedMs = Math.max(clock.nowMs(), client.tokensValidFromMs + 999)
    const token = await tokens.issue(client.clientId, granted, issuedMs)
    const lifetime = tokens.lifetimeSeconds
    const scope = granted.join(' ')
    const body = { access_token: token, token_type: 'Bearer', expires_in: lifetime, scope }
    return { status: 200, body }
  }

  async function handle(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const credentials = readCredentials(request.raw.rawHeaders)
    const { status, body, headers } = await answer(request, credentials).catch((error: unknown) => {
      if (error instanceof StoreError) return storeAway
      options.onBug(error)
      return refusal(500, 'server_error', 'a fault of the server, whose log tells more')
    })
    options.onAnswered(status, loggedId(credentials))
    return reply
      .code(status)
      .headers({ 'cache-control': 'no-store', ...headers })
      .send(body)
  }

  server.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser(
      '*',
      { parseAs: 'string', bodyLimit: maxBodyBytes },
      (_request, body, done) => done(null, body),
    )
    scope.setErrorHandler(async (error: { statusCode?: number }, _request, reply) => {
      if ((error.statusCode ?? 500) >= 500) throw error
      options.onAnswered(400, '')
      const { body } = refusal(400, 'invalid_request', 'the body cannot be read')
      return reply.code(400).header('cache-control', 'no-store').send(body)
    })
    scope.all(tokenPath, handle)
  })
}

interface Credentials {
  readonly clientId: string
  readonly clientSecret: string
}

function readCredentials(rawHeaders: readonly string[]): Credentials | null {
  const header = headerIn(rawHeaders, 'authorization')
  if (header.state !== 'given') return null
  const [, encoded] = basicPattern.exec(header.value) ?? []
  if (encoded === undefined) return null
  const text = Buffer.from(encoded, 'base64').toString('utf8')
  const [, clientId, clientSecret] = /^([!-9;-~]{1,64}):(.*)$/s.exec(text) ?? []
  if (clientId === undefined || clientSecret === undefined) return null
  return { clientId, clientSecret }
}

/** What is no id of a client may be the secret of one: who writes the two the wrong way round must not find it in the log. */
function loggedId(credentials: Credentials | null): string {
  const { clientId = '' } = credentials ?? {}
  return clientId.startsWith('cli_') && isUlid(clientId.slice('cli_'.length)) ? clientId : ''
}

function isScope(text: string): text is Scope {
  return (scopes as readonly string[]).includes(text)
}

function refusal(status: Answer['status'], error: string, description: string): Answer {
  return { status, body: { error, error_description: description } }
}

const notAuthenticated: Answer = {
  ...refusal(401, 'invalid_client', 'send Basic and the Base64 of clientId:clientSecret'),
  headers: { 'www-authenticate': 'Basic realm="arbiter"' },
}

const tooMany: Answer = {
  ...refusal(429, 'temporarily_unavailable', 'ask for a token when the last one ends'),
  headers: { 'retry-after': '1' },
}

const storeAway: Answer = {
  ...refusal(503, 'temporarily_unavailable', 'the store is away'),
  headers: { 'retry-after': '1' },
}
