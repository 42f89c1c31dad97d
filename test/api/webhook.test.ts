import { describe, expect, it } from 'vitest'
import { indexes } from '../../src/engine/format/layout.ts'
import { createProjector } from '../../src/projection/projector.ts'
import type { Command } from '../../src/store/port.ts'
import type { Happening } from '../../src/webhook/event.ts'
import { createLogConsumer } from '../../src/webhook/log-consumer.ts'
import { type ApiWorldOptions, openApi } from '../support/api-world.ts'
import { createMemoryState, type Fault } from '../support/memory-store.ts'
import { openMoneyApi } from '../support/money-world.ts'
import { startReceiver } from '../support/receiver.ts'

async function openWorld(sandbox = true, options: ApiWorldOptions = {}) {
  const world = await openApi({ sandbox, scopes: ['CardAPIs'], ...options })
  async function call(method: string, path: string, body?: unknown) {
    const target = `/api/v1${path}`
    // Each asks for a token, of which a client gets five a second.
    world.time.ms += 250
    const headers = await world.headersOf(method, target)
    const text = body === undefined ? undefined : JSON.stringify(body)
    const answer = await world.call(method, target, headers, text)
    const { responseCode: code, data } = answer.body as {
      responseCode: string
      data: Record<string, never>
    }
    return { status: answer.status, code, data, reference: headers.reference! }
  }
  async function happen(...keys: readonly string[]): Promise<void> {
    const happenings = keys.map(
      (key): Happening => ({
        organizationId: 'org-1',
        type: 'card.updated',
        atMs: world.time.ms,
        key,
        sequence: 1,
        data: { cardId: key },
      }),
    )
    await world.outside.office.recorder.record(happenings, world.time.ms)
  }
  const { dispatcher } = world.outside.office
  const idle = () => expect.poll(() => dispatcher.flying + dispatcher.settling).toBe(0)
  return { ...world, call, happen, idle }
}

const items = (data: Record<string, never>) => data.items as unknown as Record<string, unknown>[]

describe('a webhook', () => {
  it('is made, told, listed, changed, rotated and removed', async () => {
    const { call, happen, idle, credentials } = await openWorld()
    const { url, received, verifyWith } = await startReceiver()
    const made = await call('POST', '/webhooks', { url: `${url}/a`, events: ['card.*'] })
    expect(made).toMatchObject({
      status: 200,
      data: { url: `${url}/a`, events: ['card.*'], enabled: true, pending: 0, lastFailure: null },
    })
    const { webhookId, secret } = made.data as unknown as { webhookId: string; secret: string }
    const looked = await call('GET', `/requests/${made.reference}`)
    expect(JSON.stringify(looked.data)).toContain(webhookId)
    expect(JSON.stringify(looked.data)).not.toContain('whsec_')
    expect(credentials.clientId).not.toBe('')

    verifyWith(secret)
    await happen('card-1')
    await expect.poll(() => received.length).toBe(1)
    await idle()
    const listed = await call('GET', '/webhooks')
    expect(items(listed.data)).toMatchObject([{ webhookId, lastSuccessAt: expect.any(String) }])
    expect(JSON.stringify(listed.data)).not.toContain('whsec_')

    const tested = await call('POST', `/webhooks/${webhookId}/test`)
    expect(tested.data).toMatchObject({ delivered: true, httpStatus: 200, detail: '' })
    expect(JSON.parse(received[1]!.body)).toMatchObject({ type: 'ping', data: {} })

    const rotated = await call('POST', `/webhooks/${webhookId}/rotate-secret`)
    verifyWith(String(rotated.data.secret))
    await call('POST', `/webhooks/${webhookId}/test`)
    expect(received[2]!.headers['webhook-signature']!.split(' ')).toHaveLength(2)

    const changed = await call('PATCH', `/webhooks/${webhookId}`, { enabled: false })
    expect(changed.data).toMatchObject({ enabled: false, url: `${url}/a` })
    await happen('card-2')
    const removed = await call('DELETE', `/webhooks/${webhookId}`)
    expect(removed.status).toBe(200)
    expect(items((await call('GET', '/webhooks')).data)).toEqual([])
    expect(await call('DELETE', `/webhooks/${webhookId}`)).toMatchObject({
      status: 404,
      code: '157',
    })
    expect(received).toHaveLength(3)
  })

  it('that has moved, or has a new secret, is told by that from its answer on', async () => {
    const { call, happen, idle } = await openWorld()
    const [before, after] = [await startReceiver(), await startReceiver()]
    const made = await call('POST', '/webhooks', { url: before.url, events: ['*'] })
    const path = `/webhooks/${made.data.webhookId}`
    await happen('card-1')
    await expect.poll(() => before.received.length).toBe(1)
    await idle()
    // What is known of it by now is not a second old when it is changed.
    await happen('card-2')
    await expect.poll(() => before.received.length).toBe(2)
    await idle()
    await call('PATCH', path, { url: after.url })
    await happen('card-3')
    await expect.poll(() => after.received.length).toBe(1)
    await idle()
    await call('POST', `${path}/rotate-secret`)
    await happen('card-4')
    await expect.poll(() => after.received.length).toBe(2)
    expect(after.received[1]!.headers['webhook-signature']!.split(' ')).toHaveLength(2)
    expect(before.received).toHaveLength(2)
  })

  it('has an address that may be called, and there are ten at most', async () => {
    const { call } = await openWorld(false)
    for (const url of [
      'http://a.example/',
      'https://127.0.0.1/',
      'https://10.0.0.1/',
      'https://u:p@a.example/',
      'https://169.254.169.254/latest',
    ]) {
      const { status, code } = await call('POST', '/webhooks', { url, events: ['*'] })
      expect([status, code], url).toEqual([422, '119'])
    }
    const given = { url: 'https://a.example/', events: ['*'] }
    for (let i = 0; i < 10; i++) expect((await call('POST', '/webhooks', given)).status).toBe(200)
    expect(await call('POST', '/webhooks', given)).toMatchObject({ status: 422, code: '119' })
    const unknown = await call('POST', '/webhooks', { ...given, events: ['cards.*'] })
    expect(unknown).toMatchObject({ status: 400, code: '136' })
    // A parser of addresses leaves line breaks out, and those who read the list would see another one.
    const broken = await call('POST', '/webhooks', { ...given, url: 'https://a.example/\nb' })
    expect(broken).toMatchObject({ status: 400, code: '136' })
  })
})

describe('an event', () => {
  it('is listed with its attempts, found by its id, and sent again with the same bytes', async () => {
    const { call, happen, idle, time } = await openWorld()
    let status = 500
    const { url, received, verifyWith } = await startReceiver(() => status)
    const { data } = await call('POST', '/webhooks', { url, events: ['*'] })
    verifyWith(String(data.secret))
    const webhookId = String(data.webhookId)
    await happen('card-1')
    time.ms += 1
    await happen('card-2')
    await expect.poll(() => received.length).toBeGreaterThan(0)
    await idle()
    const pending = await call('GET', `/events?state=Pending&webhookId=${webhookId}`)
    expect(items(pending.data)).toHaveLength(2)
    const described = await call('PATCH', `/webhooks/${webhookId}`, { description: 'Ours' })
    expect(described.data).toMatchObject({ pending: 2, lastFailure: { httpStatus: 500 } })
    status = 200
    time.ms += 10_000
    const [newest, oldest] = items(pending.data) as { eventId: string; body: string }[]
    const again = await call('POST', `/webhooks/${webhookId}/replay`, { eventId: oldest!.eventId })
    expect(again.data).toEqual({ queued: 1 })
    await expect.poll(() => received.filter(({ body }) => body === oldest!.body).length).toBe(2)
    await idle()
    const found = await call('GET', `/events/${oldest!.eventId}`)
    expect(found.data).toMatchObject({
      state: 'Delivered',
      body: oldest!.body,
      deliveries: [{ webhookId, attempts: [{ httpStatus: 500 }, { httpStatus: 200 }] }],
    })
    const span = { startDate: '2026-11-15', endDate: '2026-11-16', events: ['card.*'] }
    const all = await call('POST', `/webhooks/${webhookId}/replay`, span)
    expect(all.data).toEqual({ queued: 2 })
    await expect.poll(() => received.filter(({ body }) => body === newest!.body).length).toBe(2)
    await idle()
    const delivered = await call('GET', '/events?state=Delivered&type=card.updated')
    expect(items(delivered.data)).toHaveLength(2)
    const onDay = async (startDate: string, endDate: string) =>
      items((await call('GET', `/events?startDate=${startDate}&endDate=${endDate}`)).data).length
    expect(await onDay('2026-11-15', '2026-11-16')).toBe(2)
    expect(await onDay('2026-11-13', '2026-11-14')).toBe(0)
    expect(items((await call('GET', '/events?state=Failed')).data)).toEqual([])
    expect(await call('GET', '/events/evt_01JCQ8A1B2C3D4E5F6G7H8J9KM')).toMatchObject({
      code: '157',
    })
    const both = { eventId: oldest!.eventId, startDate: '2026-11-15' }
    expect(await call('POST', `/webhooks/${webhookId}/replay`, both)).toMatchObject({ code: '131' })
    expect(await call('POST', `/webhooks/${webhookId}/replay`, {})).toMatchObject({ code: '158' })
    // It would be given up at once, and not be sent either when the webhook is enabled later.
    await call('PATCH', `/webhooks/${webhookId}`, { enabled: false })
    expect(await call('POST', `/webhooks/${webhookId}/replay`, span)).toMatchObject({
      status: 422,
      code: '119',
    })
    expect(items((await call('GET', '/events?state=Delivered')).data)).toHaveLength(2)
  })

  it('is not sent again, nor is a ping, when the Reference is refused', async () => {
    const { send, happen, idle } = await openWorld()
    const { url, received, verifyWith } = await startReceiver()
    const { data } = await send('POST', '/webhooks', { url, events: ['*'] })
    const { webhookId, secret } = data as unknown as { webhookId: string; secret: string }
    verifyWith(secret)
    await happen('card-1')
    await expect.poll(() => received.length).toBe(1)
    await idle()
    const path = `/webhooks/${webhookId}`
    expect((await send('POST', `${path}/test`, undefined, 'Same')).said).toBe('200 000')
    expect((await send('POST', `${path}/test`, undefined, 'Same')).said).toBe('400 139')
    const unknown = { eventId: 'evt_01JCQ8A1B2C3D4E5F6G7H8J9KM' }
    expect((await send('POST', `${path}/replay`, unknown, 'Begun')).said).toBe('404 157')
    const span = { startDate: '2026-11-15', endDate: '2026-11-16' }
    expect((await send('POST', `${path}/replay`, span, 'Begun')).said).toBe('400 139')
    await idle()
    expect(received).toHaveLength(2)
    expect((await send('POST', `${path}/replay`, span)).data).toEqual({ queued: 1 })
    await expect.poll(() => received.length).toBe(3)
  })

  it('is sent again once by two equal calls at once, and by the retry of one that was killed', async () => {
    const state = createMemoryState()
    const noting: { fault: Fault } = { fault: { kind: 'none' } }
    const isNote = ({ aggregate, put }: Command) =>
      aggregate.startsWith('wh:') && put.some(({ group }) => group.startsWith('x@'))
    const faults = (commands: readonly Command[]): Fault =>
      commands.some(isNote) ? noting.fault : { kind: 'none' }
    const first = await openWorld(true, { state, faults })
    const { url, received, verifyWith } = await startReceiver()
    const { data } = await first.send('POST', '/webhooks', { url, events: ['*'] })
    verifyWith(String(data.secret))
    await first.happen('card-1', 'card-2')
    await expect.poll(() => received.length).toBe(2)
    await first.idle()
    const path = `/webhooks/${data.webhookId}/replay`
    const span = { startDate: '2026-11-15', endDate: '2026-11-16' }
    const replay = (at: typeof first, reference: string) => at.send('POST', path, span, reference)
    const sentBy = async (at: typeof first, count: number) => {
      at.time.ms += 1_000
      await at.outside.office.dispatcher.look()
      await expect.poll(() => at.store.range(indexes.deliveries, '', 9)).toEqual([])
      expect(received).toHaveLength(count)
    }
    let note = () => {}
    const until = new Promise<void>((resolve) => {
      note = resolve
    })
    noting.fault = { kind: 'delayed', until }
    const slow = replay(first, 'Same')
    await expect.poll(() => first.store.range(indexes.deliveries, '', 9)).toHaveLength(2)
    await sentBy(first, 4)
    const equal = replay(first, 'Same')
    await expect.poll(() => first.aggregates.waiting).toBe(2)
    note()
    expect((await slow).data).toEqual({ queued: 2 })
    expect((await equal).said).toBe('400 139')
    await sentBy(first, 4)

    noting.fault = { kind: 'dies', executed: false }
    void replay(first, 'Begun').catch(() => null)
    await expect.poll(() => first.store.range(indexes.deliveries, '', 9)).toHaveLength(2)
    const second = await openWorld(true, { state, like: first })
    second.time.ms = first.time.ms
    await sentBy(second, 6)
    expect((await replay(second, 'Begun')).data).toEqual({ queued: 2 })
    await sentBy(second, 6)
    expect((await replay(second, 'Other')).data).toEqual({ queued: 2 })
    await sentBy(second, 8)
  })
})

it('tells what both sides have of money that arrived days after it was asked for', async () => {
  const state = createMemoryState()
  let isBegun = false
  const first = await openMoneyApi([{ cardId: 'card-1' }], 5_000, {
    state,
    faults(commands) {
      isBegun ||= commands.some(({ put }) => put.some(({ group }) => group === 'x'))
      return isBegun ? { kind: 'dies', executed: true } : { kind: 'none' }
    },
  })
  void first.post('/cards/card-1/topup', { amount: 5 }).catch(() => null)
  await expect.poll(() => isBegun).toBe(true)
  const second = await openMoneyApi([], 0, { state, like: first })
  const { store, aggregates, time } = second
  time.ms = first.time.ms + 3 * 86_400_000
  await second.sweeper.sweep()
  await second.send('POST', '/webhooks', { url: 'https://a.example/', events: ['*'] })
  const told: Happening[] = []
  const recorder = {
    async record(happenings: readonly Happening[]) {
      told.push(...happenings)
    },
  }
  const clock = { nowMs: () => time.ms, monoMs: () => time.ms }
  const consumers = [createLogConsumer({ store, recorder, nowMs: clock.nowMs })]
  const following = { store, aggregates, clock, instance: 'i', consumers }
  const projector = createProjector({ ...following, onTrouble: () => {} })
  time.ms += 1_000
  while (await projector.step()) {}
  const [arrived] = told.filter(({ type }) => type === 'transfer.completed')
  expect(arrived?.data).toMatchObject({
    type: 'TopUp',
    balances: { posted: 5 },
    wallet: { balance: 45 },
  })
})
