import {
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http'
import type { Socket } from 'node:net'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { type Clock, systemClock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { isAsk } from '../domain/record/event.ts'
import { closeAfterNextAnswers, closeInTime } from '../http/closing.ts'
import { type Connections, maxUnanswered } from '../http/connections.ts'
import { noSchemas } from '../http/no-schemas.ts'
import { noEchoes } from '../profile/echo.ts'
import type { Profile } from '../profile/profile.ts'
import type { AnsweredEvent } from '../telemetry/decision-log.ts'
import type { Authenticate, Peer } from '../wire/authentication.ts'
import { isRefusal, type Refusal, refusalOf } from '../wire/refusal.ts'
import { createHttpServer, keepAliveMs } from './http-server.ts'
import { createLoopWatch } from './loop-watch.ts'
import { createPace, type PacedRequest } from './pace.ts'
import type { SendReply } from './slot.ts'
import type { Slots } from './slots.ts'

export interface GateServerOptions {
  readonly config: Config
  readonly clock: Clock
  readonly slots: Slots
  readonly profile: Profile
  readonly authenticate: Authenticate
  readonly connections: Connections
  readonly onAnswered: (answered: AnsweredEvent) => void
  readonly onRefused: (refusal: Refusal, peer: Socket) => void
  /** Its certificate was renewed, or cannot be and why. */
  readonly onCertificate: (problem: string) => void
}

/** What a peer has to take our last word and close; above the contract limit. */
const lingerMs = 1_000
const json = 'application/json; charset=utf-8'
/** Of an organization, as everywhere. */
const idPattern = /^[\x20-\x7e]{1,64}$/

const tooMany = refusalOf(503, `a connection may have ${maxUnanswered} requests without an answer`)

/** Node's own handler looks there too: the answer whose turn it is on a connection. */
interface Connection extends Socket {
  readonly _httpMessage?: (ServerResponse & { readonly req: IncomingMessage }) | null
}

export function createGateServer(options: GateServerOptions): FastifyInstance {
  const { config, clock, slots, profile, authenticate, connections } = options
  const { maxBodyBytes } = config
  const wrongPath = refusalOf(404, `send events to POST ${profile.path}`)
  const headers = { 'content-type': json, ...profile.headers }
  const http = createHttpServer(config, options.onCertificate)
  const server = Fastify({
    // One server at one address. Fastify's own would get a second one with HOST=localhost, without the pace.
    serverFactory: () => http,
    // Our own line per decision says more and costs less.
    logger: false,
    schemaController: noSchemas,
    bodyLimit: maxBodyBytes,
    // Requests that arrive while we stop are still answered.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    exposeHeadRoutes: false,
    clientErrorHandler: refuseConnection,
    // A path that cannot be decoded is a wrong one; Fastify's own answer would show it.
    frameworkErrors: (_error: Error, _request: FastifyRequest, reply: FastifyReply) =>
      refuseStranger(reply, wrongPath),
  })
  const watch = createLoopWatch(systemClock)
  const pace = createPace(
    clock,
    watch,
    (request, response) => {
      // Whoever has left meanwhile, or was sent away, hears no answer.
      if (!request.socket.destroyed) server.routing(request, response)
    },
    {
      standingOf: ({ socket }) => connections.standingOf(socket),
      turnAway: ({ socket }) => connections.close(socket),
    },
  )
  function take(request: IncomingMessage, response: ServerResponse): void {
    if (connections.receive(request, response)) pace.receive(request, response)
    else if (!request.socket.destroyed) refuseFurther(request.socket, response)
  }
  connections.watch(http)
  // What a relay has sent before it hung up is booked as what it then did by itself; Node would drop it.
  Object.assign(http, { httpAllowHalfOpen: true })
  http.on('connection', pace.accept)
  http.on('request', take)
  // Without a listener Node answers 417 itself; an expectation may as well be ignored.
  http.on('checkExpectation', take)
  server.addHook('onClose', async () => watch.stop())
  closeInTime(server, lingerMs)
  closeAfterNextAnswers(server)

  function refuse(reply: FastifyReply, refusal: Refusal, echoes = noEchoes): void {
    options.onRefused(refusal, reply.raw.req.socket)
    const { status, body } = profile.renderRefusal(refusal, echoes)
    reply.code(status).headers(headers).send(body)
  }

  /** Before anybody has proven anything. */
  function refuseStranger(reply: FastifyReply, refusal: Refusal): void {
    connections.doubt(reply.raw.req.socket)
    refuse(reply, refusal)
  }

  const refused = new WeakSet<Socket>()

  /** What never became a request still gets the shape of a decline. */
  function refuseConnection(error: Error & { code?: string }, socket: Socket): void {
    if (refused.has(socket)) return
    const late = error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
    if (late && socket.bytesRead === 0) {
      // One of a pool that the relay has not needed yet is as welcome as one that it no longer needs.
      socket.setTimeout(keepAliveMs)
      return
    }
    refused.add(socket)
    connections.doubt(socket)
    closeSoon(socket)
    sayLast(
      socket,
      late
        ? refusalOf(408, 'the request took too long to arrive')
        : refusalOf(400, 'the request is not HTTP as it should be'),
    )
  }

  /** The last answer of a connection, after those that are due. */
  function refuseFurther(socket: Socket, response: ServerResponse): void {
    options.onRefused(tooMany, socket)
    connections.doubt(socket)
    closeSoon(socket)
    const { status, body } = profile.renderRefusal(tooMany, noEchoes)
    const length = { 'content-length': Buffer.byteLength(body), connection: 'close' }
    response.writeHead(status, { ...headers, ...length }).end(body)
  }

  function sayLast(socket: Connection, refusal: Refusal): void {
    if (!socket.writable) {
      socket.destroy()
      return
    }
    // An answer that is still due goes first: the peer would take ours for it.
    const due = socket._httpMessage
    if (due?.req.complete) {
      due.once('close', () => sayLast(socket, refusal))
      return
    }
    options.onRefused(refusal, socket)
    socket.end(renderResponse(refusal.status, profile.renderRefusal(refusal, noEchoes).body))
  }

  /** The body stays as it came: its bytes are signed, and its decimals are exact only as text. */
  server.removeAllContentTypeParsers()
  server.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    done(null, body)
  })

  function receive(request: FastifyRequest, reply: FastifyReply, organizationId: string): void {
    const { arrivedMonoMs } = request.raw as PacedRequest
    const receivedAtMs = clock.nowMs()
    const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
    if (request.headers.host === undefined && request.raw.httpVersion === '1.1') {
      refuseStranger(reply, refusalOf(400, 'the header Host is missing'))
      return
    }
    if (isEncoded(request.headers)) {
      refuseStranger(reply, refusalOf(415, 'send the body as it is, without content-encoding'))
      return
    }
    const peer = request.raw.socket as Socket & Peer
    const stranger = authenticate(request.headers, body, receivedAtMs, peer)
    if (stranger !== null) {
      if (stranger.challenge !== '') reply.header('www-authenticate', stranger.challenge)
      refuseStranger(reply, refusalOf(stranger.status, stranger.message))
      return
    }
    connections.prove(peer)
    const { event: read, echoes } = profile.read(body, request.headers)
    if (isRefusal(read)) {
      refuse(reply, read, echoes)
      return
    }
    const event = organizationId === '' ? read : { ...read, organizationId }
    const readMonoMs = clock.monoMs()
    const answerWith: SendReply = (answer, slot, origin) => {
      const heard = peer.writable && !peer.readableEnded
      if (answer === null && isAsk(event)) {
        // No answer at all: whatever the relay makes of a 5xx, it then does what the default says.
        peer.destroy()
        return false
      }
      if (answer === null) {
        refuse(reply, refusalOf(503, 'the advice could not be written down: send it again', event))
        return heard
      }
      if (heard || !isAsk(event)) {
        const rendered = profile.renderReply(event, answer, echoes)
        reply.code(rendered.status).headers(headers).send(rendered.body)
      } else {
        // A relay that ended its side may still listen: it must not hear what is not booked.
        peer.destroy()
      }
      options.onAnswered({
        event,
        answer,
        trace: slot,
        arrivalMs: readMonoMs - arrivedMonoMs,
        origin,
        totalMs: clock.monoMs() - arrivedMonoMs,
      })
      return heard
    }
    slots.open(event, receivedAtMs, arrivedMonoMs, answerWith, pace)
  }

  server.post(profile.path, (request, reply) => receive(request, reply, ''))
  // What an organization's own address is for: its default decision, and its cards only.
  server.post<{ Params: { organizationId: string } }>(
    `${profile.path}/:organizationId`,
    (request, reply) => {
      const { organizationId } = request.params
      if (idPattern.test(organizationId)) receive(request, reply, organizationId)
      else refuseStranger(reply, wrongPath)
    },
  )

  server.setNotFoundHandler((_request, reply) => {
    refuseStranger(reply, wrongPath)
  })

  server.setErrorHandler((error: { code?: string; statusCode?: number }, _request, reply) => {
    if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
      refuseStranger(reply, refusalOf(413, `the body is larger than ${maxBodyBytes} bytes`))
    } else if (error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
      refuseStranger(reply, refusalOf(415, 'send content-type application/json'))
    } else {
      refuseStranger(reply, refusalOf(400, 'the request is not understood'))
    }
  })

  return server
}

/** Compressed, by either of the headers that can say so: signed bytes and decimals must be as they came. */
function isEncoded(headers: IncomingHttpHeaders): boolean {
  const content = headers['content-encoding'] ?? 'identity'
  const transfer = headers['transfer-encoding'] ?? 'chunked'
  return content.toLowerCase() !== 'identity' || transfer.toLowerCase() !== 'chunked'
}

function closeSoon(socket: Socket): void {
  const cut = setTimeout(() => socket.destroy(), lingerMs)
  socket.once('close', () => clearTimeout(cut))
}

function renderResponse(status: number, body: string): string {
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `content-type: ${json}`,
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ]
  return `${head.join('\r\n')}\r\n\r\n${body}`
}
