import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Clock } from '../clock.ts'
import type { Config } from '../config.ts'
import type { CardEvent } from '../domain/event.ts'
import type { Answer } from '../domain/event-record.ts'
import { createAuthentication, type Peer } from './authentication.ts'
import type { Slots } from './slots.ts'
import {
  isRefusal,
  type Refusal,
  readEvent,
  refusalOf,
  renderRefusal,
  renderReply,
} from './wire.ts'

export interface GateServerOptions {
  readonly config: Config
  readonly clock: Clock
  readonly slots: Slots
  readonly onDecided: (
    event: CardEvent,
    answer: Answer,
    slot: string,
    arrivedMonoMs: number,
    readMonoMs: number,
  ) => void
  readonly onRefused: (status: number) => void
}

const maxBodyBytes = 16_384
/** A request that takes longer to arrive than this is none of the relay's. */
const requestTimeoutMs = 5_000
const headersTimeoutMs = 3_000
/** Longer than any relay keeps an idle connection, so that it is the one to close it. */
const keepAliveMs = 75_000
const json = 'application/json; charset=utf-8'

export function createGateServer(options: GateServerOptions): FastifyInstance {
  const { config, clock, slots } = options
  const authenticate = createAuthentication(config.relayAuthentication)
  const server = Fastify({
    // Our own line per decision says more and costs less.
    logger: false,
    bodyLimit: maxBodyBytes,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveMs,
    http: { headersTimeout: headersTimeoutMs, connectionsCheckingInterval: 500 },
    // Requests that arrive while we stop are still answered.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    exposeHeadRoutes: false,
    clientErrorHandler: refuseConnection,
    ...tlsOptions(config),
  } as object) as unknown as FastifyInstance

  function refuse(reply: FastifyReply, refusal: Refusal): void {
    options.onRefused(refusal.status)
    reply.code(refusal.status).header('content-type', json).send(renderRefusal(refusal))
  }

  /** The body stays as it came: its bytes are signed, and its decimals are exact only as text. */
  server.removeAllContentTypeParsers()
  server.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    done(null, body)
  })

  server.post('/authorize', (request: FastifyRequest, reply: FastifyReply) => {
    const arrivedMonoMs = clock.monoMs()
    const receivedAtMs = clock.nowMs()
    const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
    const peer = request.raw.socket as Socket & Peer
    const stranger = authenticate(request.headers, body, receivedAtMs, peer)
    if (stranger !== null) {
      refuse(reply, refusalOf(stranger.status, stranger.message))
      return
    }
    const event = readEvent(body)
    if (isRefusal(event)) {
      refuse(reply, event)
      return
    }
    const readMonoMs = clock.monoMs()
    slots.take(event, receivedAtMs, arrivedMonoMs, (answer, slot) => {
      if (answer === null) {
        refuse(reply, refusalOf(503, 'the advice could not be written down: send it again', event))
        return
      }
      reply.header('content-type', json).send(render(event, answer))
      options.onDecided(event, answer, slot, arrivedMonoMs, readMonoMs)
    })
  })

  server.setNotFoundHandler((_request, reply) => {
    refuse(reply, refusalOf(404, 'send events to POST /authorize'))
  })

  server.setErrorHandler((error: { code?: string; statusCode?: number }, _request, reply) => {
    if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
      refuse(reply, refusalOf(413, `the body is larger than ${maxBodyBytes} bytes`))
    } else if (error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
      refuse(reply, refusalOf(415, 'send content-type application/json'))
    } else {
      refuse(reply, refusalOf(400, 'the request is not understood'))
    }
  })

  return server
}

function render(event: CardEvent, answer: Answer): string {
  return renderReply({
    eventId: event.eventId,
    transactionId: event.transactionId,
    decision: answer.code === '000' ? 'approve' : 'decline',
    responseCode: answer.code,
    decidedBy: answer.decidedBy,
    rulesVersion: answer.rulesVersion,
    ruleId: answer.ruleId,
    approvedAmountMinor: answer.approvedAmountMinor,
    currency: event.currency,
    cause: answer.cause,
  })
}

/** What never became a request still gets the shape of a decline. */
function refuseConnection(error: Error & { code?: string }, socket: Socket): void {
  if (socket.destroyed || !socket.writable) return
  const late = error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
  const refusal = late
    ? refusalOf(408, 'the request took too long to arrive')
    : refusalOf(400, 'the request is not HTTP as it should be')
  const body = renderRefusal(refusal)
  const head = [
    `HTTP/1.1 ${refusal.status} ${late ? 'Request Timeout' : 'Bad Request'}`,
    `content-type: ${json}`,
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}

function tlsOptions({ tls, relayAuthentication }: Config): object {
  if (tls === null) return {}
  const mutual = relayAuthentication.mode === 'mtls'
  return {
    https: {
      cert: readFileSync(tls.certFile),
      key: readFileSync(tls.keyFile),
      ...(tls.clientCaFile === null ? {} : { ca: readFileSync(tls.clientCaFile) }),
      minVersion: 'TLSv1.2',
      // A stranger is told so in the shape of a decline, not by a broken connection.
      requestCert: mutual,
      rejectUnauthorized: false,
      headersTimeout: headersTimeoutMs,
      connectionsCheckingInterval: 500,
    },
  }
}
