import { connect, type Socket } from 'node:net'

/** One HTTP response as it came over the wire. */
export interface RawAnswer {
  readonly status: number
  readonly head: string
  readonly body: string
}

export interface Exchange {
  readonly answers: readonly RawAnswer[]
  /** Whether the server closed the connection. */
  readonly closed: boolean
}

export interface ExchangeOptions {
  /** Until as many answers have come, or the server has closed. */
  readonly answers?: number
  readonly open?: (port: number) => Socket
}

/** Sends bytes as they are on a connection of their own: what no HTTP client would send. */
export function exchange(
  port: number,
  bytes: string | Buffer,
  { answers = 1, open = plain }: ExchangeOptions = {},
): Promise<Exchange> {
  return new Promise((resolve) => {
    const socket = open(port)
    let received = Buffer.alloc(0)
    const finish = (closed: boolean) => {
      socket.destroy()
      resolve({ answers: readAnswers(received).answers, closed })
    }
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk])
      if (readAnswers(received).answers.length >= answers) finish(false)
    })
    // A reset after the answer is a close like any other.
    socket.on('error', () => {})
    socket.on('close', () => finish(true))
    socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
  })
}

function plain(port: number): Socket {
  return connect(port, '127.0.0.1')
}

export interface RawClient {
  /** The answer, or null when the connection was closed without one. */
  send(bytes: Buffer): Promise<RawAnswer | null>
  close(): void
}

/** One request after the other on a connection that is kept alive while the server keeps it. */
export function createRawClient(port: number): RawClient {
  let socket: Socket | null = null
  let received = Buffer.alloc(0)
  let settle: (answer: RawAnswer | null) => void = () => {}

  function connection(): Socket {
    if (socket !== null) return socket
    const opened = plain(port)
    socket = opened
    received = Buffer.alloc(0)
    opened.on('data', (chunk) => {
      received = Buffer.concat([received, chunk])
      const { answers, restBytes } = readAnswers(received)
      const [answer] = answers
      if (answer === undefined) return
      received = received.subarray(received.length - restBytes)
      if (/^connection: close$/im.test(answer.head)) drop(opened)
      settle(answer)
    })
    opened.on('error', () => {})
    opened.on('close', () => {
      drop(opened)
      settle(null)
    })
    return opened
  }

  function drop(closed: Socket): void {
    if (socket !== closed) return
    socket = null
    closed.removeAllListeners('data').removeAllListeners('close').destroy()
  }

  return {
    send(bytes) {
      return new Promise((resolve) => {
        settle = resolve
        connection().write(bytes)
      })
    },
    close() {
      if (socket !== null) drop(socket)
    },
  }
}

/** The whole answers at the beginning, without interim ones; a body needs a content-length. */
function readAnswers(received: Buffer): { answers: RawAnswer[]; restBytes: number } {
  const answers: RawAnswer[] = []
  let at = 0
  for (;;) {
    const headEnd = received.indexOf('\r\n\r\n', at)
    if (headEnd < 0) break
    const head = received.toString('latin1', at, headEnd)
    const status = Number(head.split(' ')[1])
    const length = Number(/^content-length: *(\d+)$/im.exec(head)?.[1] ?? 0)
    const end = headEnd + 4 + length
    if (end > received.length) break
    if (status >= 200) {
      answers.push({ status, head, body: received.toString('utf8', headEnd + 4, end) })
    }
    at = end
  }
  return { answers, restBytes: received.length - at }
}

export interface RequestParts {
  readonly method?: string
  readonly path?: string
  readonly version?: string
  readonly headers?: readonly string[]
  /** Left out when null. */
  readonly contentType?: string | null
}

/** A request with a content-length, whatever else is in it. */
export function requestOf(body: string | Buffer, parts: RequestParts = {}): Buffer {
  const { method = 'POST', path = '/authorize', version = '1.1', headers = [] } = parts
  const { contentType = 'application/json' } = parts
  const content = Buffer.from(body)
  const lines = [
    `${method} ${path} HTTP/${version}`,
    'host: arbiter',
    ...(contentType === null ? [] : [`content-type: ${contentType}`]),
    ...headers,
    `content-length: ${content.length}`,
  ]
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), content])
}
