import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { createSecretBox } from '../../src/management/secret-box.ts'
import { createCourier } from '../../src/webhook/courier.ts'
import { newDelivery } from '../../src/webhook/delivery.ts'
import { newEndpoint, newSecret } from '../../src/webhook/endpoint.ts'

const box = createSecretBox([randomBytes(32)])
const given = { url: 'https://a.example/', events: ['*'], description: '' }
const endpoint = newEndpoint('whk_1', given, newSecret(), box, 0)

function eventOf(i: number) {
  const deliveries = [newDelivery('whk_1', 0)]
  const type = 'transaction.authorization' as const
  return { eventId: `evt_${i}`, organizationId: 'org-1', type, atMs: 0, body: '{}', deliveries }
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
  const deliver = (i: number) => {
    const { eventId, organizationId } = eventOf(i)
    const [{ dueMs } = { dueMs: 0 }] = eventOf(i).deliveries
    const place = { aggregate: 'ev:0', group: 'v@1', id: eventId }
    return courier.deliver({ organizationId, webhookId: 'whk_1', dueMs, eventId, place }, endpoint)
  }
  expect((await deliver(1))?.result.succeeded).toBe(true)
  expect((await deliver(1_000))?.result.succeeded).toBe(true)
  expect(reads).toBe(0)
  expect(await deliver(0)).toBe(null)
  expect(reads).toBe(1)
})
