import { expect, it, onTestFinished } from 'vitest'
import { newDelivery } from '../../../src/webhook/delivery.ts'
import { eventChild, writeOfEvent } from '../../../src/webhook/event.ts'
import { createCliWorld } from '../../support/cli.ts'

it('webhooks replay sends all events of its stretch of time again, however many', async () => {
  const world = await createCliWorld()
  onTestFinished(() => world.dispose())
  const named = 'organization add org-1 --name Acme --country US --currency USD'
  await world.run(...named.split(' '))
  const hook = 'webhooks add --organization org-1 --url https://a.example/ --event *'
  const { webhookId } = JSON.parse((await world.run(...hook.split(' '))).out)
  const { store } = await world.serve()
  const atMs = Date.now()
  const deliveries = [{ ...newDelivery(webhookId, 0), state: 'failed' as const }]
  const records = Array.from({ length: 10_001 }, (_, i) => {
    const place = { aggregate: `ev:${i}`, ...eventChild(`evt_${i}`, atMs, 30) }
    const event = { eventId: `evt_${i}`, organizationId: 'org-1', atMs, body: '{}', deliveries }
    const { put = [], index = [] } = writeOfEvent(place, { ...event, type: 'ping' }, null)
    return [
      ...put.map((one) => ({ kind: 'child' as const, aggregate: place.aggregate, ...one })),
      ...index.map((one) => ({ kind: 'index' as const, aggregate: place.aggregate, ...one })),
    ]
  })
  await store.fill(records.flat())
  const { out } = await world.run('webhooks', 'replay', webhookId, '--since', '1h')
  expect(out).toBe('10001 events are sent again\n')
})
