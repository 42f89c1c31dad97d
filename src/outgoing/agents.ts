import http from 'node:http'
import https from 'node:https'
import { isIPv6, type Socket } from 'node:net'
import { unescape as unescaped } from 'node:querystring'
import type { Duplex } from 'node:stream'
import tls from 'node:tls'

/** How connections are made and kept: for calls in clear, and for those by TLS. */
export interface Agents {
  readonly plain: http.Agent
  readonly secure: https.Agent
  close(): void
}

/** Longer than a proxy tries to connect, shorter than most calls may take. */
const tunnelMs = 10_000

type Created = (error: Error | null, socket?: Duplex) => void

export function createDirect(pooled: http.AgentOptions, secured: https.AgentOptions): Agents {
  const [plain, secure] = [new http.Agent(pooled), new https.Agent(secured)]
  return {
    plain,
    secure,
    close() {
      plain.destroy()
      secure.destroy()
    },
  }
}

/** Tunnels through a proxy (CONNECT): it sees the name that is called, and of a call by TLS nothing else. */
export function createTunnels(
  proxy: string,
  options: https.AgentOptions,
  openingMs = tunnelMs,
): Agents {
  const url = new URL(proxy)
  const asked = new Set<http.ClientRequest>()

  function open(target: tls.ConnectionOptions, opened: Created): void {
    const request = askFor(url, `${bracketed(target.host ?? '')}:${target.port}`)
    request.setTimeout(openingMs, () => request.destroy(new Error('it does not answer')))
    const fail = (why: string) => opened(new Error(`the proxy: ${why}`))
    asked.add(request)
    // Also an answer that opens none comes as this event.
    request.once('connect', ({ statusCode = 0 }: http.IncomingMessage, socket: Socket) => {
      if (statusCode >= 200 && statusCode < 300) return opened(null, socket)
      socket.destroy()
      fail(`it answers ${statusCode}`)
    })
    request.once('error', ({ code, message }: NodeJS.ErrnoException) => fail(code ?? message))
    request.once('close', () => asked.delete(request))
    request.end()
  }

  function openSecure(target: tls.ConnectionOptions, opened: Created): void {
    open(target, (error, socket) => {
      opened(error, socket && tls.connect({ ...target, socket: socket as Socket }))
    })
  }

  const plain = Object.assign(new http.Agent(options), { createConnection: open })
  const secure = Object.assign(new https.Agent(options), { createConnection: openSecure })
  return {
    plain,
    secure,
    close() {
      for (const request of asked) request.destroy()
      plain.destroy()
      secure.destroy()
    },
  }
}

function askFor(proxy: URL, path: string): http.ClientRequest {
  const { hostname, port, username, password } = proxy
  const known = Buffer.from(`${unescaped(username)}:${unescaped(password)}`)
  return (proxy.protocol === 'https:' ? https : http).request({
    agent: false,
    method: 'CONNECT',
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? undefined : port,
    path,
    headers: {
      host: path,
      ...(username !== '' && { 'proxy-authorization': `Basic ${known.toString('base64')}` }),
    },
  })
}

function bracketed(host: string): string {
  return isIPv6(host) ? `[${host}]` : host
}
