import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { createSecretBox } from '../../src/management/secret-box.ts'
import { createOutgoing } from '../../src/outgoing/call.ts'
import { createCourier, dueEntryOf } from '../../src/webhook/courier.ts'
import { newDelivery } from '../../src/webhook/delivery.ts'
import { newEndpoint, newSecret } from '../../src/webhook/endpoint.ts'
import { dueKey } from '../../src/webhook/event.ts'

const box = createSecretBox([randomBytes(32)])
const given = { url: 'https://a.example/', events: ['*'], description: '' }
const endpoint = newEndpoint('whk_1', given, newSecret(), box, 0)

function eventOf(i: number) {
  const deliveries = [newDelivery('whk_1', 0)]
  const type = 'transaction.authorization' as const
  return { eventId: `evt_${i}`, organizationId: 'org-1', type, atMs: 0, body: '{}', deliveries }
}

function dueOf(i: number) {
  const { eventId, organizationId } = eventOf(i)
  const due = dueKey({ organizationId, webhookId: 'whk_1', dueMs: 0, eventId })
  return dueEntryOf({ ...due, value: 'ev:0 v@1' })
}

it('1,000 events that were just made are sent without being read, and of more the oldest is read', async () => {
  let reads = 0
  const courier = createCourier({
    store: {
      load: async (keys: readonly unknown[]) => {
        reads++
        return keys.map(() => undefined)
      },
    } as never,
    aggregates: { change: async () => {} } as never,
    box,
    clock: { nowMs: () => 0, monoMs: () => 0 },
    outgoing: {
      call: async () => ({ status: 200, retryAfter: '', etag: '', body: '', isCut: false, ms: 1 }),
    } as never,
    random: () => 0.5,
    untilWriting: async () => {},
  })
  for (let i = 0; i <= 1_000; i++) courier.remember(eventOf(i))
  const deliver = (i: number) => courier.deliver(dueOf(i), endpoint)
  expect((await deliver(1))?.result.succeeded).toBe(true)
  expect((await deliver(1_000))?.result.succeeded).toBe(true)
  expect(reads).toBe(0)
  expect(await deliver(0)).toBe(null)
  expect(reads).toBe(1)
})

it('32 tests of endpoints are under way at once, and leave the places of what is delivered', async () => {
  let tests = 0
  const server = createServer((request, response) => {
    if (request.url === '/silent') tests++
    else response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const outgoing = createOutgoing({
    clock: { monoMs: () => 0 },
    allows: () => '',
    allowsPlain: true,
    resolve: async (host) => [host],
    maxCalls: 40,
  })
  onTestFinished(() => {
    outgoing.close()
    server.closeAllConnections()
    server.close()
  })
  const courier = createCourier({
    store: {} as never,
    aggregates: { change: async () => {} } as never,
    box,
    clock: { nowMs: () => 0, monoMs: () => 0 },
    outgoing,
    random: () => 0.5,
    untilWriting: async () => {},
  })
  const at = (path: string) => ({ ...endpoint, url: `${url}${path}` })
  const pings = Array.from({ length: 32 }, () => courier.ping('org-1', at('/silent')))
  await expect.poll(() => tests).toBe(32)
  const refused = await Promise.all(
    Array.from({ length: 10 }, () => courier.ping('org-2', at('/silent'))),
  )
  expect(new Set(refused.map(({ detail }) => detail))).toEqual(new Set(['too many tests at once']))
  courier.remember(eventOf(1))
  expect((await courier.deliver(dueOf(1), at('/')))?.result).toMatchObject({ succeeded: true })
  server.closeAllConnections()
  await Promise.all(pings)
  expect((await courier.ping('org-1', at('/'))).succeeded).toBe(true)
})
