import { expect, it, onTestFinished } from 'vitest'
import { createSecretBox } from '../../src/management/secret-box.ts'
import { createAttemptPlaces } from '../../src/webhook/attempt-places.ts'
import type { Attempted, DueEntry } from '../../src/webhook/courier.ts'
import { createDispatcher } from '../../src/webhook/dispatcher.ts'
import { newEndpoint } from '../../src/webhook/endpoint.ts'
import { dueKey } from '../../src/webhook/event.ts'
import { createMemoryStore } from '../support/memory-store.ts'

const nowMs = Date.UTC(2026, 10, 15, 10)
const box = createSecretBox([Buffer.alloc(32)])
const given = { url: 'https://a.example/', events: ['*'], description: '' }
const turns = () => new Promise((resolve) => setTimeout(resolve, 10))

/** Events that are due at once, of each endpoint as many, and a courier whose attempts end when they are told to. */
async function open(endpoints: number, each: number, failingSinceMs: number | null = null) {
  const store = createMemoryStore()
  const deliveries = Array.from({ length: endpoints * each }, (_, i) => {
    const webhookId = `whk_${i % endpoints}`
    const due = { organizationId: 'org-1', webhookId, dueMs: nowMs, eventId: `evt_${i}` }
    return { kind: 'index' as const, ...dueKey(due), value: 'ev:1 v@1', aggregate: 'ev:1' }
  })
  await store.fill(deliveries)
  const begun: { readonly entry: DueEntry; readonly end: (attempted: Attempted) => void }[] = []
  const world = { isOwner: true, monoMs: 0, troubles: 0 }
  const endpointOf = async (_organizationId: string, webhookId: string) => ({
    ...newEndpoint(webhookId, given, 'whsec_AA==', box, nowMs),
    failingSinceMs,
  })
  const dispatcher = createDispatcher({
    store,
    clock: { nowMs: () => nowMs, monoMs: () => world.monoMs },
    courier: {
      deliver: (entry) => new Promise((end) => begun.push({ entry, end })),
      giveUp: () => Promise.reject(new Error('nothing is given up')),
      remember() {},
      ping: () => Promise.reject(new Error('nothing is tested')),
    },
    endpointOf,
    endpointNow: endpointOf,
    owns: () => world.isOwner,
    onResult() {},
    onTrouble: () => world.troubles++,
    maxLanes: 100,
  })
  onTestFinished(dispatcher.stop)
  return { world, begun, dispatcher, store }
}

const arrived = (written: Promise<void>): Attempted => ({
  result: { atMs: nowMs, status: 200, detail: '', succeeded: true },
  retryAfterMs: 0,
  written,
})

it('looks at all endpoints again and again, also when a sort key behind them is damaged', async () => {
  const { world, begun, dispatcher, store } = await open(2, 1)
  const { range } = store
  // In Redis bytes that are no UTF-8 stand behind all text, and are read as other ones.
  const broken = { sortKey: '\ufffd\na\n', value: '' }
  store.range = async (index, after, limit) =>
    [...(await range(index, after, limit)), broken].slice(0, limit)
  world.isOwner = false
  await dispatcher.look()
  expect(begun).toEqual([])
  world.isOwner = true
  await dispatcher.look()
  await dispatcher.look()
  await turns()
  const sentTo = begun.map(({ entry }) => entry.webhookId)
  expect(sentTo).toEqual(expect.arrayContaining(['whk_0', 'whk_1']))
})

it.each(['another instance sends for the endpoint', 'it stops'])(
  'sends nothing more of what it has read once %s',
  async (why) => {
    const { world, begun, dispatcher } = await open(1, 20)
    await dispatcher.look()
    await turns()
    begun[0]!.end(arrived(Promise.resolve()))
    await turns()
    const flying = begun.length
    expect(flying).toBeGreaterThan(1)
    expect(flying).toBeLessThan(20)
    if (why === 'it stops') dispatcher.stop()
    else world.isOwner = false
    for (const { end } of begun) end(arrived(Promise.resolve()))
    await turns()
    expect(begun).toHaveLength(flying)
    expect([dispatcher.flying, dispatcher.settling]).toEqual([0, 0])
  },
)

it('gives up once what waits for an endpoint that is gone, also where it stays in the index', async () => {
  const { store } = await open(1, 1)
  const { range } = store
  store.range = async (...of) => {
    await new Promise((resolve) => setImmediate(resolve))
    return range(...of)
  }
  let given = 0
  const dispatcher = createDispatcher({
    store,
    clock: { nowMs: () => nowMs, monoMs: () => 0 },
    courier: {
      deliver: () => Promise.reject(new Error('nothing is sent')),
      async giveUp() {
        given++
      },
      remember() {},
      ping: () => Promise.reject(new Error('nothing is tested')),
    },
    endpointOf: async () => null,
    endpointNow: async () => null,
    owns: () => true,
    onResult() {},
    onTrouble() {},
  })
  onTestFinished(dispatcher.stop)
  for (let i = 0; i < 3; i++) {
    await dispatcher.look()
    await turns()
  }
  expect(given).toBe(1)
})

it('rests twice as long after each failure in a row, up to 4 s, and anew after a success', async () => {
  const { world, begun, dispatcher } = await open(1, 20)
  const restAfter = async (succeeded: boolean) => {
    const { length } = begun
    const { result } = arrived(Promise.resolve())
    const attempted = { ...arrived(Promise.resolve()), result: { ...result, succeeded } }
    for (const { end } of begun) end(attempted)
    await turns()
    const endedMs = world.monoMs
    for (; begun.length === length; world.monoMs += 125) {
      await dispatcher.look()
      await turns()
    }
    return Math.max(0, world.monoMs - 125 - endedMs)
  }
  await dispatcher.look()
  await turns()
  const rests: number[] = []
  for (let i = 0; i < 6; i++) rests.push(await restAfter(false))
  expect(rests).toEqual([250, 500, 1_000, 2_000, 4_000, 4_000])
  expect(await restAfter(true)).toBe(0)
  expect(await restAfter(false)).toBeGreaterThan(0)
})

it('of more endpoints than are kept in mind forgets who has been idle, and that it rests, but nobody with an attempt', async () => {
  const { begun, dispatcher } = await open(102, 1)
  const wake = async (from: number, to: number) => {
    for (let i = from; i < to; i++) dispatcher.wake('org-1', `whk_${i}`)
    await turns()
  }
  const failed = { ...arrived(Promise.resolve()).result, succeeded: false }
  await wake(0, 2)
  begun[1]!.end({ result: failed, retryAfterMs: 0, written: Promise.resolve() })
  await wake(2, 100)
  await wake(0, 2)
  expect(begun).toHaveLength(100)
  await wake(100, 101)
  await wake(0, 2)
  expect(begun.slice(100).map(({ entry }) => entry.webhookId)).toEqual(['whk_100', 'whk_1'])
})

it('keeps places free of endpoints that failed before this process, however many they are', async () => {
  const { begun, dispatcher } = await open(80, 1, nowMs - 60_000)
  await dispatcher.look()
  await turns()
  expect(begun).toHaveLength(64)
})

it('rests when what became of an attempt cannot be written, and has it no more under way', async () => {
  const { world, begun, dispatcher } = await open(1, 3)
  await dispatcher.look()
  await turns()
  expect(begun).toHaveLength(1)
  begun[0]!.end(arrived(Promise.reject(new Error('the store is away'))))
  await turns()
  const before = begun.length
  expect(world.troubles).toBe(1)
  await dispatcher.look()
  await turns()
  expect(begun).toHaveLength(before)
  expect(dispatcher.settling).toBe(0)
})

it('begins none while 64 are not written down yet, or one where the last one failed', async () => {
  const never = new Promise<void>(() => {})
  const well = await open(1, 100)
  await well.dispatcher.look()
  await turns()
  well.begun[0]!.end(arrived(Promise.resolve()))
  for (let ended = 1; ended < 100; ended++) {
    await turns()
    well.begun[ended]?.end(arrived(never))
  }
  // Those that were under way when it were so many are more by then.
  expect(well.dispatcher.settling).toBeLessThan(64 + 8)
  expect(well.begun.length).toBe(1 + well.dispatcher.settling)

  const { world, begun, dispatcher } = await open(1, 3)
  await dispatcher.look()
  await turns()
  const { result } = arrived(never)
  begun[0]!.end({ result: { ...result, succeeded: false }, retryAfterMs: 0, written: never })
  world.monoMs += 60_000
  await dispatcher.look()
  await turns()
  expect([begun.length, dispatcher.settling]).toEqual([1, 1])
})

it('sends once what waits for a place, with more endpoints than are kept in mind', async () => {
  const { begun, dispatcher, store } = await open(304, 1)
  const written = new Set<string>()
  const { range } = store
  store.range = async (...asked) =>
    (await range(...asked)).filter(({ sortKey }) => !written.has(sortKey))
  const wake = async (from: number, to: number) => {
    for (let i = from; i < to; i++) dispatcher.wake('org-1', `whk_${i}`)
    await turns()
  }
  await wake(0, 256)
  await wake(256, 300)
  expect(begun).toHaveLength(256)
  await wake(300, 304)
  await wake(256, 300)
  for (let ended = 0; ended < begun.length; ) {
    const flying = begun.slice(ended)
    ended = begun.length
    for (const { entry, end } of flying) {
      written.add(dueKey(entry).sortKey)
      end(arrived(Promise.resolve()))
    }
    await turns()
  }
  const sent = begun.map(({ entry }) => entry.eventId)
  expect(sent).toHaveLength(304)
  expect(new Set(sent).size).toBe(304)
})

it('goes on without another look while many are not written down yet', async () => {
  const { begun, dispatcher, store } = await open(1, 200)
  const written = new Set<string>()
  const { range } = store
  store.range = async (index, after, limit) => {
    const left = (await range(index, after, 200)).filter(({ sortKey }) => !written.has(sortKey))
    return left.slice(0, limit)
  }
  await dispatcher.look()
  await turns()
  const writing: (() => void)[] = []
  for (let ended = 0; ended < begun.length; ended++) {
    const { entry, end } = begun[ended]!
    const done = new Promise<void>((resolve) => {
      writing.push(() => resolve(void written.add(entry.sortKey)))
    })
    end(arrived(done))
    if (writing.length > 60) writing.shift()!()
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve))
  }
  expect(begun).toHaveLength(200)
})

it('sends at once what is made while it reads what waits', async () => {
  const { begun, dispatcher, store } = await open(1, 1)
  const { range } = store
  let answer = () => {}
  store.range = () => new Promise((resolve) => (answer = () => resolve([])))
  dispatcher.wake('org-1', 'whk_0')
  await turns()
  store.range = range
  dispatcher.wake('org-1', 'whk_0')
  await turns()
  expect(begun).toEqual([])
  answer()
  await turns()
  expect(begun).toHaveLength(1)
})

it('keeps places that get free for those that wait, of which the failing ones have 64 at most', () => {
  const places = createAttemptPlaces<string>()
  const leave = Array.from({ length: 256 }, () => places.take(false))
  places.wait('well', false)
  places.wait('failing', true)
  expect(['well', 'failing', 'busy'].map((one) => places.roomFor(one, false))).toEqual([0, 0, 0])
  expect(places.next()).toEqual([])
  for (const end of leave.splice(0, 3)) end()
  expect(places.next()).toEqual(['well', 'failing'])
  expect(['well', 'failing', 'busy'].map((one) => places.roomFor(one, false))).toEqual([2, 2, 1])
  for (const end of leave.splice(0, 63)) end()
  for (let i = 0; i < 64; i++) places.take(true)
  expect(places.next()).toEqual(['well'])
  expect(places.roomFor('failing', true)).toBe(0)
  for (const one of ['well', 'failing']) places.waitNoMore(one)
  for (const end of leave) end()
  expect(places.next()).toEqual([])
  expect([places.taken, places.roomFor('busy', false)]).toEqual([64, 192])
})
