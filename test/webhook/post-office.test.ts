import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it, onTestFinished } from 'vitest'
import { findDamage } from '../../src/backoffice/store-check.ts'
import { copyStore } from '../../src/backoffice/transfer.ts'
import { indexes, webhooksAggregate } from '../../src/engine/format/layout.ts'
import { putMeta } from '../../src/engine/format/meta.ts'
import { newestFirst } from '../../src/engine/format/newest-first.ts'
import type { OutgoingAnswer } from '../../src/outgoing/call.ts'
import { allTime } from '../../src/projection/listing.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/port.ts'
import { newSecret, readEndpoints } from '../../src/webhook/endpoint.ts'
import { decodeEvent, eventBeside, type Happening, readPlace } from '../../src/webhook/event.ts'
import type { EventType } from '../../src/webhook/event-type.ts'
import { figuresOf, readPending } from '../../src/webhook/pending.ts'
import { replaySpan } from '../../src/webhook/replay.ts'
import { unlistOldEvents } from '../../src/webhook/retention.ts'
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

const timedOut = { fault: 'timedOut', detail: 'no whole answer in 15 s', ms: 15_000 } as const
const refused = { fault: 'refused', detail: 'its address may not be called', ms: 1 } as const

/** Asked for once, then. */
const at = (nowMs: number) => ({ nowMs, sinceMs: nowMs })

type World = ReturnType<typeof openWebhooks>

async function eventsOf({ store }: World) {
  const entries = await store.range(indexes.events, '', 1_000)
  const places = entries.map(({ sortKey, value }) => readPlace(value, sortKey.split('\n')[2]!))
  return (await store.load(places)).map((one) => decodeEvent(one!.value))
}

/** Takes out what happened before, by a clock that is believed or not. */
function unlist(
  { store, aggregates }: Pick<World, 'store' | 'aggregates'>,
  beforeMs: number,
  isDoubted = false,
): Promise<number> {
  const clock = { nowMs: () => beforeMs + 30 * dayMs, isDoubted: () => isDoubted }
  return unlistOldEvents(store, aggregates, clock, 30)
}

/** In Redis bytes that are no UTF-8 stand behind all text, and are read as other ones. */
const broken = { sortKey: '\ufffd\na\n', value: '' }

/** The store in memory sorts a whole index for each look at it. */
async function openEmbedded(): Promise<Store> {
  const folder = mkdtempSync(join(tmpdir(), 'arbiter-webhooks-'))
  const store = await openStore({ redis: null, dataDir: folder }, () => startMs)
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
    expect(call.timeoutMs).toBe(15_000)
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

  it('that is kept no more, as the log of a store that was restored may tell, is not made, and those beside it are sent', async () => {
    const world = openWebhooks()
    await world.addEndpoint('https://a.example/')
    world.receivers.set('https://a.example/', () => answered(200))
    const told = [happened(1, startMs - 40 * dayMs), happened(2)]
    await world.office.recorder.record(told, startMs)
    await world.settle()
    expect(world.calls.map(({ call }) => JSON.parse(call.body!).sequence)).toEqual([2])
    expect((await eventsOf(world)).map(({ atMs }) => atMs)).toEqual([startMs])
  })

  it('is signed with the old secret too for a day after a new one was made', async () => {
    const world = openWebhooks()
    const old = await world.addEndpoint('https://a.example/')
    world.receivers.set('https://a.example/', () => answered(200))
    const next = newSecret()
    await world.rotate(old.webhookId, next)
    const signedBy = async (n: number) => {
      await world.office.recorder.record([happened(n, world.time.ms)], world.time.ms)
      await world.settle()
      const { headers, body } = world.calls.at(-1)!.call
      const given = headers['webhook-signature']!.split(' ')
      const id = headers['webhook-id']!
      const at = new Date(world.time.ms)
      expect(given).toContain(new Webhook(next).sign(id, at, body!))
      return [given.length, given.includes(new Webhook(old.secret).sign(id, at, body!))]
    }
    expect(await signedBy(1)).toEqual([2, true])
    world.time.ms += dayMs - 1
    expect(await signedBy(2)).toEqual([2, true])
    world.time.ms += 1
    expect(await signedBy(3)).toEqual([1, false])
  })

  it('is signed with up to four secrets that were made in a day, each for its day', async () => {
    const world = openWebhooks()
    const { webhookId, secret } = await world.addEndpoint('https://a.example/')
    world.receivers.set('https://a.example/', () => answered(200))
    const secrets = [secret]
    const signing = async (n: number) => {
      await world.office.recorder.record([happened(n, world.time.ms)], world.time.ms)
      await world.settle()
      const { headers, body } = world.calls.at(-1)!.call
      const given = headers['webhook-signature']!.split(' ')
      const at = new Date(world.time.ms)
      const signs = (one: string) =>
        given.includes(new Webhook(one).sign(headers['webhook-id']!, at, body!))
      return secrets.flatMap((one, i) => (signs(one) ? i : []))
    }
    for (const n of [1, 2, 3, 4]) {
      const next = newSecret()
      await world.rotate(webhookId, next)
      secrets.push(next)
      world.time.ms += hourMs
      expect(await signing(n)).toEqual([0, 1, 2, 3, 4].slice(Math.max(0, n - 3), n + 1))
    }
    world.time.ms += dayMs - 2 * hourMs
    expect(await signing(5)).toEqual([3, 4])
  })

  it('is dropped from the list when its time is over, and nothing else is', async () => {
    const world = openWebhooks()
    await world.addEndpoint('https://a.example/')
    await world.addEndpoint('https://b.example/', ['*'], 'org-2')
    for (let day = 0; day < 3; day++) {
      const atMs = startMs + day * dayMs
      const both = [happened(day, atMs), happened(day, atMs, 'org-2')]
      await world.office.recorder.record(both, world.time.ms)
    }
    const left = async () => (await world.store.range(indexes.events, '', 10)).length
    expect(await unlist(world, startMs - 1)).toBe(0)
    expect(await left()).toBe(6)
    expect(await unlist(world, startMs + dayMs + 1)).toBe(4)
    const kept = await eventsOf(world)
    expect(kept.map(({ organizationId, atMs }) => [organizationId, atMs])).toEqual([
      ['org-1', startMs + 2 * dayMs],
      ['org-2', startMs + 2 * dayMs],
    ])
  })

  it('stays in the list while the clock is doubted', async () => {
    const world = openWebhooks()
    await world.addEndpoint('https://a.example/')
    await world.office.recorder.record([happened(1)], world.time.ms)
    const wrongMs = startMs + 100 * dayMs
    expect(await unlist(world, wrongMs, true)).toBe(0)
    expect(await world.store.range(indexes.events, '', 10)).toHaveLength(1)
    expect(await unlist(world, wrongMs)).toBe(1)
  })

  it('that its entry names no place of is met once, where a store keeps entries by their place', async () => {
    const { store, aggregates } = openWebhooks()
    const broken = Array.from({ length: 1_001 }, (_, i) => ({
      kind: 'index' as const,
      index: indexes.events,
      sortKey: `org-1\n${newestFirst(startMs + i)}\nevt_${i}`,
      value: 'broken',
      aggregate: 'ev:1',
    }))
    await store.fill(broken)
    let looks = 0
    const elsewhere: typeof aggregates = {
      ...aggregates,
      // As in Redis, where another partition has another index.
      async change({ decide }) {
        if (++looks > 2_000) throw new Error('it is met again and again')
        return decide({ root: null, child: () => null }).result
      },
    }
    expect(await unlist({ store, aggregates: elsewhere }, startMs + dayMs)).toBe(1_001)
  })

  it('leaves the list though a sort key behind it is damaged, and so ends what takes it out', async () => {
    const world = openWebhooks()
    await world.addEndpoint('https://a.example/')
    await world.office.recorder.record([happened(1)], world.time.ms)
    let looks = 0
    const store: Store = {
      ...world.store,
      async range(index, after, limit) {
        if (++looks > 100) throw new Error('it is met again and again')
        return [...(await world.store.range(index, after, limit)), broken].slice(0, limit)
      },
    }
    await unlist({ store, aggregates: world.aggregates }, startMs + dayMs)
    expect(await world.store.range(indexes.events, '', 10)).toEqual([])
  })

  it('is found with all others that wait in a few reads, however many answers come', async () => {
    const memory = createMemoryStore()
    let reads = 0
    const range: Store['range'] = (index, after, limit) => {
      // A look at where the next endpoint begins asks for one.
      if (index === indexes.deliveries && limit > 1) reads++
      return memory.range(index, after, limit)
    }
    const world = openWebhooks({ ...memory, range })
    await world.addEndpoint('https://a.example/')
    world.receivers.set('https://a.example/', () => answered(200))
    const some = Array.from({ length: 60 }, (_, n) => happened(n))
    await world.office.recorder.record(some, world.time.ms)
    await expect.poll(() => world.calls.length).toBe(60)
    await world.settle()
    expect(world.calls).toHaveLength(60)
    expect(reads).toBeLessThan(4)
  })

  it('that cannot be read is passed over and told of, and what comes behind it is sent', async () => {
    const world = openWebhooks()
    const { webhookId } = await world.addEndpoint('https://a.example/')
    await world.office.recorder.record([happened(1)], world.time.ms)
    await world.settle()
    const [entry] = await world.store.range(indexes.events, '', 1)
    const place = readPlace(entry!.value, entry!.sortKey.split('\n')[2]!)
    const broken = { group: place.group, id: place.id, value: '[2]' }
    await world.aggregates.change({
      aggregate: place.aggregate,
      decide: () => ({ result: null, write: { put: [broken] } }),
    })
    world.time.ms += minuteMs
    await world.office.recorder.record([happened(2, world.time.ms)], world.time.ms)
    await world.settle()
    world.kill()
    // Another process knows of events only what the store has.
    const { office, store, aggregates } = world.startInstance('b', true)
    world.receivers.set('https://a.example/', () => answered(200))
    const failed = world.calls.length
    for (let minute = 0; minute < 10; minute++) {
      world.time.ms += minuteMs
      await world.settle(office)
    }
    const sent = world.calls.slice(failed).map(({ call }) => JSON.parse(call.body!).data.cardId)
    expect(sent).toEqual(['card-2'])
    expect(await readPending(store)).toEqual({ pending: 0, oldestMs: null })
    expect(world.troubles).toEqual([expect.stringContaining(place.id)])
    const to = { organizationId: 'org-1', webhookId }
    const all = () => true
    expect(await replaySpan(store, aggregates, to, allTime, all, at(world.time.ms))).toBe(1)
  })

  it.each([
    ['whose time is no number', (key: string) => key.replace('\n00', '\nx0')],
    ['whose time is sooner', (key: string) => key.replace('\n00', '\n')],
    ['that has a line too many', (key: string) => `${key.replace('\n00', '\n/0')}\nx`],
  ])('that has a sort key %s is sent at its time, and keeps none behind it', async (_, damaged) => {
    const world = openWebhooks()
    await world.addEndpoint('https://a.example/')
    await world.office.recorder.record([happened(1)], world.time.ms)
    await world.settle()
    world.receivers.set('https://a.example/', () => answered(200))
    const [entry] = await world.store.range(indexes.deliveries, '', 1)
    const { sortKey, value } = entry!
    const index = indexes.deliveries
    const write = {
      unindex: [{ index, sortKey }],
      index: [{ index, sortKey: damaged(sortKey), value }],
    }
    const { aggregate } = readPlace(value, '')
    await world.aggregates.change({ aggregate, decide: () => ({ result: null, write }) })
    await world.office.recorder.record([happened(2)], world.time.ms)
    await advance(world, 4_000, 1_000)
    const sent = () => world.calls.slice(1).map(({ call }) => JSON.parse(call.body!).sequence)
    expect(sent()).toEqual([2])
    await advance(world, 2_000, 1_000)
    expect(sent()).toEqual([2, 1])
    expect(await world.store.range(index, '', 1)).toEqual([])
  })

  it('whose place holds a zero byte keeps none behind it from being sent, listed or taken out', async () => {
    const world = openWebhooks(await openEmbedded())
    const { store, aggregates } = world
    const { webhookId } = await world.addEndpoint('https://a.example/')
    world.receivers.set('https://a.example/', () => answered(200))
    const value = 'ev:\u0000 v@1'
    const index = [
      { index: indexes.deliveries, sortKey: `org-1\n${webhookId}\n000000000000001\nevt_1`, value },
      { index: indexes.events, sortKey: `org-1\n${newestFirst(startMs + 1)}\nevt_1`, value },
    ]
    await aggregates.change({
      aggregate: 'ev:1',
      decide: () => ({ result: null, write: { index } }),
    })
    await world.office.recorder.record([happened(2)], world.time.ms)
    await advance(world, 10_000, 1_000)
    expect(world.calls.map(({ call }) => JSON.parse(call.body!).sequence)).toEqual([2])
    expect(await store.range(indexes.deliveries, '', 10)).toEqual([])
    const again = { organizationId: 'org-1', webhookId }
    expect(await replaySpan(store, aggregates, again, allTime, () => true, at(startMs))).toBe(1)
    await unlist(world, startMs + dayMs)
    expect(await store.range(indexes.events, '', 10)).toEqual([])
  })

  it.each([true, false])(
    'that nobody can take out is met once, where its endpoint is there: %s',
    async (isThere) => {
      const memory = createMemoryStore()
      let commits = 0
      const world = openWebhooks({
        ...memory,
        commit(commands) {
          commits++
          return memory.commit(commands)
        },
        // Bytes that are no UTF-8 are read as other ones, and no text takes them out.
        async range(index, after, limit) {
          const found = await memory.range(index, after, limit)
          const stays = {
            sortKey: `org-1\n${webhookId}\n000000000000001\nevt_\ufffd`,
            value: 'ev:1 v@1',
          }
          const isMet = index === indexes.deliveries && after < stays.sortKey
          return (isMet ? [stays, ...found] : found).slice(0, limit)
        },
      })
      const { webhookId } = await world.addEndpoint('https://a.example/')
      world.receivers.set('https://a.example/', () => answered(200))
      await world.office.recorder.record([happened(1)], world.time.ms)
      if (!isThere) await world.removeEndpoint(webhookId)
      commits = 0
      await advance(world, 10_000, 1_000)
      expect((await eventsOf(world))[0]!.deliveries[0]!.state).toBe(
        isThere ? 'delivered' : 'failed',
      )
      expect(commits).toBeLessThan(6)
    },
  )

  it('from before its endpoint asked for it is not sent', async () => {
    const world = openWebhooks()
    const logged = (n: number) => ({ ...happened(n), loggedMs: world.time.ms })
    const first = logged(1)
    await world.office.recorder.record([first], world.time.ms)
    world.time.ms += 10
    await world.addEndpoint('https://a.example/')
    await world.office.recorder.record([first, logged(2)], world.time.ms)
    await world.settle()
    expect(world.calls.map(({ call }) => JSON.parse(call.body!).sequence)).toEqual([2])
  })

  it('that its endpoint asks for is sent, whatever else was asked for before the log was read', async () => {
    const world = openWebhooks()
    const url = 'https://a.example/'
    const { webhookId } = await world.addEndpoint(url, ['transaction.*'])
    world.receivers.set(url, () => answered(200))
    const logged = (n: number, type: EventType) => {
      return { ...happened(n), type, loggedMs: world.time.ms }
    }
    const late: Happening[] = []
    for (const [i, events] of [['card.*', 'transaction.*'], ['*'], ['transaction.*']].entries()) {
      late.push(logged(i, 'transaction.authorization'), logged(10 + i, 'card.updated'))
      world.time.ms += 1_000
      await world.setEndpoint(webhookId, { events })
    }
    await world.office.recorder.record(late, world.time.ms)
    await world.settle()
    await world.setEndpoint(webhookId, { events: ['*'] })
    await world.office.recorder.record([...late, logged(13, 'card.updated')], world.time.ms)
    await world.settle()
    const told = world.calls.map(({ call }) => JSON.parse(call.body!).sequence)
    expect(told.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 13])
  })

  it('that a clock that was set back dates before its endpoint is sent', async () => {
    const world = openWebhooks()
    await world.addEndpoint('https://a.example/')
    const [loggedMs, atMs] = [world.time.ms + 1, world.time.ms - hourMs]
    world.time.ms = atMs
    await world.office.recorder.record([{ ...happened(1, atMs), loggedMs }], atMs)
    await world.settle()
    const beside = await readEndpoints(world.store, 'org-1')
    const told = eventBeside('ky:1', happened(2, atMs), beside, 30)
    expect(told?.event.deliveries).toHaveLength(1)
    expect(world.calls).toHaveLength(1)
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

  it('that has moved has five days of its own to fail', async () => {
    const world = openWebhooks()
    const { webhookId } = await world.addEndpoint('https://a.example/')
    const urls = ['https://a.example/', 'https://b.example/']
    for (const url of urls) world.receivers.set(url, () => answered(500))
    await world.office.recorder.record([happened(1)], world.time.ms)
    await world.settle()
    await advance(world, 4 * dayMs, dayMs)
    world.time.ms += 2 * dayMs
    await world.setEndpoint(webhookId, { url: 'https://b.example/' })
    const movedMs = world.time.ms
    await world.office.recorder.record([happened(2)], world.time.ms)
    await world.settle()
    await advance(world, minuteMs, 2_500)
    expect(world.calls.at(-1)!.call.url).toBe('https://b.example/')
    const endpoint = await world.endpoint(webhookId)
    expect(endpoint.enabled).toBe(true)
    expect(endpoint.failingSinceMs).toBeGreaterThanOrEqual(movedMs)
  })

  it.each([410, 500])('that has moved is not judged by a %i of where it was', async (status) => {
    const world = openWebhooks()
    const { webhookId } = await world.addEndpoint('https://a.example/')
    let answer = (_: OutgoingAnswer) => {}
    const late = new Promise<OutgoingAnswer>((resolve) => {
      answer = resolve
    })
    world.receivers.set('https://a.example/', () => late)
    world.receivers.set('https://b.example/', () => answered(200))
    await world.office.recorder.record([happened(1)], world.time.ms)
    await world.settle(world.office, 1)
    await world.setEndpoint(webhookId, { url: 'https://b.example/' })
    answer(answered(status))
    await world.settle()
    expect(await world.endpoint(webhookId)).toMatchObject({ enabled: true, failingSinceMs: null })
    await advance(world, minuteMs, 2_500)
    expect(world.calls.at(-1)!.call.url).toBe('https://b.example/')
    expect((await eventsOf(world))[0]).toMatchObject({ deliveries: [{ state: 'delivered' }] })
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

  // What got the answer is tried again when it was asked for, here at the same time or later.
  it.each([
    [20_000, 20_000, 4],
    [hourMs, minuteMs, 3],
  ])(
    'that asks for %i ms is left alone for %i, and gets the others then',
    async (askedMs, restMs, sent) => {
      const world = openWebhooks()
      await world.addEndpoint('https://a.example/')
      world.receivers.set('https://a.example/', () => answered(429, String(askedMs / 1000)))
      await world.office.recorder.record(
        [1, 2, 3].map((n) => happened(n)),
        world.time.ms,
      )
      await world.settle()
      world.receivers.set('https://a.example/', () => answered(200))
      await advance(world, restMs - 1_000, 1_000)
      expect(world.calls).toHaveLength(1)
      await advance(world, 2_000, 1_000)
      expect(world.calls).toHaveLength(sent)
      await advance(world, askedMs, minuteMs)
      expect(world.calls).toHaveLength(4)
    },
  )

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

    // Once it is back it gets what it missed when somebody asks for it, the newest first.
    world.receivers.set('https://a.example/', () => answered(200))
    await world.setEndpoint(webhookId, { enabled: true })
    world.time.ms += 1_000
    const { store, aggregates, time } = world
    const to = { organizationId: 'org-1', webhookId }
    const replay = (max?: number) =>
      replaySpan(store, aggregates, to, allTime, () => true, at(time.ms), max)
    expect(await replay(1)).toBe(1)
    await world.settle()
    expect(world.calls).toHaveLength(2)
    time.ms += 1_000
    expect(await replay()).toBe(2)
    await world.settle()
    const bodies = world.calls.map(({ call }) => JSON.parse(call.body!).sequence as number)
    expect(bodies.slice(0, 2)).toEqual([1, expect.any(Number)])
    expect(new Set(bodies.slice(2))).toEqual(new Set([1, 2]))
    const after = (await eventsOf(world)).map(({ deliveries }) => deliveries[0]!.state)
    expect(after).toEqual(['delivered', 'delivered'])
  })

  it.each([200, 500])(
    'that answers %i again is written down anew after half a minute',
    async (status) => {
      let written = 0
      const store = createMemoryStore(undefined, {
        faults: (commands) => {
          const own = commands.filter(({ aggregate }) => aggregate === webhooksAggregate('org-1'))
          written += own.length
          return { kind: 'none' }
        },
      })
      const world = openWebhooks(store)
      await world.addEndpoint('https://a.example/')
      world.receivers.set('https://a.example/', () => answered(status))
      const tell = async (n: number) => {
        await world.office.recorder.record([happened(n, world.time.ms)], world.time.ms)
        await world.settle()
      }
      await tell(1)
      const first = written
      await advance(world, 28_000, 1_000)
      await tell(2)
      expect(written).toBe(first)
      await advance(world, 5_000, 1_000)
      await tell(3)
      expect(written).toBe(first + 1)
    },
  )

  it.each([true, false])(
    'that says to several at once that it is gone is told of once, and not where its client disabled it: %s',
    async (isOurs) => {
      const world = openWebhooks()
      const { webhookId } = await world.addEndpoint('https://a.example/')
      const answers: (() => void)[] = []
      world.receivers.set('https://a.example/', () => answered(200))
      await world.office.recorder.record([happened(0)], world.time.ms)
      await world.settle()
      world.receivers.set('https://a.example/', () => {
        return new Promise((resolve) => answers.push(() => resolve(answered(410))))
      })
      const some = [1, 2, 3].map((n) => happened(n))
      await world.office.recorder.record(some, world.time.ms)
      await expect.poll(() => answers.length).toBe(3)
      if (!isOurs) await world.setEndpoint(webhookId, { enabled: false })
      for (const answer of answers) answer()
      await world.settle()
      expect(world.troubles).toHaveLength(isOurs ? 1 : 0)
    },
  )

  it('that is disabled is told of also where the reply of the store was lost', async () => {
    let isLost = false
    const store = createMemoryStore(undefined, {
      faults: (commands) => {
        const isDisabling = commands.some(({ root }) => root?.includes('"gone"'))
        if (isLost || !isDisabling) return { kind: 'none' }
        isLost = true
        return { kind: 'replyLost' }
      },
    })
    const world = openWebhooks(store)
    const { webhookId } = await world.addEndpoint('https://a.example/')
    world.receivers.set('https://a.example/', () => answered(410))
    await world.office.recorder.record([happened(1)], world.time.ms)
    await world.settle()
    const told = [`webhook ${webhookId} of org-1 is disabled: it answered 410`]
    await expect.poll(() => world.troubles).toEqual(told)
    expect(isLost).toBe(true)
  })

  it.each(['removed', 'disabled', 'gone'])(
    'that is %s ends what waits for it soon, and not when it would be tried again',
    async (how) => {
      const world = openWebhooks()
      const { webhookId } = await world.addEndpoint('https://a.example/')
      world.receivers.set('https://a.example/', () => answered(500))
      await world.office.recorder.record([happened(1)], world.time.ms)
      await advance(world, 10_000, 1_000)
      expect(world.calls).toHaveLength(2)
      world.receivers.set('https://a.example/', () => answered(410))
      if (how === 'removed') await world.removeEndpoint(webhookId)
      if (how === 'disabled') await world.setEndpoint(webhookId, { enabled: false })
      if (how === 'gone') await world.office.recorder.record([happened(2)], world.time.ms)
      await advance(world, 10_000, 1_000)
      expect(world.calls).toHaveLength(how === 'gone' ? 3 : 2)
      expect((await readPending(world.store)).pending).toBe(0)
      const [event] = (await eventsOf(world)).toReversed()
      expect(event!.deliveries[0]).toMatchObject({ state: 'failed', tries: 2 })
    },
  )

  it('that was made or enabled within this second is not given up', async () => {
    const world = openWebhooks()
    const [a, b, c] = ['https://a.example/', 'https://b.example/', 'https://c.example/'] as const
    for (const url of [a, b, c]) world.receivers.set(url, () => answered(200))
    const { webhookId } = await world.addEndpoint(a)
    await world.setEndpoint(webhookId, { enabled: false })
    await world.addEndpoint(b)
    await world.office.recorder.record([happened(1)], world.time.ms)
    await world.settle()
    expect(world.calls.map(({ call }) => call.url)).toEqual([b])

    await world.setEndpoint(webhookId, { enabled: true })
    await world.addEndpoint(c)
    const { store, aggregates, time } = world
    const to = { organizationId: 'org-1', webhookId }
    await replaySpan(store, aggregates, to, allTime, () => true, at(time.ms))
    await world.office.recorder.record([happened(2)], time.ms)
    await world.settle()
    const sequencesOf = (url: string) =>
      world.calls.flatMap(({ call }) => (call.url === url ? JSON.parse(call.body!).sequence : []))
    expect([a, b, c].map((url) => sequencesOf(url).toSorted())).toEqual([[1, 2], [1, 2], [2]])
  })

  it.each([
    ['redirects', answered(302), 302, ''],
    ['resolves to a private address', refused, 0, refused.detail],
    ['takes longer than 15 s', timedOut, 0, timedOut.detail],
  ])('that %s has failed, and is tried again', async (_name, answer, status, detail) => {
    const world = openWebhooks()
    const { webhookId } = await world.addEndpoint('https://a.example/')
    let isWell = false
    world.receivers.set('https://a.example/', () => (isWell ? answered(200) : answer))
    await world.office.recorder.record([happened(1)], world.time.ms)
    await world.settle()
    expect((await world.endpoint(webhookId)).lastFailure).toMatchObject({ status, detail })
    isWell = true
    await advance(world, minuteMs, 5_000)
    expect(world.calls).toHaveLength(2)
    const [event] = await eventsOf(world)
    expect(event!.deliveries).toMatchObject([
      { state: 'delivered', attempts: [{ status, detail }, { status: 200 }] },
    ])
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

  it('that answers slowly, and has much that waits for it, keeps no place that another waits for', async () => {
    const world = openWebhooks(await openEmbedded())
    const { dispatcher, recorder } = world.office
    const asked: (() => void)[] = []
    for (let i = 0; i < 34; i++) {
      await world.addEndpoint(`https://slow.example/${i}`, ['*'], `org-${i}`)
      world.receivers.set(`https://slow.example/${i}`, () => {
        return new Promise((resolve) => asked.push(() => resolve(answered(200))))
      })
    }
    const much = Array.from({ length: 680 }, (_, n) => happened(n, startMs, `org-${n % 34}`))
    await recorder.record(much, world.time.ms)
    const answerAll = async () => {
      for (const answer of asked.splice(0)) answer()
      await dispatcher.look()
      return dispatcher.flying
    }
    await expect.poll(answerAll).toBe(256)
    await expect.poll(() => asked.length).toBe(256)
    await world.addEndpoint('https://well.example/', ['*'], 'well')
    let sent = 0
    world.receivers.set('https://well.example/', () => {
      sent++
      return answered(200)
    })
    await recorder.record([happened(1, startMs, 'well')], world.time.ms)
    for (let answers = 0; answers < 10; answers++) {
      asked.shift()!()
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    expect(sent).toBe(1)
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
    const waiting = await readPending(world.store)
    expect(waiting).toEqual({ pending: Math.min(10 * each, 10_000), oldestMs: startMs })
    expect(figuresOf(waiting, 0, startMs + 90_000)).toMatchObject({ oldestSeconds: 90 })
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
