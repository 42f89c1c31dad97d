import { describe, expect, it } from 'vitest'
import type { Answer } from '../../src/domain/record/event-record.ts'
import { createAggregates } from '../../src/engine/aggregates.ts'
import { importRows } from '../../src/engine/import.ts'
import { createProjector } from '../../src/projection/projector.ts'
import { createRowDesk, type RowFilters } from '../../src/projection/row-desk.ts'
import { shownRow } from '../../src/projection/shown-row.ts'
import { type Store, StoreError } from '../../src/store/port.ts'
import { handed, startEngine, testEvent } from '../support/engine-world.ts'
import { createMemoryStore } from '../support/memory-store.ts'
import { rowsIn } from '../support/row-check.ts'

let instances = 0

function startProjector(store: Store, time: { ms: number }) {
  const instance = `i${instances++}`
  let versions = 0
  const aggregates = createAggregates({ store, newVersion: () => `${instance}.${versions++}` })
  const clock = { nowMs: () => time.ms, monoMs: () => time.ms }
  const rows = createRowDesk({ aggregates, retentionDays: 400, nowMs: clock.nowMs })
  const projector = createProjector({
    store,
    aggregates,
    clock,
    instance,
    consumers: [rows],
    onTrouble: (message) => {
      throw new Error(message)
    },
  })
  return {
    ...projector,
    get figures() {
      return projector.figures
    },
    get isLeading() {
      return projector.isLeading
    },
    /** Steps until nothing is left. */
    async catchUp() {
      time.ms += 1_000
      while (await projector.step()) {}
    },
  }
}

async function openWorld(cards = 2) {
  const store = createMemoryStore()
  const time = { ms: Date.now() }
  const engine = startEngine(store)
  const { problems } = await importRows(
    Array.from({ length: cards }, (_, i) => ({
      cardId: `card-${i}`,
      customerId: `customer-${i}`,
      accountId: `account-${i}`,
      organizationId: 'org-1',
      type: 'retail',
      currency: 'USD',
      country: 'US',
      balance: '1000.00',
    })),
    engine,
  )
  expect(problems).toEqual([])
  return { store, time, engine }
}

const declined: Answer = {
  code: '176',
  decidedBy: 'default',
  cause: 'deadline',
  ruleId: '',
  approvedAmountMinor: null,
  rulesVersion: 'v',
}

describe('the transactions list', () => {
  it('has a row for each event of the relay, the newest first', async () => {
    const { store, time, engine } = await openWorld()
    await engine.ask({ eventId: 'e1', amountMinor: 1_000 })
    // Of one millisecond neither is the newer.
    for (const startMs = Date.now(); Date.now() === startMs; ) await engine.idle()
    await engine.ask({ eventId: 'e2', amountMinor: 999_999_00, cardId: 'card-1' })
    await engine.ask({ eventId: 'e3', requestType: 'Settlement', transactionId: 'e1' })
    await engine.ask({ eventId: 'e1', amountMinor: 1_000 })
    const projector = startProjector(store, time)
    await projector.catchUp()
    const rows = await rowsIn(store, 'org-1')
    expect(
      rows.map(({ eventId, type, status, cardId }) => [eventId, type, status, cardId]),
    ).toEqual([
      ['e3', 'Settlement', 'Booked', 'card-0'],
      ['e2', 'Authorization', 'Declined', 'card-1'],
      ['e1', 'Authorization', 'Approved', 'card-0'],
    ])
    expect(rows[1]).toMatchObject({
      customerId: 'customer-1',
      accountId: 'account-1',
      code: '116',
      decidedBy: 'engine',
    })
    const found = async (filters: RowFilters) =>
      (await rowsIn(store, 'org-1', filters)).map(({ eventId }) => eventId)
    expect(await found({ cardId: 'card-0' })).toEqual(['e3', 'e1'])
    expect(await found({ customerId: 'customer-1' })).toEqual(['e2'])
    expect(await found({ transactionId: 'e1' })).toEqual(['e3', 'e1'])
    expect(await found({ transactionType: 'Settlement' })).toEqual(['e3'])
    expect(await found({ status: 'Declined', currency: 'USD' })).toEqual(['e2'])
    expect(await found({ currency: 'EUR' })).toEqual([])
    expect(await rowsIn(store, 'org-2')).toEqual([])
  })

  it('says for some time how late an entry was, also once another follows the log', async () => {
    const { store, time, engine } = await openWorld()
    let hidden = '"late"'
    const shared = {
      ...store,
      async readLog(after: string, limit: number) {
        const lines = await store.readLog(after, limit)
        return lines.filter(({ entry }) => hidden === '' || !entry.includes(hidden))
      },
    }
    await engine.ask({ eventId: 'late', cardId: 'card-0' })
    await engine.ask({ eventId: 'soon', cardId: 'card-1' })
    const [first, second] = [startProjector(shared, time), startProjector(shared, time)]
    for (let i = 0; i < 5; i++) await first.catchUp()
    hidden = ''
    for (let i = 0; i < 3; i++) await first.catchUp()
    const { latestMs } = first.figures
    expect(latestMs).toBeGreaterThan(5_000)
    while (!second.isLeading) await second.catchUp()
    await first.catchUp()
    expect(first.isLeading).toBe(false)
    expect(first.figures.latestMs).toBeGreaterThan(0.99 * latestMs)
    for (let minute = 0; minute < 30; minute++) {
      time.ms += 60_000
      await second.catchUp()
      await first.catchUp()
    }
    expect(first.isLeading).toBe(false)
    expect(first.figures.latestMs).toBeLessThan(latestMs / 2)
    expect(second.figures.latestMs).toBe(0)
  })

  it.each([
    ['ahead', false],
    ['ahead, and the time of the store unknown', true],
  ])(
    'has what becomes visible late, also where the clock of who follows is %s',
    async (_, away) => {
      const { store, time, engine } = await openWorld()
      let hidden = ''
      const shared = {
        ...store,
        async serverTimes() {
          if (away && hidden !== '') throw new StoreError('a node is down', 'no')
          return [Date.now()]
        },
        async readLog(after: string, limit: number) {
          const lines = await store.readLog(after, limit)
          return lines.filter(({ entry }) => hidden === '' || !entry.includes(hidden))
        },
      }
      await engine.ask({ eventId: 'late', cardId: 'card-0' })
      await engine.ask({ eventId: 'soon', cardId: 'card-1' })
      hidden = '"late"'
      time.ms = Date.now() + 30_000
      const projector = startProjector(shared, time)
      for (let i = 0; i < 5; i++) await projector.catchUp()
      hidden = ''
      for (let i = 0; i < 5; i++) await projector.catchUp()
      const rows = await rowsIn(store, 'org-1')
      expect(rows.map(({ eventId }) => eventId).toSorted()).toEqual(['late', 'soon'])
      // It is not as late as the clock is wrong.
      expect(projector.figures.latestMs).toBeLessThan(10_000)
    },
  )

  it('has what becomes visible the later the slower the commits were a moment ago', async () => {
    const { store, time, engine } = await openWorld()
    let serverMs = Date.now()
    let commitMs = 8_000
    let hidden = ''
    const projector = startProjector(
      {
        ...store,
        serverTimes: async () => [serverMs],
        async commit(commands) {
          time.ms += commitMs
          return store.commit(commands)
        },
        async readLog(after, limit) {
          const lines = await store.readLog(after, limit)
          return lines.filter(({ entry }) => hidden === '' || !entry.includes(hidden))
        },
      },
      time,
    )
    for (let i = 0; i < 3; i++) await projector.catchUp()
    commitMs = 0
    await engine.ask({ eventId: 'late', cardId: 'card-0' })
    await engine.ask({ eventId: 'soon', cardId: 'card-1' })
    hidden = '"late"'
    serverMs = Date.now() + 20_000
    for (let i = 0; i < 3; i++) await projector.catchUp()
    hidden = ''
    for (let i = 0; i < 2; i++) await projector.catchUp()
    expect(await rowsIn(store, 'org-1')).toHaveLength(2)
  })

  it('is left to who took it over, at once from one that stopped', async () => {
    const { store, time, engine } = await openWorld()
    const [first, second] = [startProjector(store, time), startProjector(store, time)]
    await first.catchUp()
    time.ms += 3_000
    await second.catchUp()
    while (!second.isLeading) await second.catchUp()
    await first.catchUp()
    await engine.ask({ eventId: 'e1' })
    await first.catchUp()
    expect(await rowsIn(store, 'org-1')).toEqual([])
    await second.catchUp()
    expect(await rowsIn(store, 'org-1')).toHaveLength(1)
    await first.catchUp()
    expect([first.figures.lagMs, second.figures.lagMs]).toEqual([1_000, 1_000])
    await second.stop()
    await first.catchUp()
    expect(first.isLeading).toBe(true)
  })

  it('is as late as it was where who took it over cannot follow the log', async () => {
    const { store, time } = await openWorld()
    const first = startProjector(store, time)
    for (let i = 0; i < 2; i++) await first.catchUp()
    await first.stop()
    const readLog = () => Promise.reject(new StoreError('a node is down', 'no'))
    const second = startProjector({ ...store, readLog }, time)
    time.ms += 59_000
    await expect(second.catchUp()).rejects.toThrow('a node is down')
    expect([second.isLeading, second.figures.lagMs]).toEqual([true, 60_000])
  })

  it('goes on at once while there is more', async () => {
    const { store, time, engine } = await openWorld()
    await engine.ask({ eventId: 'e1' })
    const [line] = await store.tailLog(1)
    const readLog: Store['readLog'] = async (after, limit) =>
      after === '' ? Array.from({ length: limit }, (_, i) => ({ ...line!, cursor: `${i}` })) : []
    const projector = startProjector({ ...store, readLog }, time)
    expect([await projector.step(), await projector.step()]).toEqual([true, true])
    expect(await projector.step()).toBe(false)
  })

  it('changes the row of an ask whose approval is taken back', async () => {
    const { store, time, engine } = await openWorld()
    const event = testEvent({ eventId: 'e1', amountMinor: 1_000 })
    const delivery = handed(event, 'slot-1')
    engine.deliver(delivery)
    await expect.poll(() => engine.answers.size).toBe(1)
    const projector = startProjector(store, time)
    await projector.catchUp()
    expect((await rowsIn(store, 'org-1')).map(({ status }) => status)).toEqual(['Approved'])
    engine.deliver({ ...delivery, said: declined })
    await expect.poll(() => engine.booked.size).toBe(1)
    await projector.catchUp()
    const [row, ...others] = await rowsIn(store, 'org-1')
    expect(row).toMatchObject({
      status: 'Declined',
      code: '176',
      decidedBy: 'default',
      cause: 'deadline',
    })
    expect(others).toEqual([])
    // One that begins anew must not bring the approval back, not even for a moment.
    const before = store.dump().aggregates
    const second = startProjector(store, time)
    await projector.stop()
    await second.catchUp()
    const { projection: _, ...after } = store.dump().aggregates
    const { projection: __, ...expected } = before
    expect(after).toEqual(expected)
  })
})

describe('a movement that no event of the relay tells', () => {
  it('has a row of its own: an adjustment, a charge, and a hold that ends with what it released', async () => {
    const { store, time, engine } = await openWorld()
    await engine.ask({ eventId: 'e1', amountMinor: 1_000 })
    await engine.operate(
      'account-0',
      { type: 'adjust', amountMinor: -250, reference: 'fee-1' },
      'x',
    )
    const release = { type: 'releaseHold', cardId: 'card-0', transactionId: 'e1' } as const
    await engine.operate('account-0', release, 'x')
    await startProjector(store, time).catchUp()
    const rows = (await rowsIn(store, 'org-1')).map(shownRow)
    expect(rows[0]).toMatchObject({
      transactionType: 'Expiry',
      status: 'Booked',
      transactionId: 'e1',
      amount: 10,
      relayEventId: null,
      responseCode: null,
      merchant: null,
    })
    expect(rows[1]).toMatchObject({
      transactionType: 'Adjustment',
      amount: -2.5,
      reference: 'fee-1',
    })
  })
})
