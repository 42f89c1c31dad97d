import { expect, it, onTestFinished } from 'vitest'
import { createSecretBox } from '../../src/management/secret-box.ts'
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

it('sends nothing more of what it has read once another instance sends for the endpoint', async () => {
  const { world, begun, dispatcher } = await open(1, 20)
  await dispatcher.look()
  await turns()
  begun[0]!.end(arrived(Promise.resolve()))
  await turns()
  const flying = begun.length
  expect(flying).toBeGreaterThan(1)
  expect(flying).toBeLessThan(20)
  world.isOwner = false
  for (const { end } of begun) end(arrived(Promise.resolve()))
  await turns()
  expect(begun).toHaveLength(flying)
  expect([dispatcher.flying, dispatcher.settling]).toEqual([0, 0])
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
