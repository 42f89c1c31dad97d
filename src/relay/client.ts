import { Agent, type IncomingMessage, request } from 'node:http'
import { Agent as TlsAgent, request as tlsRequest } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SecureContextOptions } from 'node:tls'
import type { Clock } from '../clock.ts'
import { contractMs } from '../contract-limit.ts'
import { type CardEvent, isAsk, metadataPrefix } from '../domain/record/event.ts'
import { formatMinor } from '../domain/record/money.ts'
import type { Sign } from '../wire/authentication.ts'
import type { RelayAnswer } from './answer.ts'
import { explainProblem, RelayRefused, whyTurnedAway } from './refusal.ts'

/** One delivery as the relay saw it; null when nothing came within the contract limit. */
interface Delivered {
  readonly answer: RelayAnswer | null
  /** The answer that came after the relay had given up; null when none ever did. */
  readonly late: Promise<RelayAnswer | null>
  /** Why the connection failed; '' while it has not. */
  problem(): string
}

export interface RelayClient {
  /** Rejects with RelayRefused when no event would be decided on. */
  deliver(event: CardEvent): Promise<Delivered>
  /** A body as it is, whatever is in it. */
  deliverBody(body: string): Promise<Delivered>
  close(): void
}

export interface RelayClientOptions {
  readonly urls: readonly string[]
  readonly clock: Clock
  readonly sign: Sign
  /** Trusted authorities, and the client's own certificate, for https. */
  readonly tls?: Pick<SecureContextOptions, 'ca' | 'cert' | 'key'>
  readonly connections: number
}

/** How long a late answer to an ask is still waited for. */
const lateMs = 3000

/** Does towards the Authorization URL what the card service does: signs, sends, waits, gives up. */
export function createRelayClient(options: RelayClientOptions): RelayClient {
  const { urls, clock, sign } = options
  const settings = { keepAlive: true, maxSockets: options.connections }
  const agents = {
    'http:': new Agent(settings),
    'https:': new TlsAgent({ ...settings, ...options.tls }),
  }
  let turn = 0

  function post(
    url: URL,
    body: string,
    waitsMs: number,
    onProblem: (code: string) => void,
  ): Promise<RelayAnswer | null> {
    const startedMonoMs = clock.monoMs()
    const secure = url.protocol === 'https:'
    return new Promise((resolve) => {
      let isGivenUp = false
      const fail = ({ code = 'failed' }: NodeJS.ErrnoException) => {
        clearTimeout(timer)
        // A connection that we have closed ourselves tells nothing of the other side.
        if (!isGivenUp) onProblem(code)
        resolve(null)
      }
      const sending = (secure ? tlsRequest : request)(url, {
        method: 'POST',
        agent: agents[secure ? 'https:' : 'http:'],
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          ...sign(body, clock.nowMs()),
        },
      })
      sending.on('response', (response: IncomingMessage) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', fail)
        response.on('end', () => {
          clearTimeout(timer)
          const text = Buffer.concat(chunks).toString('utf8')
          resolve({ status: response.statusCode ?? 0, text, ms: clock.monoMs() - startedMonoMs })
        })
      })
      // The timer also ends the wait for a free connection, so that requests given up do not pile up.
      const timer = setTimeout(() => {
        isGivenUp = true
        sending.destroy()
      }, waitsMs)
      sending.on('error', fail)
      sending.end(body)
    })
  }

  const nextUrl = () => new URL(urls[turn++ % urls.length]!)

  async function deliverTo(url: URL, body: string, waitsMs: number): Promise<Delivered> {
    let problem = ''
    const answered = post(url, body, waitsMs, (code) => {
      problem = code
    })
    const answer = await Promise.race([answered, sleep(contractMs, null, { ref: false })])
    const late = answer === null ? answered : Promise.resolve(null)
    return { answer, late, problem: () => problem }
  }

  return {
    async deliver(event) {
      const url = nextUrl()
      // A late answer to an advice is not waited for: the silent connection is closed, and it is sent again.
      const waitsMs = isAsk(event) ? lateMs : contractMs
      const delivered = await deliverTo(url, eventBody(event), waitsMs)
      const { answer, problem } = delivered
      const why = answer === null ? '' : whyTurnedAway(answer)
      if (why !== '') throw new RelayRefused(`${url} ${why}`)
      const { text, known } = explainProblem(problem())
      if (known) throw new RelayRefused(`${url} cannot be used: ${text}`)
      return delivered
    },
    deliverBody: (body) => deliverTo(nextUrl(), body, lateMs),
    close() {
      agents['http:'].destroy()
      agents['https:'].destroy()
    },
  }
}

/** The event in the wire's own shape. */
export function eventBody(event: CardEvent): string {
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
    ...(event.channel === '' ? {} : { channel: event.channel }),
    ...(event.entryMode === '' ? {} : { entryMode: event.entryMode }),
    ...(event.merchantCurrency === ''
      ? {}
      : {
          merchantAmount: formatMinor(event.merchantAmountMinor, event.merchantCurrency),
          merchantCurrency: event.merchantCurrency,
        }),
    occurredAt: new Date(event.occurredAtMs).toISOString(),
    ...detailsOf(event),
  })
}

/** What was said beside, in the two objects that it comes in. */
function detailsOf({ details = {} }: CardEvent): Record<string, object> {
  const parts: Record<string, Record<string, string>> = {}
  for (const [name, said] of Object.entries(details)) {
    const isMetadata = name.startsWith(metadataPrefix)
    const part = isMetadata ? 'metadata' : 'details'
    parts[part] ??= {}
    parts[part][isMetadata ? name.slice(metadataPrefix.length) : name] = said
  }
  return parts
}
