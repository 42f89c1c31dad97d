import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RequestType } from '../../src/domain/record/event.ts'
import { signatureHeader, signBody } from '../../src/wire/authentication.ts'

/** An event as the tests keep it; amounts in minor units of USD. */
export interface RelayEvent {
  readonly eventId: string
  readonly requestType: RequestType
  readonly transactionId: string
  readonly cardId: string
  readonly amountMinor: number
  readonly final: boolean | null
}

/** One delivery of an event and what came back. */
export interface Delivery {
  readonly event: RelayEvent
  readonly sentMonoMs: number
  /** 0 when the connection ended without an answer. */
  readonly status: number
  /** The body, or why there was none. */
  readonly text: string
  readonly decision: string
  readonly decidedBy: string
  readonly cause: string
  readonly ms: number
}

export interface Relay {
  readonly deliveries: readonly Delivery[]
  readonly inFlight: number
  deliver(event: RelayEvent): Promise<Delivery>
  /** From now on deliveries go to a server at another address. */
  moveTo(url: string): void
  close(): void
}

/**
 * What the card network's relay does: keep-alive connections, and an account of every answer. It signs
 * when it has a secret.
 */
export function createRelay(url: string, maxSockets = 128, secret = ''): Relay {
  const agent = new Agent({ keepAlive: true, maxSockets })
  const deliveries: Delivery[] = []
  let address = new URL(url)
  let inFlight = 0

  function deliver(event: RelayEvent): Promise<Delivery> {
    const body = bodyOf(event)
    const sentMonoMs = performance.now()
    inFlight++
    return new Promise((resolve) => {
      let done = false
      const finish = (status: number, text: string) => {
        if (done) return
        done = true
        inFlight--
        const { decision = '', decidedBy = '', cause = '' } = status === 0 ? {} : JSON.parse(text)
        const ms = performance.now() - sentMonoMs
        const delivery = { event, sentMonoMs, status, text, decision, decidedBy, cause, ms }
        deliveries.push(delivery)
        resolve(delivery)
      }
      const headers = {
        'content-type': 'application/json',
        'content-length': body.length,
        ...(secret === '' ? {} : { [signatureHeader]: signBody(secret, body, Date.now()) }),
      }
      const sending = request(address, { method: 'POST', agent, headers }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', ({ message }) => finish(0, message))
        response.on('end', () => finish(response.statusCode ?? 0, Buffer.concat(chunks).toString()))
      })
      sending.on('error', ({ message }) => finish(0, message))
      sending.end(body)
    })
  }

  return {
    deliveries,
    get inFlight() {
      return inFlight
    },
    deliver,
    moveTo(next) {
      address = new URL(next)
    },
    close: () => agent.destroy(),
  }
}

export function bodyOf(event: RelayEvent): Buffer {
  const { amountMinor, final, ...ids } = event
  return Buffer.from(
    JSON.stringify({
      ...ids,
      amount: (amountMinor / 100).toFixed(2),
      currency: 'USD',
      ...(final === null ? {} : { final }),
      merchant: { mid: 'MID1', mcc: '5411', name: 'Shop', city: 'Boston', country: 'US' },
      occurredAt: new Date().toISOString(),
    }),
  )
}

/**
 * The answer of the engine to an event that it has decided before. A busy machine may make the default answer,
 * which changes nothing: a later delivery gets the engine's, once that has read the event.
 */
export async function repeatUntilDecided(
  relay: Relay,
  event: RelayEvent,
  isDecided: (told: Delivery) => boolean = ({ decidedBy }) => decidedBy === 'engine',
): Promise<Delivery> {
  const startedMs = performance.now()
  for (;;) {
    const told = await relay.deliver(event)
    if (isDecided(told) || performance.now() - startedMs > 20_000) return told
    await sleep(50)
  }
}

/** A repetition gets the answer of the first, in an outage and for ever after it. */
export function firstDeliveries(deliveries: readonly Delivery[]): Delivery[] {
  const first = new Map<string, Delivery>()
  for (const delivery of deliveries) {
    const { eventId } = delivery.event
    const other = first.get(eventId)
    if (other === undefined || delivery.sentMonoMs < other.sentMonoMs) first.set(eventId, delivery)
  }
  return [...first.values()]
}
