import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import type { CardEvent } from '../../src/domain/record/event.ts'
import { createRelayClient } from '../../src/relay/client.ts'
import { readEvent } from '../../src/wire/event.ts'
import { testEvent } from '../support/engine-world.ts'

/** The event as a server reads it that the client sends it to. */
async function arrived(event: CardEvent): Promise<unknown> {
  const bodies: Buffer[] = []
  const server = createServer((request, response) => {
    request.on('data', (part: Buffer) => bodies.push(part))
    request.on('end', () => response.end('{"decision":"approve","responseCode":"000"}'))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const urls = [`http://127.0.0.1:${port}/authorize`]
  const client = createRelayClient({ urls, clock: systemClock, sign: () => ({}), connections: 1 })
  await client.deliver(event)
  client.close()
  server.close()
  return readEvent(Buffer.concat(bodies))
}

it('tells no failure of a connection that it has given up itself', async () => {
  const server = createServer(() => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const urls = [`http://127.0.0.1:${(server.address() as AddressInfo).port}/authorize`]
  const client = createRelayClient({ urls, clock: systemClock, sign: () => ({}), connections: 1 })
  const event = testEvent({ eventId: 'e1', requestType: 'Settlement' })
  const { answer, late, problem } = await client.deliver(event)
  expect([answer, await late, problem()]).toEqual([null, null, ''])
  client.close()
  server.close()
})

it('an event arrives as it was recorded, with all that rules look at', async () => {
  const plain = { ...testEvent({ eventId: 'e1' }), occurredAtMs: Date.UTC(2026, 10, 14) }
  const full: CardEvent = {
    ...plain,
    requestType: 'PreAuthorization',
    originalTransactionId: 't0',
    amountMinor: 1_234,
    final: true,
    partialApprovalSupported: true,
    channel: 'ecommerce',
    entryMode: 'keyed',
    merchantAmountMinor: 500,
    merchantCurrency: 'JPY',
    details: { wallet: 'apple_pay', cashAmount: '3.00', 'metadata.basket': 'b1' },
  }
  for (const event of [plain, full]) expect(await arrived(event)).toEqual(event)
})
