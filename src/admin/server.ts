import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { systemClock } from '../clock.ts'
import { isLoopback } from '../config/check.ts'
import type { Config } from '../config/config.ts'
import { createConnections } from '../http/connections.ts'
import { headWithin } from '../http/head-timeout.ts'
import { noSchemas } from '../http/no-schemas.ts'
import type { ShownMetrics } from '../telemetry/metrics.ts'
import { within } from '../timing.ts'

export interface Readiness {
  readonly status: 'ready' | 'degraded' | 'starting' | 'stopping'
  /** What is not as it should be, for people. */
  readonly detail: Readonly<Record<string, unknown>>
}

export interface AdminServerOptions {
  readonly config: Config
  readonly metrics: ShownMetrics
  readonly readiness: () => Readiness
  /** Resolves to the version in use and what was wrong with the new pack, '' when nothing was. */
  readonly reloadRules: () => Promise<{ version: string; problem: string }>
  /** A person says that the wall clock is right; false when the store's servers say otherwise. Absent where none is doubted. */
  readonly acceptClock?: () => boolean
}

const requestTimeoutMs = 10_000
const maxBodyBytes = 1024
/** They come out of the descriptors that the relay port leaves. */
const maxConnections = 32
/** Asked by platforms, which have no token. */
const probes = ['/healthz', '/readyz']
/** A large pack takes seconds on a busy machine; an engine that is down says nothing. */
const reloadMs = 30_000
const maxRestMs = 500

/** Health, metrics and reload; on a port of its own, so that the relay never meets it. */
export function createAdminServer(options: AdminServerOptions): FastifyInstance {
  const { metrics, readiness } = options
  const server = Fastify({
    logger: false,
    schemaController: noSchemas,
    bodyLimit: maxBodyBytes,
    forceCloseConnections: true,
    // Fastify has none by itself, and whoever may connect need not have the token.
    requestTimeout: requestTimeoutMs,
    http: headWithin(requestTimeoutMs),
    // A path that cannot be decoded comes past every hook, and Fastify's own answer would show it.
    frameworkErrors: (_error: Error, _request: FastifyRequest, reply: FastifyReply) => {
      void reply.code(400).send({ error: 'the path is not understood' })
    },
  })
  const connections = createConnections({ maxConnections, maxBodyBytes })
  connections.watch(server.server)
  server.server.on('request', (request, response) => {
    if (!connections.receive(request, response)) connections.close(request.socket)
  })
  const isAllowed = createTokenCheck(options.config.adminToken)
  const metricsText = createRestingWork(() => metrics.text())

  server.addHook('onRequest', async (request, reply) => {
    const { headers, url } = request
    const foreign = findForeign(headers, options.config)
    if (foreign !== '') return reply.code(403).send({ error: foreign })
    if (probes.includes(url) || isAllowed(headers.authorization)) return
    return reply
      .code(401)
      .header('www-authenticate', 'Bearer')
      .send({ error: 'send the header Authorization: Bearer ADMIN_TOKEN' })
  })

  server.get('/healthz', async () => ({ status: 'alive' }))

  server.get('/readyz', async (request, reply) => {
    const { status, detail } = readiness()
    const serving = status === 'ready' || status === 'degraded'
    const shown = isAllowed(request.headers.authorization) ? detail : {}
    return reply.code(serving ? 200 : 503).send({ status, ...shown })
  })

  server.get('/metrics', async (_request, reply) => {
    return reply.header('content-type', metrics.contentType).send(await metricsText())
  })

  server.post('/admin/rules/reload', async (_request, reply) => {
    const reloaded = await within(reloadMs, options.reloadRules(), () => null)
    if (reloaded === null) {
      // A slow address, a large pack and an engine that is away look the same from here.
      const error = `the pack is neither loaded nor refused after ${reloadMs / 1000} s, and may still be: see /readyz`
      return reply.code(503).send({ status: 'unknown', error })
    }
    const { version, problem } = reloaded
    if (problem === '') return { status: 'loaded', version }
    return reply.code(422).send({ status: 'refused', version, problem })
  })

  const { acceptClock } = options
  if (acceptClock !== undefined) {
    server.post('/admin/clock/accept', async (_request, reply) => {
      if (acceptClock()) return { status: 'accepted' }
      const error = 'the clock of Redis differs from that of this machine: set the wrong one right'
      return reply.code(409).send({ status: 'refused', error })
    })
  }

  const paths = ['GET /healthz', 'GET /readyz', 'GET /metrics', 'POST /admin/rules/reload']
  if (acceptClock !== undefined) paths.push('POST /admin/clock/accept')
  server.setNotFoundHandler(async (_request, reply) => {
    return reply.code(404).send({ error: `there is ${paths.join(', ')}` })
  })

  return server
}

/**
 * Why a browser sent this on behalf of another site, '' when none did. A page can post a form to any
 * address, and one whose name is made to point here can also read the answer.
 */
function findForeign(headers: IncomingHttpHeaders, { adminToken, adminHost }: Config): string {
  const { host, origin } = headers
  if (adminToken === null && host !== undefined) {
    const name = host.replace(/:[0-9]*$/, '').replace(/^\[(.*)\]$/, '$1')
    if (!isLoopback(name) && name.toLowerCase() !== adminHost.toLowerCase()) {
      return 'without ADMIN_TOKEN, call it localhost or by the address of ADMIN_HOST'
    }
  }
  const own = origin === undefined || origin === `http://${host}` || origin === `https://${host}`
  const site = headers['sec-fetch-site'] ?? 'none'
  if (own && (site === 'none' || site === 'same-origin')) return ''
  return 'this is not for pages of other sites'
}

/**
 * What all wait for who asked before it begins. It rests nine times as long as it took, so that whoever asks for it
 * again and again takes a tenth of the loop that answers probes and the relay.
 */
function createRestingWork<T>(work: () => Promise<T>): () => Promise<T> {
  let next: Promise<T> | null = null
  let rested: Promise<unknown> = Promise.resolve()
  function begin(): Promise<T> {
    let startedMs = 0
    const done = rested.then(() => {
      next = null
      startedMs = systemClock.monoMs()
      return work()
    })
    const rest = () => sleep(Math.min(9 * (systemClock.monoMs() - startedMs), maxRestMs))
    rested = done.then(rest, rest)
    return done
  }
  return () => {
    next ??= begin()
    return next
  }
}

/** Compares hashes of equal length in constant time, so that neither length nor content leaks. */
function createTokenCheck(token: string | null): (header: string | undefined) => boolean {
  if (token === null) return () => true
  const digest = (text: string) => createHash('sha256').update(text).digest()
  const expected = digest(`Bearer ${token}`)
  return (header) => timingSafeEqual(digest(header ?? ''), expected)
}
