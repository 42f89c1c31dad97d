import type { IncomingHttpHeaders } from 'node:http'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { z } from 'zod'
import { isLoopback } from '../config/check.ts'
import { RecordUnreadable } from '../engine/format/row-codec.ts'
import { createConnections } from '../http/connections.ts'
import { headWithin } from '../http/head-timeout.ts'
import { noSchemas } from '../http/no-schemas.ts'
import { StoreError } from '../store/port.ts'
import { maskPan } from '../telemetry/mask.ts'
import type { Asset, Assets } from './assets.ts'
import type { Live, Wants } from './live.ts'
import { maxPasswordChars } from './password.ts'
import { ConsoleRefused, type ConsoleRoute } from './route.ts'
import {
  cookieName,
  deviceCookieName,
  deviceSeconds,
  type Sessions,
  sessionSeconds,
  type Who,
} from './session.ts'

export interface ConsoleServerOptions {
  readonly host: string
  /** By which people call it, where that is not its own address; null for none. */
  readonly publicUrl: string | null
  readonly assets: Assets
  readonly sessions: Sessions
  readonly routes: readonly ConsoleRoute[]
  readonly live: Live
  /** A page that was written elsewhere; null when there is none. */
  readonly report: (name: string) => Buffer | null
  /** What a browser wants to be told, by the query of its subscription; throws ConsoleRefused. */
  readonly subscription: (query: unknown) => Wants
  readonly onBug: (error: unknown) => void
}

const maxBodyBytes = 65_536
const maxConnections = 512
const requestTimeoutMs = 10_000
/** Requests at work at once; subscriptions do not count. */
const maxAtWork = 64

const credentials = z.object({
  name: z.string().max(64),
  password: z.string().min(1).max(maxPasswordChars),
})

/** Pages, data and changes for people, on a port of its own. */
export function createConsoleServer(options: ConsoleServerOptions): FastifyInstance {
  const { assets, sessions, live } = options
  let atWork = 0
  const server = Fastify({
    logger: false,
    schemaController: noSchemas,
    bodyLimit: maxBodyBytes,
    forceCloseConnections: true,
    exposeHeadRoutes: false,
    requestTimeout: requestTimeoutMs,
    http: headWithin(requestTimeoutMs),
    // A path that cannot be decoded comes past every hook, and Fastify's own answer would show it.
    frameworkErrors: (_error: Error, request: FastifyRequest, reply: FastifyReply) => {
      const foreign = guard(request, reply)
      void (foreign === '' ? answerOther(request, reply) : refuseForeign(reply, foreign))
    },
  })
  const connections = createConnections({ maxConnections, maxBodyBytes })
  connections.watch(server.server)
  server.server.on('request', (request, response) => {
    if (!connections.receive(request, response)) connections.close(request.socket)
  })

  /** Sets what every answer has; why it must be a refusal, '' where it need not. */
  function guard(request: FastifyRequest, reply: FastifyReply): string {
    reply.headers({
      'content-security-policy': assets.contentSecurityPolicy,
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'cache-control': 'no-store',
    })
    return findForeign(request.method, request.headers, options)
  }

  function refuseForeign(reply: FastifyReply, foreign: string): FastifyReply {
    return reply.code(403).send({ error: foreign })
  }

  server.addHook('onRequest', async (request, reply) => {
    const foreign = guard(request, reply)
    if (foreign !== '') return refuseForeign(reply, foreign)
  })

  function whoOf(request: FastifyRequest): Who | null {
    const who = sessions.find(request.headers.cookie)
    if (who !== null) connections.prove(request.raw.socket)
    return who
  }

  server.post('/login', async (request, reply) => {
    const given = credentials.safeParse(request.body)
    if (!given.success) return reply.code(400).send({ error: 'a name and a password are needed' })
    const { name, password } = given.data
    const from = { address: request.ip, cookies: request.headers.cookie }
    const login = await sessions.login(name, password, from)
    if ('refused' in login) {
      const many = login.refused === 'too many'
      const error = many ? 'too many tries: wait a minute' : 'the name or the password is wrong'
      return reply.code(many ? 429 : 401).send({ error })
    }
    const cookies = [
      cookieOf(cookieName, login.token, sessionSeconds),
      cookieOf(deviceCookieName, login.device, deviceSeconds),
    ]
    return reply.header('set-cookie', cookies).send({})
  })

  server.post('/logout', async (request, reply) => {
    sessions.end(request.headers.cookie)
    return reply.header('set-cookie', cookieOf(cookieName, '', 0)).send({})
  })

  function cookieOf(name: string, token: string, seconds: number): string {
    const secure = options.publicUrl?.startsWith('https:') ? '; Secure' : ''
    return `${name}=${token}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${seconds}${secure}`
  }

  for (const route of options.routes) {
    server.route({
      method: route.method,
      url: route.path,
      handler: async (request, reply) => {
        const who = whoOf(request)
        if (who === null) return reply.code(401).send({ error: 'log in first' })
        if (route.method === 'POST' && who.role !== 'operator') {
          return reply.code(403).send({ error: 'a viewer may look, an operator may act' })
        }
        if (atWork >= maxAtWork) return reply.code(503).send({ error: 'too much at once' })
        atWork++
        try {
          return await answer(route, request, reply, who)
        } finally {
          atWork--
        }
      },
    })
  }

  async function answer(
    route: ConsoleRoute,
    request: FastifyRequest,
    reply: FastifyReply,
    who: Who,
  ): Promise<FastifyReply> {
    const input = route.input.safeParse(route.method === 'GET' ? request.query : request.body)
    if (!input.success) {
      const [issue] = input.error.issues
      const error = `${issue?.path.join('.') || 'the request'}: ${issue?.message ?? 'is wrong'}`
      return reply.code(400).send({ error })
    }
    try {
      const result = await route.handle(input.data, who)
      return reply.type('application/json; charset=utf-8').send(answerText(result ?? {}))
    } catch (error) {
      return refuse(reply, error)
    }
  }

  function refuse(reply: FastifyReply, error: unknown): FastifyReply {
    if (error instanceof ConsoleRefused) {
      return reply.code(error.status).send(answerText({ error: error.message }))
    }
    if (error instanceof StoreError) {
      const unsure = error.executed === 'unknown' ? ': look whether it was done' : ''
      return reply.code(503).send({ error: `the store cannot be reached${unsure}` })
    }
    if (error instanceof RecordUnreadable) {
      const text = `a record cannot be read, ${error.message}: see arbiter damaged`
      return reply.code(500).send(answerText({ error: text }))
    }
    options.onBug(error)
    return reply.code(500).send({ error: 'this is a bug, and the log has it' })
  }

  server.get('/live', async (request, reply) => {
    const who = whoOf(request)
    if (who === null) return reply.code(401).send({ error: 'log in first' })
    try {
      const wants = options.subscription(request.query)
      if (live.size >= maxConnections / 2) throw new ConsoleRefused(503, 'too many consoles')
      reply.hijack()
      request.raw.socket.setTimeout(0)
      const { cookie } = request.headers
      const mayHear = () => sessions.find(cookie) !== null
      if (!live.admit(reply.raw, { wants, mayHear })) reply.raw.writeHead(503).end()
      return reply
    } catch (error) {
      return refuse(reply, error)
    }
  })

  server.get('/reports/:name', async (request, reply) => {
    if (whoOf(request) === null) return reply.code(401).send({ error: 'log in first' })
    const { name } = request.params as { name: string }
    const report = options.report(name)
    if (report === null) return reply.code(404).send({ error: 'there is no such report' })
    // It was not written by the console, so it may show what it has and do nothing.
    const policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"
    return reply
      .header('content-security-policy', policy)
      .type('text/html; charset=utf-8')
      .send(report)
  })

  server.setNotFoundHandler(async (request, reply) => answerOther(request, reply))

  /** A file of the pages, or the page that says where one is. */
  function answerOther(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    if (request.method !== 'GET') return reply.code(404).send({ error: 'there is no such thing' })
    const path = request.url.split('?', 1)[0]!
    const asset = assets.byPath.get(path)
    if (asset !== undefined) return sendAsset(request, reply, asset)
    if (/^\/(?:lib|page|data|act)\//.test(path)) {
      return reply.code(404).send({ error: 'there is no such thing' })
    }
    return sendAsset(request, reply, assets.shell)
  }

  server.setErrorHandler(async (error: { statusCode?: number }, _request, reply) => {
    const status = error.statusCode ?? 500
    if (status >= 500) return refuse(reply, error)
    return reply.code(status).send({ error: 'the request is not understood' })
  })

  server.addHook('preClose', async () => live.close())
  return server
}

function sendAsset(request: FastifyRequest, reply: FastifyReply, asset: Asset): FastifyReply {
  reply.headers({ 'cache-control': 'no-cache', etag: asset.etag })
  if (request.headers['if-none-match'] === asset.etag) return reply.code(304).send()
  return reply.type(asset.type).send(asset.body)
}

/** What looks like a card number leaves masked, wherever it stands. */
export function answerText(value: unknown): string {
  return JSON.stringify(value, (_name, part) => (typeof part === 'string' ? maskPan(part) : part))
}

/**
 * Why this was not sent by a page of ours, '' when it may have been. A name that is made to point here
 * would let a foreign page read what it likes, so only names of ours are answered.
 */
function findForeign(
  method: string,
  headers: IncomingHttpHeaders,
  { host: ownHost, publicUrl }: Pick<ConsoleServerOptions, 'host' | 'publicUrl'>,
): string {
  const { host = '', origin } = headers
  const name = host
    .replace(/:[0-9]*$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .toLowerCase()
  const called = publicUrl === null ? null : new URL(publicUrl)
  const isOwn =
    isLoopback(name) || name === ownHost.toLowerCase() || host.toLowerCase() === called?.host
  if (!isOwn) return 'this is not the name of the console: see CONSOLE_URL'
  const site = headers['sec-fetch-site'] ?? 'none'
  const foreign = 'this is not for pages of other sites: see CONSOLE_URL'
  if (method === 'GET')
    return site === 'cross-site' && headers['sec-fetch-mode'] !== 'navigate' ? foreign : ''
  // A proxy may call the console by an address of its own, and not by the one that people see.
  const origins = [`http://${host}`, `https://${host}`, called?.origin]
  if (origin === undefined || !origins.includes(origin.toLowerCase())) return foreign
  return site === 'none' || site === 'same-origin' ? '' : foreign
}
