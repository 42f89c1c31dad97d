import { randomUUID } from 'node:crypto'
import { maxHeaderSize } from 'node:http'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Clock } from '../clock.ts'
import type { Tls } from '../http/certificate.ts'
import { closeWithAnswers } from '../http/closing.ts'
import { createConnections } from '../http/connections.ts'
import { headWithin } from '../http/head-timeout.ts'
import { noSchemas } from '../http/no-schemas.ts'
import { createWorkShare, type WorkShare } from '../http/work-share.ts'
import { StoreError } from '../store/port.ts'
import { within } from '../timing.ts'
import { type AuthenticateCaller, type Caller, referenceOf } from './authentication.ts'
import { type KeyedHashes, payloadHash, shortHash } from './body.ts'
import { conditions, isRefused, type Refused, refuse } from './condition.ts'
import { addDescription } from './document/description.ts'
import { type Envelope, refusalEnvelope, successOf } from './envelope.ts'
import { readInput } from './input.ts'
import { answerOuterFaults, refuseBody, refuseConnection, refusePath } from './outer-refusal.ts'
import { addKycCallback } from './outside/kyc-callback.ts'
import type { Outside } from './outside/outside.ts'
import type { References } from './reference/references.ts'
import { apiPrefix, type Done, missingScope, type Route } from './route.ts'
import { addTokenEndpoint, type TokenEndpointOptions } from './token/token-endpoint.ts'

/** One call as the log and the metrics know it: no body, no secret. */
export interface AnsweredCall {
  readonly requestId: string
  readonly operation: string
  readonly clientId: string
  readonly reference: string
  /** '' unless it succeeded: what is no card may be anything, a number of one too. */
  readonly cardId: string
  readonly status: number
  readonly code: string
  readonly ms: number
}

export interface ApiServerOptions {
  readonly routes: readonly Route[]
  readonly version: string
  /** Where callers reach it; none when it was not said. */
  readonly publicUrls: readonly string[]
  readonly authenticate: AuthenticateCaller
  readonly references: References
  readonly keyedHashes: KeyedHashes
  readonly outside: Pick<Outside, 'kyc' | 'kycSecret' | 'onTrouble'>
  readonly token: Omit<TokenEndpointOptions, 'onAnswered' | 'onBug'>
  /** null: plain HTTP, for loopback or a proxy in front. */
  readonly tls: Tls | null
  readonly clock: Clock
  readonly sandbox: boolean
  /** After this the outcome is unknown to the caller; the work goes on. */
  readonly callMs?: number
  /** How many calls are at work: one cell. */
  readonly atWork: Int32Array
  /** Whether decisions need all there is. */
  readonly isPressed: () => boolean
  readonly onAnswered: (call: AnsweredCall) => void
  readonly onBug: (error: unknown, requestId: string) => void
}

const maxBodyBytes = 131_072
/** Longer ones, where an operation takes them, that are read and worked on at once; of one organization all but one. */
const maxLargeBodies = 4
/** Calls at work at once; the rest is turned away before it is read. */
const maxCalls = 256
/** What one organization may have under way, from its headers on: some take as long as it likes. */
const maxCallsOfOne = 192
const httpTimeoutMs = 15_000
/** After the last call that may be at work when it stops; the thread has a second more. */
const lingerMs = 1_000

/** Beyond it one is closed that is waited for: a proven one at rest while strangers have less than a quarter of the places. */
const maxConnections = 256

type Result = Done<unknown> | Refused

/** What the steps of one request find out and leave for the next. */
interface Passing {
  readonly requestId: string
  readonly startedMonoMs: number
  caller: Caller | null
}

const passing = new WeakMap<FastifyRequest, Passing>()

const tokenCall = { requestId: '', operation: 'token', reference: '', cardId: '', code: '', ms: 0 }

export function createApiServer(options: ApiServerOptions): FastifyInstance {
  const { clock, atWork, callMs = 10_000 } = options
  const calls = createWorkShare(maxCallsOfOne)
  const largeBodies = createWorkShare(maxLargeBodies - 1, maxLargeBodies)
  // Without a Host Node answers itself, bare; here the Signature is then of another address.
  const http = { ...headWithin(httpTimeoutMs), requireHostHeader: false }
  const server = Fastify({
    logger: false,
    schemaController: noSchemas,
    bodyLimit: maxBodyBytes,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    exposeHeadRoutes: false,
    requestTimeout: httpTimeoutMs,
    clientErrorHandler: refuseConnection,
    ...(options.tls === null ? { http } : { https: { ...options.tls.options, ...http } }),
    // How long a parameter may be, its field says; by default Fastify knows no path with one above 100.
    routerOptions: { maxParamLength: maxHeaderSize },
    // A path that cannot be decoded is a wrong one; Fastify's own answer would show it.
    frameworkErrors: (_error: Error, request: FastifyRequest, reply: FastifyReply) => {
      const isOperation = request.url.startsWith(`${apiPrefix}/`)
      void (isOperation ? receive(request, reply, null) : refusePath(reply, apiPrefix))
    },
  })
  server.setNotFoundHandler((_request, reply) => refusePath(reply, apiPrefix))
  answerOuterFaults(server, (error) => options.onBug(error, ''))
  const connections = createConnections({ maxConnections, maxBodyBytes, provenYield: true })
  connections.watch(server.server)
  closeWithAnswers(server, callMs + lingerMs, connections)
  server.server.on('request', (request, response) => {
    if (!connections.receive(request, response)) connections.close(request.socket)
  })
  addTokenEndpoint(server, {
    ...options.token,
    onBug: (error) => options.onBug(error, ''),
    onAnswered: (status, clientId) => options.onAnswered({ ...tokenCall, status, clientId }),
  })

  addDescription(server, options.routes, apiPrefix, options)

  addKycCallback(server, options.outside, clock)

  function begin(request: FastifyRequest, reply: FastifyReply): void {
    const requestId = randomUUID()
    passing.set(request, { requestId, startedMonoMs: clock.monoMs(), caller: null })
    reply.headers({ 'cache-control': 'no-store', 'request-id': requestId })
    if (options.sandbox) reply.header('sandbox', 'true')
  }

  function answer(request: FastifyRequest, reply: FastifyReply, result: Result) {
    const { caller } = passing.get(request)!
    const reference = caller?.reference ?? referenceOf(request.raw.rawHeaders)
    if (!isRefused(result)) {
      return send(request, reply, 200, successOf(reference!, result.data, result.warnings))
    }
    const { status } = conditions[result.condition]
    const { challenge, retryAfterSeconds } = result
    // RFC 9110 wants one with every 401, and there are clients that throw the answer away without it.
    if (status === 401) reply.header('www-authenticate', challenge ?? 'Bearer')
    if (status === 429 || status === 503) reply.header('retry-after', retryAfterSeconds ?? 1)
    return send(request, reply, status, refusalEnvelope(reference, result))
  }

  function send(
    request: FastifyRequest,
    reply: FastifyReply,
    status: number,
    envelope: Envelope,
  ): FastifyReply {
    const { requestId, startedMonoMs, caller } = passing.get(request)!
    const { operation = 'unknown' } = request.routeOptions.config as { operation?: string }
    options.onAnswered({
      requestId,
      operation,
      clientId: caller?.clientId ?? '',
      reference: envelope.reference ?? '',
      cardId: status === 200 ? ((request.params as { cardId?: string })?.cardId ?? '') : '',
      status,
      code: envelope.responseCode,
      ms: clock.monoMs() - startedMonoMs,
    })
    return reply.code(status).send(envelope)
  }

  /** Checks 1 to 10 of the contract, before a byte of the body is read. */
  async function admit(
    request: FastifyRequest,
    reply: FastifyReply,
    route: Route | null,
  ): Promise<Refused | null> {
    if (Atomics.load(atWork, 0) >= maxCalls) return refuse('unavailable', 'too many calls at once')
    if (options.isPressed()) return refuse('unavailable', 'decisions come first')
    const { method, originalUrl: target, ip: remoteAddress } = request
    const { rawHeaders } = request.raw
    const caller = await options.authenticate({ method, target, rawHeaders, remoteAddress })
    if (isRefused(caller)) return caller
    passing.get(request)!.caller = caller
    connections.prove(request.raw.socket)
    if (!takes(calls, caller, reply)) {
      return refuse('rateLimited', 'too many calls at once', { retryAfterSeconds: 1 })
    }
    if (route === null) return refuse('routeUnknown', 'there is no such operation')
    const missing = missingScope(caller.scopes, route.scope)
    if (missing !== null) return refuse('scopeMissing', `the token needs the scope ${missing}`)
    // A read that succeeds looks when it records its Reference; see `run`.
    const seen = route.reads ? null : await options.references.look(caller, route)
    if (seen !== null) return seen
    const isLarge = mayBeLarge(request, route)
    return isLarge && !takes(largeBodies, caller, reply)
      ? refuse('unavailable', 'large bodies')
      : null
  }

  /** Whether its body may be longer than most may be. */
  function mayBeLarge({ headers }: FastifyRequest, route: Route): boolean {
    const length = Number(headers['content-length'] ?? Number.POSITIVE_INFINITY)
    return route.maxBodyBytes !== undefined && length > maxBodyBytes
  }

  /** Whether there is room for it; it then counts until it is answered, or its connection is gone. */
  function takes(share: WorkShare, { organization }: Caller, { raw }: FastifyReply): boolean {
    const leave = share.take(organization.organizationId)
    // Who has gone while it was recognised is told of no more.
    if (raw.closed) leave?.()
    else if (leave !== null) raw.once('close', leave)
    return leave !== null
  }

  /** Answers what may not go on; null is a path that no operation has. */
  async function receive(request: FastifyRequest, reply: FastifyReply, route: Route | null) {
    begin(request, reply)
    const refused = await admit(request, reply, route).catch((error) => faultOf(error, request))
    if (refused !== null) await answer(request, reply, refused)
  }

  async function run(request: FastifyRequest, route: Route): Promise<Result> {
    const result = await runOnce(request, route)
    if (!isRefused(result) || !route.reads) return result
    // That its Reference was seen comes before all that it may be refused for.
    return (await options.references.look(passing.get(request)!.caller!, route)) ?? result
  }

  async function runOnce(request: FastifyRequest, route: Route): Promise<Result> {
    const { caller } = passing.get(request)!
    const { method, originalUrl: target } = request
    const input = readInput(request, route, target)
    if (isRefused(input)) return input
    const { params, query, body, plain, warnings } = input
    const hash = payloadHash(method, target, route.method === 'GET' ? null : plain)
    const kept = route.hasIdentity
      ? await options.references.keptHash(caller!, options.keyedHashes(hash))
      : shortHash(hash)
    const identity = { hash: kept, method, path: target.split('?', 1)[0]! }
    const nowMs = clock.nowMs()
    const call = { caller: caller!, request: identity, nowMs, params, query, body }
    const result = await options.references.run(call, route, () => route.handle(call))
    return isRefused(result) || warnings.length === 0 ? result : { ...result, warnings }
  }

  server.register(
    async (scope) => {
      scope.removeAllContentTypeParsers()
      scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => {
        done(null, body)
      })
      scope.setErrorHandler(async (error: { statusCode?: number }, request, reply) => {
        const status = error.statusCode ?? 500
        const { bodyLimit } = request.routeOptions
        if (status === 413) return answer(request, reply, refuseBody(bodyLimit))
        if (status < 500) return answer(request, reply, refuse('bodyMalformed'))
        return answer(request, reply, faultOf(error, request))
      })
      scope.addHook('onRequest', async (request, reply) => {
        const { route = null } = request.routeOptions.config as { route?: Route }
        await receive(request, reply, route)
      })
      scope.setNotFoundHandler(() => {
        throw new Error('an unknown route is refused before it is handled')
      })
      for (const route of options.routes) {
        scope.route({
          method: route.method,
          url: route.path,
          bodyLimit: route.maxBodyBytes ?? maxBodyBytes,
          config: { operation: route.operation, route } as object,
          handler: async (request, reply) => {
            Atomics.add(atWork, 0, 1)
            const late = () => refuse('outcomeUnknown', 'ask for its state')
            const result = within(callMs, run(request, route), late).finally(() => {
              Atomics.sub(atWork, 0, 1)
            })
            return answer(request, reply, await result.catch((error) => faultOf(error, request)))
          },
        })
      }
    },
    { prefix: apiPrefix },
  )

  function faultOf(error: unknown, request: FastifyRequest): Refused {
    if (error instanceof StoreError) {
      return error.executed === 'no' ? refuse('unavailable') : refuse('outcomeUnknown')
    }
    options.onBug(error, passing.get(request)?.requestId ?? '')
    return refuse('bug')
  }

  return server
}
