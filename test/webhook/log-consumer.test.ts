import { expect, it } from 'vitest'
import { createAggregates } from '../../src/engine/aggregates.ts'
import { webhooksAggregate } from '../../src/engine/format/layout.ts'
import { importRows } from '../../src/engine/import.ts'
import { readableCards, readCards } from '../../src/management/card.ts'
import { createSecretBox } from '../../src/management/secret-box.ts'
import { createProjector } from '../../src/projection/projector.ts'
import { newEndpoint, newSecret, writeOfEndpoints } from '../../src/webhook/endpoint.ts'
import type { Happening, WebhookEvent } from '../../src/webhook/event.ts'
import { createEventRecorder } from '../../src/webhook/event-recorder.ts'
import { createLogConsumer } from '../../src/webhook/log-consumer.ts'
import { startEngine } from '../support/engine-world.ts'
import { createMemoryState, createMemoryStore } from '../support/memory-store.ts'

const endpoint = newEndpoint(
  'whk_1',
  { url: 'https://example.com', events: ['*'], description: '' },
  newSecret(),
  createSecretBox([Buffer.alloc(32)]),
  0,
)
const row = { organizationId: 'org-1', customerId: 'c', type: 'retail', country: 'US' }

it('tells of all other cards when one cannot be read, and goes on behind it', async () => {
  const state = createMemoryState()
  const store = createMemoryStore(state)
  const engine = startEngine(store)
  const places = [0, 1].map((i) => ({ cardId: `card-${i}`, accountId: `account-${i}` }))
  const lite = { cardId: 'card-2', accountId: 'account-2', type: 'lite', swipeCount: 1 }
  await importRows(
    [...places, lite].map((one) => ({ ...row, ...one, currency: 'USD', balance: '10.00' })),
    engine,
  )
  for (const { cardId, accountId } of places) {
    await engine.operate(accountId, { type: 'changeCard', cardId, set: { status: 'Frozen' } }, 'x')
  }
  // The only swipe of a lite card ends it.
  await engine.ask({ eventId: 'last', cardId: 'card-2', amountMinor: 100 })
  engine.stop()
  state.aggregates.get('a:account-0')!.groups.get('c')!.set('card-0', '{"balance":12}')

  const told: Happening[] = []
  const recorder = {
    async record(happenings: readonly Happening[]) {
      told.push(...happenings)
    },
  }
  const aggregates = createAggregates({ store, newVersion: () => `v${versions++}` })
  let versions = 0
  let ms = Date.now()
  const clock = { nowMs: () => ms, monoMs: () => ms }
  const consumers = [createLogConsumer({ store, recorder, nowMs: clock.nowMs })]
  const onTrouble = () => {}
  const projector = createProjector({
    store,
    aggregates,
    clock,
    instance: 'i',
    consumers,
    onTrouble,
  })
  await aggregates.change({
    aggregate: webhooksAggregate('org-1'),
    decide: () => ({ result: undefined, write: writeOfEndpoints([endpoint]) }),
  })
  ms += 1_000
  while (await projector.step()) {}
  const frozen = told.filter(({ type }) => type === 'card.frozen')
  expect(frozen.map(({ data }) => data)).toMatchObject([
    { cardId: 'card-1', status: 'Frozen', by: 'operator' },
  ])
  const ended = told.filter(({ type }) => type === 'card.terminated')
  expect(ended.map(({ data }) => data)).toMatchObject([
    { cardId: 'card-2', status: 'Terminated', terminatedBy: 'swipes', by: 'engine' },
  ])

  expect((await readableCards(store, places)).map((one) => one?.card.cardId)).toEqual([
    undefined,
    'card-1',
  ])
  // Who asks for it alone must not be told that there is none.
  await expect(readCards(store, places)).rejects.toThrow()
})

it('tells the other organizations when the webhooks of one cannot be read', async () => {
  const store = createMemoryStore()
  const engine = startEngine(store)
  const rows = ['org-1', 'org-2'].map((organizationId, i) => {
    const named = { cardId: `card-${i}`, accountId: `account-${i}` }
    return { ...row, ...named, organizationId, currency: 'USD', balance: '10.00' }
  })
  await importRows(rows, engine)
  engine.stop()
  let versions = 0
  const aggregates = createAggregates({ store, newVersion: () => `v${versions++}` })
  const write = (organizationId: string, root: string) =>
    aggregates.change({
      aggregate: webhooksAggregate(organizationId),
      decide: () => ({ result: undefined, write: { root } }),
    })
  await write('org-1', '{"format":2,"endpoints":[]}')
  await write('org-2', writeOfEndpoints([endpoint]).root!)
  const told: Happening[] = []
  const unreadable: string[] = []
  const consumer = createLogConsumer({
    store,
    recorder: {
      async record(happenings) {
        told.push(...happenings)
      },
    },
    nowMs: Date.now,
    onUnreadable: (organizationId) => unreadable.push(organizationId),
  })
  let ms = Date.now()
  const clock = { nowMs: () => ms, monoMs: () => ms }
  const projecting = { store, aggregates, clock, instance: 'i', consumers: [consumer] }
  const projector = createProjector({ ...projecting, onTrouble: () => {} })
  ms += 1_000
  while (await projector.step()) {}
  expect(told.map(({ organizationId, type }) => [organizationId, type])).toEqual([
    ['org-2', 'card.issued'],
  ])
  expect(new Set(unreadable)).toEqual(new Set(['org-1']))
})

it.each([
  ['time', (row: unknown[]) => (row[3] = 9e15)],
  ['time of the event', (row: unknown[][]) => (row[6]![5] = 9e15)],
  ['amount', (row: unknown[][]) => (row[6]![3] = 1.5)],
  ['amount of the merchant', (row: unknown[][]) => (row[6]![17] = 1.5)],
])(
  'passes over an entry whose %s nobody can show, and tells of what is behind it',
  async (_, damage) => {
    const state = createMemoryState()
    const store = createMemoryStore(state)
    const engine = startEngine(store)
    const named = { cardId: 'card-0', accountId: 'account-0' }
    await importRows([{ ...row, ...named, currency: 'USD', balance: '10.00' }], engine)
    const foreign = { merchantAmountMinor: 90, merchantCurrency: 'EUR' }
    await engine.ask({ eventId: 'damaged', cardId: 'card-0', amountMinor: 100, ...foreign })
    await engine.ask({ eventId: 'behind', cardId: 'card-0', amountMinor: 100 })
    engine.stop()
    const line = state.log.find(({ entry }) => entry.includes('"damaged"'))!
    const cells = JSON.parse(line.entry)
    damage(cells)
    Object.assign(line, { entry: JSON.stringify(cells) })
    const aggregates = createAggregates({ store, newVersion: () => `v${versions++}` })
    let versions = 0
    await aggregates.change({
      aggregate: webhooksAggregate('org-1'),
      decide: () => ({ result: undefined, write: writeOfEndpoints([endpoint]) }),
    })
    const made: WebhookEvent[] = []
    const onMade = (event: WebhookEvent) => made.push(event)
    const recorder = createEventRecorder({ store, aggregates, retentionDays: 30, onMade })
    const consumers = [createLogConsumer({ store, recorder, nowMs: Date.now })]
    let ms = Date.now()
    const clock = { nowMs: () => ms, monoMs: () => ms }
    const troubles: string[] = []
    const onTrouble = (message: string) => troubles.push(message)
    const projecting = { store, aggregates, clock, instance: 'i', consumers, onTrouble }
    const projector = createProjector(projecting)
    ms += 1_000
    while (await projector.step()) {}
    const told = made.map(({ body }) => JSON.parse(body).data.relayEventId)
    expect(told.filter(Boolean)).toEqual(['behind'])
    expect(troubles).toEqual([expect.stringContaining('1 log entries cannot be read')])
  },
)
