import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it, onTestFinished } from 'vitest'
import { findDamage } from '../../src/backoffice/store-check.ts'
import { copyStore } from '../../src/backoffice/transfer.ts'
import { indexes } from '../../src/engine/format/layout.ts'
import { putMeta } from '../../src/engine/format/meta.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/port.ts'
import { decodeEvent, type Happening, readPlace } from '../../src/webhook/event.ts'
import { readPending } from '../../src/webhook/pending.ts'
import { createMemoryStore } from '../support/memory-store.ts'
import { answered, openWebhooks, startMs } from '../support/webhook-world.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

function happened(n: number, atMs = startMs, organizationId = 'org-1'): Happening {
  const data = { cardId: `card-${n}`, amount: 12.5 }
  const type = 'transaction.authorization'
  return { organizationId, type, atMs, key: `account-1\n${n}`, sequence: n, data }
}

type World = ReturnType<typeof openWebhooks>

async function eventsOf({ store }: World) {
  const entries = await store.range(indexes.events, '', 1_000)
  const places = entries.map(({ sortKey, value }) => readPlace(value, sortKey.split('\n')[2]!))
  return (await store.load(places)).map((one) => decodeEvent(one!.value))
}

/** The store in memory sorts a whole index for each look at it. */
async function openEmbedded(): Promise<Store> {
  const folder = mkdtempSync(join(tmpdir(), 'arbiter-webhooks-'))
  const store = await openStore({ redis: null, dataDir: folder }, Date.now)
  onTestFinished(async () => {
    await store.close()
    rmSync(folder, { recursive: true })
  })
  return store
}

/** Goes on in steps as a clock would, and settles after each. */
async function advance(world: World, ms: number, stepMs: number): Promise<void> {
  for (const endMs = world.time.ms + ms; world.time.ms < endMs; ) {
    world.time.ms += stepMs
    await world.settle()
  }
}

describe('an event', () => {
  it('is sent once, signed, to each endpoint that wants it', async () => {
    const world = openWebhooks()
    const a = await world.addEndpoint('https://a.example/')
    await world.addEndpoint('https://b.example/', ['kyc.*', 'transaction.declined'])
    world.receivers.set('https://a.example/', () => answered(204))
    await world.office.recorder.record([happened(1)], world.time.ms)
    await world.settle()
    expect(world.calls.map(({ call }) => call.url)).toEqual(['https://a.example/'])
    const { call } = world.calls[0]!
    const [event] = await eventsOf(world)
    expect(JSON.parse(call.body!)).toEqual({
      eventId: event!.eventId,
      type: 'transaction.authorization',
      timestamp: '2026-11-15T10:00:00.000Z',
      organizationId: 'org-1',
      sequence: 1,
      data: { cardId: 'card-1', amount: 12.5 },
    })
    expect(event).toMatchObject({
      deliveries: [{ state: 'delivered', attempts: [{ status: 204 }] }],
    })
    expect(call.headers['webhook-id']).toBe(event!.eventId)
    // The library compares with the real clock, so only its signature is looked at.
    const library = new Webhook(a.secret)
    expect(library.sign(event!.eventId, new Date(startMs), call.body!)).toBe(
      call.headers['webhook-signature'],
    )
    expect((await world.endpoint(a.webhookId)).lastSuccessAtMs).toBe(startMs)
    expect(await readPending(world.store)).toEqual({ pending: 0, oldestMs: null })
  })

  it('is the same when the log is read again, and is not sent again', async () => {
    const world = openWebhooks()
    await world.addEndpoint('https://a.example/')
    world.receivers.set('https://a.example/', () => answered(200))
    for (let i = 0; i < 3; i++) {
      await world.office.recorder.record([happened(1), happened(2)], world.time.ms)
      await world.settle()
    }
    expect(world.calls).toHaveLength(2)
    expect(await eventsOf(world)).toHaveLength(2)
  })

  it('from before its endpoint asked for it is not sent', async () => {
    const world = openWebhooks()
    await world.office.recorder.record([happened(1)], world.time.ms)
    world.time.ms += 10
    await world.addEndpoint('https://a.example/')
    await world.office.recorder.record([happened(1), happened(2, world.time.ms)], world.time.ms)
    await world.settle()
    expect(world.calls.map(({ call }) => JSON.parse(call.body!).sequence)).toEqual([2])
  })
})

describe('a receiver', () => {
  it('that fails ten times is given up, at the times of the schedule', async () => {
    const world = openWebhooks()
    const { webhookId } = await world.addEndpoint('https://a.example/')
    world.receivers.set('https://a.example/', () => answered(500))
    await world.office.recorder.record([happened(1)], world.time.ms)
    await world.settle()
    await advance(world, 10 * minuteMs, 2_500)
    await advance(world, 4 * dayMs, 15 * minuteMs)
    const afterMs = world.calls.map(({ atMs }) => atMs - startMs)
    expect(afterMs).toHaveLength(10)
    const pauses = afterMs.slice(1).map((ms, i) => ms - afterMs[i]!)
    const schedule = [5_000, 1, 5, 30, 120, 360, 720, 1_440, 1_440]
    pauses.forEach((ms, i) => {
      const wanted = i === 0 ? 5_000 : schedule[i]! * minuteMs
      expect(ms).toBeGreaterThanOrEqual(wanted)
      expect(ms).toBeLessThanOrEqual(wanted + 15 * minuteMs)
    })
    const bodies = new Set(world.calls.map(({ call }) => call.body))
    expect(bodies.size).toBe(1)
    const [event] = await eventsOf(world)
    expect(event!.deliveries[0]).toMatchObject({ state: 'failed', tries: 10 })
    const endpoint = await world.endpoint(webhookId)
    expect(endpoint).toMatchObject({ enabled: true, failingSinceMs: startMs })
    expect(endpoint.lastFailure).toMatchObject({ status: 500 })
    expect((await readPending(world.store)).pending).toBe(0)
  })

  it('is tried again no sooner than it asks for, up to an hour', async () => {
    const world = openWebhooks()
    await world.addEndpoint('https://a.example/')
    world.receivers.set('https://a.example/', () => answered(503, '3000'))
    await world.office.recorder.record([happened(1)], world.time.ms)
    await world.settle()
    await advance(world, 49 * minuteMs, minuteMs)
    expect(world.calls).toHaveLength(1)
    await advance(world, 2 * minuteMs, minuteMs)
    expect(world.calls).toHaveLength(2)
  })

  it('that is gone is disabled at once, and what it misses is kept as failed', async () => {
    const world = openWebhooks()
    const { webhookId } = await world.addEndpoint('https://a.example/')
    world.receivers.set('https://a.example/', () => answered(410))
    await world.office.recorder.record([happened(1)], world.time.ms)
    await world.settle()
    expect(await world.endpoint(webhookId)).toMatchObject({
      enabled: false,
      disabledBecause: 'gone',
    })
    expect(world.troubles).toEqual([`webhook ${webhookId} of org-1 is disabled: it answered 410`])
    await world.office.recorder.record([happened(2)], world.time.ms)
    await advance(world, minuteMs, 5_000)
    expect(world.calls).toHaveLength(1)
    const states = (await eventsOf(world)).map(({ deliveries }) => deliveries[0]!.state)
    expect(states).toEqual(['failed', 'failed'])
  })

  it('that failed for five days only is disabled', async () => {
    const world = openWebhooks()
    const { webhookId } = await world.addEndpoint('https://a.example/')
    for (let hour = 0; hour < 5 * 24 + 6; hour += 6) {
      await world.office.recorder.record([happened(hour, world.time.ms)], world.time.ms)
      await advance(world, 6 * hourMs, hourMs)
      const { enabled } = await world.endpoint(webhookId)
      if (hour < 4 * 24) expect(enabled, `after ${hour} hours`).toBe(true)
    }
    expect(await world.endpoint(webhookId)).toMatchObject({ disabledBecause: 'failing' })
    await world.setEndpoint(webhookId, { enabled: true })
    expect(await world.endpoint(webhookId)).toMatchObject({
      enabled: true,
      failingSinceMs: null,
      disabledBecause: '',
    })
  })

  it('that was down for three days gets what was not given up, when it is back', async () => {
    const world = openWebhooks()
    await world.addEndpoint('https://a.example/')
    for (let hour = 0; hour < 72; hour += 2) {
      await world.office.recorder.record([happened(hour, world.time.ms)], world.time.ms)
      await advance(world, 2 * hourMs, 20 * minuteMs)
    }
    const failed = world.calls.length
    world.receivers.set('https://a.example/', () => answered(200))
    await advance(world, 2 * dayMs, hourMs)
    const arrived = new Set(world.calls.slice(failed).map(({ call }) => call.headers['webhook-id']))
    const all = await eventsOf(world)
    const lost = all.filter(({ deliveries }) => deliveries[0]!.state === 'failed')
    expect(all).toHaveLength(36)
    expect(lost.length).toBeLessThanOrEqual(3)
    expect(arrived.size).toBe(36 - lost.length)
    expect((await readPending(world.store)).pending).toBe(0)
  })

  it('that hangs delays nobody else', async () => {
    const world = openWebhooks(await openEmbedded())
    const hung: (() => void)[] = []
    const timedOut = { fault: 'timedOut', detail: 'no whole answer in 15 s', ms: 15_000 } as const
    for (let i = 0; i < 80; i++) {
      await world.addEndpoint(`https://hangs.example/${i}`, ['*'], `org-${i}`)
      world.receivers.set(`https://hangs.example/${i}`, () => {
        return new Promise((resolve) => hung.push(() => resolve(timedOut)))
      })
    }
    const hanging = Array.from({ length: 160 }, (_, n) => happened(n, startMs, `org-${n % 80}`))
    await world.office.recorder.record(hanging, world.time.ms)
    const flying = async () => {
      await world.office.dispatcher.look()
      return world.office.dispatcher.flying
    }
    await expect.poll(flying).toBe(80)
    const sendTo = async (name: string) => {
      const url = `https://${name}.example/`
      await world.addEndpoint(url, ['*'], `org-${name}`)
      world.receivers.set(url, () => answered(200))
      const well = Array.from({ length: 20 }, (_, n) => happened(n, world.time.ms, `org-${name}`))
      await world.office.recorder.record(well, world.time.ms)
      const sent = () => world.calls.filter(({ call }) => call.url === url).length
      await expect.poll(sent).toBe(20)
    }
    await sendTo('well')
    // Those that are known to hang share a part of what is sent at once.
    world.time.ms += 15_000
    for (const end of hung.splice(0)) end()
    await expect.poll(() => world.office.dispatcher.flying).toBe(0)
    world.time.ms += 5_000
    await expect.poll(flying).toBe(64)
    await sendTo('new')
  })
})

describe('ten endpoints that are dead, with much that waits for them', () => {
  it('keep neither memory nor the living ones waiting', async () => {
    const world = openWebhooks(await openEmbedded())
    const each = process.env.TORTURE ? 10_000 : 500
    for (let i = 0; i < 10; i++)
      await world.addEndpoint(`https://dead.example/${i}`, ['*'], `d${i}`)
    for (let i = 0; i < 10; i++) {
      for (let n = 0; n < each; n += 500) {
        const some = Array.from({ length: 500 }, (_, k) => happened(n + k, startMs, `d${i}`))
        await world.office.recorder.record(some, world.time.ms)
      }
    }
    expect((await readPending(world.store)).pending).toBe(Math.min(10 * each, 10_000))
    await world.addEndpoint('https://well.example/', ['*'], 'z')
    world.receivers.set('https://well.example/', () => answered(200))
    let mostFlying = 0
    for (let second = 0; second < 15; second++) {
      world.time.ms += 1_000
      await world.office.recorder.record([happened(second, world.time.ms, 'z')], world.time.ms)
      mostFlying = Math.max(mostFlying, world.office.dispatcher.flying)
      await world.settle()
    }
    const living = world.calls.filter(({ call }) => call.url === 'https://well.example/')
    expect(living).toHaveLength(15)
    for (const { atMs, call } of living) {
      expect(atMs - Date.parse(JSON.parse(call.body!).timestamp)).toBeLessThan(1_000)
    }
    expect(mostFlying).toBeLessThan(100)
    // After its failures each is asked every few seconds, however much waits for it.
    const asked = world.calls.length - living.length
    expect(asked).toBeLessThan(10 * 20)
  })
})

describe('a copy of a store', () => {
  it('has the events, and what of them is pending', async () => {
    const world = openWebhooks()
    await world.addEndpoint('https://a.example/')
    await world.office.recorder.record([happened(1), happened(2)], world.time.ms)
    await world.settle()
    await putMeta(world.store, { eventRetentionDays: 45, sandbox: false })
    const copy = createMemoryStore()
    await copyStore(world.store, copy, { onProgress() {}, nowMs: () => world.time.ms })
    expect(await readPending(copy)).toEqual(await readPending(world.store))
    expect(await copy.range(indexes.events, '', 10)).toHaveLength(2)
    const damage: unknown[] = []
    for await (const found of findDamage(copy, () => {})) damage.push(found)
    expect(damage).toEqual([])
  })
})
