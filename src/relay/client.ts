import { Agent, type IncomingMessage, request } from 'node:http'
import { Agent as TlsAgent, request as tlsRequest } from 'node:https'
import type { Clock } from '../clock.ts'
import type { CardEvent } from '../domain/event.ts'
import { formatMinor } from '../domain/money.ts'
import { signBody } from '../gate/authentication.ts'

/** What a relay waits for before it applies the Default Authorization Decision. */
export const contractLimitMs = 400

export interface Answered {
  readonly status: number
  readonly text: string
  readonly ms: number
}

/** One delivery as the relay saw it; null when nothing came within the contract limit. */
export interface Delivered {
  readonly answer: Answered | null
  /** What came after the relay had given up, or null when nothing ever did. */
  readonly late: Promise<Answered | null>
}

export interface RelayClient {
  deliver(event: CardEvent): Promise<Delivered>
  close(): void
}

export interface RelayClientOptions {
  readonly urls: readonly string[]
  readonly clock: Clock
  /** Signs each body; '' sends none. */
  readonly secret: string
  readonly connections: number
}

/** How long an answer that comes too late is still looked at. */
const lateMs = 10_000

/** Does towards the Authorization URL what the card service does: signs, sends, waits, gives up. */
export function createRelayClient(options: RelayClientOptions): RelayClient {
  const { urls, clock, secret } = options
  const settings = { keepAlive: true, maxSockets: options.connections }
  const agents = { 'http:': new Agent(settings), 'https:': new TlsAgent(settings) }
  let turn = 0

  function post(url: URL, body: string): Promise<Answered | null> {
    const startedMonoMs = clock.monoMs()
    const secure = url.protocol === 'https:'
    return new Promise((resolve) => {
      const sending = (secure ? tlsRequest : request)(url, {
        method: 'POST',
        agent: agents[secure ? 'https:' : 'http:'],
        timeout: lateMs,
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          ...(secret === '' ? {} : { 'relay-signature': signBody(secret, body, clock.nowMs()) }),
        },
      })
      sending.on('response', (response: IncomingMessage) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', () => resolve(null))
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8')
          resolve({ status: response.statusCode ?? 0, text, ms: clock.monoMs() - startedMonoMs })
        })
      })
      sending.on('timeout', () => sending.destroy())
      sending.on('error', () => resolve(null))
      sending.end(body)
    })
  }

  return {
    async deliver(event) {
      const url = new URL(urls[turn++ % urls.length]!)
      const answered = post(url, bodyOf(event))
      const answer = await Promise.race([answered, after(contractLimitMs)])
      return { answer, late: answer === null ? answered : Promise.resolve(null) }
    },
    close() {
      agents['http:'].destroy()
      agents['https:'].destroy()
    },
  }
}

function after(ms: number): Promise<null> {
  return new Promise((resolve) => {
    setTimeout(() => resolve(null), ms).unref()
  })
}

/** The event in the wire's own shape. */
export function bodyOf(event: CardEvent): string {
  const { amountMinor, currency, merchant } = event
  return JSON.stringify({
    eventId: event.eventId,
    requestType: event.requestType,
    transactionId: event.transactionId,
    ...(event.originalTransactionId === ''
      ? {}
      : { originalTransactionId: event.originalTransactionId }),
    cardId: event.cardId,
    ...(amountMinor === null ? {} : { amount: formatMinor(amountMinor, currency) }),
    currency,
    ...(event.final === null ? {} : { final: event.final }),
    ...(event.partialApprovalSupported ? { partialApprovalSupported: true } : {}),
    merchant,
    occurredAt: new Date(event.occurredAtMs).toISOString(),
  })
}
