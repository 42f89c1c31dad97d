import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { StoreError } from '../store/port.ts'
import { conditions, type Refused, refuse } from './condition.ts'
import { refusalEnvelope } from './envelope.ts'

/** Node's own handler looks there too: the answer whose turn it is on a connection. */
interface Connection extends Socket {
  readonly _httpMessage?: ServerResponse | null
}

/** What a peer has to take our last word and close. */
const lingerMs = 1_000

const details: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: 'the headers are too large',
  ERR_HTTP_REQUEST_TIMEOUT: 'the request took too long to arrive',
}

/** What never became a request still gets the envelope, as the last word on its connection. */
export function refuseConnection(error: Error & { code?: string }, socket: Connection): void {
  // An answer that was begun cannot be taken back, and who sent nothing waits for nothing.
  const begun = socket._httpMessage?.headersSent === true
  if (!socket.writable || begun || socket.bytesRead === 0) {
    socket.destroy()
    return
  }
  const detail = details[error.code ?? ''] ?? 'the request is not HTTP as it should be'
  const body = JSON.stringify(refusalEnvelope(null, refuse('headerMalformed', detail)))
  const head = [
    'HTTP/1.1 400 Bad Request',
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'cache-control: no-store',
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
  const cut = setTimeout(() => socket.destroy(), lingerMs)
  socket.once('close', () => clearTimeout(cut))
}

/** A body above what its operation takes; it was not read to its end. */
export function refuseBody(maxBytes: number): Refused {
  return refuse('bodyMalformed', `the body is larger than ${maxBytes / 1024} KiB`)
}

/** Outside of the operations nobody has proven anything. */
export function refusePath(reply: FastifyReply, prefix: string): void {
  const where = `operations are under ${prefix}, their description is at /docs`
  void reply.code(404).send(refusalEnvelope(null, refuse('routeUnknown', where)))
}

/** Outside of the operations too: Fastify's own answer would show what an error says, and tell nobody here. */
export function answerOuterFaults(server: FastifyInstance, onBug: (error: unknown) => void): void {
  // Without a listener Node answers 417 itself, which is none of our statuses; an expectation may be ignored.
  server.server.on('checkExpectation', (request, response) => {
    server.server.emit('request', request, response)
  })
  server.setErrorHandler(async (error: Error & { statusCode?: number }, _request, reply) => {
    const refused = refusalOf(error)
    if (refused.condition === 'bug') onBug(error)
    const { status } = conditions[refused.condition]
    if (status === 503) reply.header('retry-after', 1)
    return reply.code(status).send(refusalEnvelope(null, refused))
  })
}

function refusalOf(error: Error & { statusCode?: number }): Refused {
  if (error instanceof StoreError) return refuse('unavailable')
  return refuse((error.statusCode ?? 500) < 500 ? 'bodyMalformed' : 'bug')
}
