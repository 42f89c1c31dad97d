import http from 'node:http'
import https from 'node:https'
import { isIP } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../clock.ts'
import { type AddressPolicy, isPublic } from './address.ts'
import { type Agents, createDirect, createTunnels } from './agents.ts'
import type { ResolveName } from './name.ts'

/** A call to somebody else's server. */
export interface OutgoingCall {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** From the question of the name to the last byte of the answer. */
  readonly timeoutMs: number
}

/** refused: the address may not be called. unreachable: no connection, or it broke. busy: too many at once. stopped: by us. */
type CallFault = 'refused' | 'unreachable' | 'timedOut' | 'busy' | 'stopped'

export type OutgoingAnswer =
  | {
      readonly status: number
      /** '' when there is none. */
      readonly retryAfter: string
      /** What a later call may say it has; '' when there is none. */
      readonly etag: string
      readonly body: string
      /** The answer was longer than is read. */
      readonly isCut: boolean
      readonly ms: number
    }
  | { readonly fault: CallFault; readonly detail: string; readonly ms: number }

export interface Outgoing {
  readonly open: number
  call(call: OutgoingCall): Promise<OutgoingAnswer>
  /** Ends what is under way. */
  close(): void
}

export interface OutgoingOptions {
  readonly clock: Pick<Clock, 'monoMs'>
  readonly allows: AddressPolicy
  /** Plain HTTP may be spoken. */
  readonly allowsPlain: boolean
  readonly resolve: ResolveName
  readonly maxCalls: number
  /** What is read of an answer; else 64 KiB. */
  readonly maxAnswerBytes?: number
  /** Authorities (PEM) besides those that Node knows. */
  readonly ca?: string
  /** What is not in our own networks is called through it; '' when there is none. */
  readonly proxy?: string
}

const defaultAnswerBytes = 65_536
const maxHeaderBytes = 16_384
/** Answers that say that the answer is still to come (1xx): each is work, and Node counts none of them. */
const maxEarlyAnswers = 20
const maxAddresses = 3
/** Below the 5 s after which many servers close what is idle. */
const idleMs = 4_000
const maxIdlePerHost = 8
/** Behind a proxy name servers may know nothing, and say so late. */
const lookUpMs = 1_000

/** Why a text is no address that may be called; '' when it is one. The name is looked up at each call. */
export function urlProblem(text: string, allowsPlain: boolean, allows: AddressPolicy): string {
  const read = readUrl(text, allowsPlain, allows)
  return typeof read === 'string' ? read : ''
}

/** The address, or why it may not be called. */
function readUrl(text: string, allowsPlain: boolean, allows: AddressPolicy): URL | string {
  if (!URL.canParse(text)) return 'it must be an address, as https://a.example/hooks'
  const url = new URL(text)
  const isWeb = url.protocol === 'https:' || (url.protocol === 'http:' && allowsPlain)
  if (!isWeb) return 'it must begin with https://'
  if (url.username !== '' || url.password !== '') return 'it must hold no user or password'
  if (url.hash !== '' || text.includes('#')) return 'it must have no fragment'
  const host = hostOf(url)
  if (isIP(host) !== 0) return allows(host) || url
  return (host === 'localhost' && allows('127.0.0.1')) || url
}

/** Calls of other servers that cannot be led astray, kept waiting or fed without end. */
export function createOutgoing(options: OutgoingOptions): Outgoing {
  const { clock, allows, resolve, ca, proxy = '', maxAnswerBytes = defaultAnswerBytes } = options
  const pooled = { keepAlive: true, maxFreeSockets: maxIdlePerHost, timeout: idleMs }
  const secured = { ...pooled, ...(ca !== undefined && { ca }) }
  const direct = createDirect(pooled, secured)
  const tunnels = proxy === '' ? null : createTunnels(proxy, secured)
  const open = new Set<AbortController>()
  let isEnding = false

  async function find(url: URL): Promise<Way> {
    const host = hostOf(url)
    const found = await lookUp(host)
    const allowed = found.filter((address) => allows(address) === '')
    if (found.length > 0 && allowed.length === 0) {
      throw new Failed('refused', `its address may not be called: ${allows(found[0]!)}`)
    }
    // The proxy is told the name: what it lets pass it often judges by it.
    const isAbroad = found.length === 0 || allowed.some(isPublic)
    if (tunnels !== null && isAbroad) return { agents: tunnels, hosts: [host] }
    return { agents: direct, hosts: allowed.slice(0, maxAddresses) }
  }

  /** None where only the proxy may know the name. */
  async function lookUp(host: string): Promise<readonly string[]> {
    const looked = resolve(host)
    if (tunnels !== null) {
      const givenUp = sleep(lookUpMs, [], { ref: false })
      return Promise.race([looked.catch(() => []), givenUp])
    }
    return looked.catch((error: Error) => {
      throw new Failed('unreachable', error.message)
    })
  }

  async function attempt(call: OutgoingCall, signal: AbortSignal): Promise<Received> {
    const url = readUrl(call.url, options.allowsPlain, allows)
    if (typeof url === 'string') throw new Failed('refused', url)
    const { agents, hosts } = await find(url)
    const agent = url.protocol === 'http:' ? agents.plain : agents.secure
    let last: unknown
    for (const address of hosts) {
      // A connection that was kept may be closed by the other side just now: one that is new tells.
      for (const isLast of [false, true]) {
        try {
          return await receive(await exchange(url, address, call, agent, signal), maxAnswerBytes)
        } catch (error) {
          last = error
          if (!(error instanceof Stale) || isLast) break
        }
      }
      if (signal.aborted || !(last instanceof Unconnected)) break
    }
    throw last
  }

  return {
    get open() {
      return open.size
    },
    async call(call) {
      const startedMonoMs = clock.monoMs()
      const ms = () => Math.round(clock.monoMs() - startedMonoMs)
      if (isEnding) return { fault: 'stopped', detail: 'the server stops', ms: 0 }
      if (open.size >= options.maxCalls) return { fault: 'busy', detail: 'too many calls', ms: 0 }
      const ending = new AbortController()
      open.add(ending)
      const timer = setTimeout(() => ending.abort(), call.timeoutMs)
      try {
        const received = await aborting(attempt(call, ending.signal), ending.signal)
        return { ...received, ms: ms() }
      } catch (error) {
        if (ending.signal.aborted) {
          if (isEnding) return { fault: 'stopped', detail: 'the server stops', ms: ms() }
          const detail = `no whole answer in ${call.timeoutMs / 1000} s`
          return { fault: 'timedOut', detail, ms: ms() }
        }
        if (error instanceof Failed) return { fault: error.fault, detail: error.message, ms: ms() }
        throw error
      } finally {
        clearTimeout(timer)
        open.delete(ending)
      }
    },
    close() {
      isEnding = true
      for (const ending of open) ending.abort()
      direct.close()
      tunnels?.close()
    },
  }
}

/** Which hosts are tried, one after the other, and how. */
interface Way {
  readonly agents: Agents
  readonly hosts: readonly string[]
}

interface Received {
  readonly status: number
  readonly retryAfter: string
  readonly etag: string
  readonly body: string
  readonly isCut: boolean
}

class Failed extends Error {
  readonly fault: CallFault

  constructor(fault: CallFault, detail: string) {
    super(detail)
    this.fault = fault
  }
}

class Unconnected extends Failed {}
class Stale extends Failed {}

/** The name is looked up before a request exists that could be aborted. */
function aborting<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(new Failed('unreachable', 'it took too long'))
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}

/**
 * The connection goes to the address that was checked, and to no other: only its certificate and the Host
 * header know the name. A redirect is an answer like any other.
 */
function exchange(
  url: URL,
  address: string,
  { method, headers, body }: OutgoingCall,
  agent: http.Agent,
  signal: AbortSignal,
): Promise<http.IncomingMessage> {
  const host = hostOf(url)
  return new Promise((resolve, reject) => {
    const request = (url.protocol === 'http:' ? http : https).request({
      agent,
      method,
      host: address,
      port: url.port === '' ? undefined : url.port,
      path: `${url.pathname}${url.search}`,
      headers: {
        host: url.host,
        'user-agent': 'arbiter',
        'accept-encoding': 'identity',
        ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
        ...headers,
      },
      servername: isIP(host) === 0 ? host : '',
      maxHeaderSize: maxHeaderBytes,
      signal,
    })
    let isConnected = false
    request.once('socket', (socket) => {
      isConnected = !socket.connecting
      // One that is used again would keep a listener of every call.
      if (isConnected) return
      socket.once('connect', () => {
        isConnected = true
      })
    })
    request.once('error', (error: NodeJS.ErrnoException) => {
      const detail = error.code ?? error.message
      if (request.reusedSocket) reject(new Stale('unreachable', detail))
      else if (!isConnected) reject(new Unconnected('unreachable', detail))
      else reject(new Failed('unreachable', detail))
    })
    request.once('response', resolve)
    request.once('upgrade', (_answer, socket) => {
      reject(new Failed('unreachable', 'it changes the protocol'))
      socket.destroy()
    })
    let early = 0
    request.on('information', () => {
      if (++early > maxEarlyAnswers) request.destroy(new Error('it never comes to its answer'))
    })
    request.end(body)
  })
}

/** Reads no more than is wanted, whatever the other side goes on to send. */
async function receive(response: http.IncomingMessage, maxAnswerBytes: number): Promise<Received> {
  const parts: Buffer[] = []
  let bytes = 0
  try {
    for await (const part of response as AsyncIterable<Buffer>) {
      parts.push(part)
      bytes += part.length
      if (bytes > maxAnswerBytes) break
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new Failed('unreachable', code ?? message)
  }
  const isCut = bytes > maxAnswerBytes
  if (isCut) response.destroy()
  const body = Buffer.concat(parts).subarray(0, maxAnswerBytes).toString('utf8')
  const { 'retry-after': retryAfter = '', etag = '' } = response.headers
  return { status: response.statusCode ?? 0, retryAfter, etag, body, isCut }
}

/** Without the brackets of an IPv6 address. */
function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
}
