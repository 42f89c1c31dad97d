import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { refuse } from './condition.ts'
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
