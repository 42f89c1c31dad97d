import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { dayMs } from '../../../src/clock.ts'
import type { IndexKey } from '../../../src/store/port.ts'
import { openBegunTransfers } from '../../support/begun-transfer.ts'
import { type CliWorld, createCliWorld } from '../../support/cli.ts'
import { defaultSwitches, packOf } from '../../support/world.ts'

describe('arbiter transfers, beside one that cannot be read', () => {
  let world: CliWorld

  beforeAll(async () => {
    world = await createCliWorld()
    const { store, aggregates, begin } = await openBegunTransfers(world)
    await begin('trf_broken', 32 * dayMs)
    await begin('trf_old', 31 * dayMs)
    await begin('trf_left', 60_000, true)
    const place = { aggregate: 'w:org-1:USD', group: 'x', id: 'client-1\ntrf_broken' }
    await store.fill([{ kind: 'child', ...place, value: 'no row' }])
    await aggregates.change({
      aggregate: 'somebody',
      decide: () => ({ result: null, write: { log: ['no row'] } }),
    })
    aggregates.stop()
  })
  afterAll(() => world.dispose())

  it('lists and shows the others that are on their way, and takes them back', async () => {
    const open = await world.run('transfers', '--open')
    expect(open.out).toMatch(/^trf_old .*\ntrf_left .*\n2 on their way\n$/)
    expect(open.err).toBe('arbiter: 1 on its way cannot be read: see arbiter damaged\n')
    expect(open.code).toBe(1)
    expect((await world.run('show', 'transfer', 'trf_left')).out).toContain('on its way')
    const taken = await world.run('transfers', '--take-back', 'trf_old')
    expect(taken).toEqual({ code: 0, out: 'trf_old is back at its source\n', err: '' })
  })

  it('lists what was moved, though a line of the log cannot be read', async () => {
    const moved = await world.run('transfers')
    expect(moved.out).toMatch(/^\S+ {2}trf_left {2}TopUp {2}1\.00 USD {2}card-1 {2}trf_left\n$/)
    expect(moved.code).toBe(0)
  })

  it('says that it looked only so far for what was moved', async () => {
    const { store } = await world.serve()
    const entry = { kind: 'log', aggregate: 'somebody', entry: 'no row' } as const
    for (let i = 1; i <= 50; i++) {
      const page = Array.from({ length: 1_000 }, () => ({ ...entry, writtenMicros: i }))
      await store.fill(page)
    }
    const moved = await world.run('transfers')
    expect(moved.err).toBe('arbiter: only the newest 50000 entries of the log were searched\n')
  })
})

it('what is on its way and has lost its place among what is to be done is told by verify, and put there by reindex', async () => {
  const world = await createCliWorld()
  onTestFinished(() => world.dispose())
  const { store, engine, aggregates, begin } = await openBegunTransfers(world)
  await begin('trf_lost', 60_000)
  const settled = { requestType: 'Settlement', cardId: 'card-1', transactionId: 't1' } as const
  await engine.ask({ eventId: 'settled', ...settled, amountMinor: 5 })
  const due = await store.range('due', '', 9)
  expect(due).toHaveLength(1)
  const unindex: IndexKey[] = []
  for (const index of ['moving', 'cards', 'due']) {
    for (const { sortKey } of await store.range(index, '', 9)) unindex.push({ index, sortKey })
  }
  const decide = () => ({ result: null, write: { unindex } })
  await aggregates.change({ aggregate: 'somebody', decide })
  expect((await world.run('transfers', '--open')).out).toBe('nothing is on its way\n')
  const told = await world.run('verify')
  expect(told.code).toBe(1)
  expect(told.out).toContain(
    'w:org-1:USD, x client-1 trf_lost: it is not among what is to be done\n' +
      'the list of all cards has 0 of 1\n' +
      'the list of transactions that are due has 0 of 1\n' +
      'arbiter reindex puts all into their places\n',
  )
  expect((await world.run('reindex')).out).toMatch(/^1 cards, 0 customers and 0 transactions/)
  expect((await world.run('transfers', '--open')).out).toMatch(/^trf_lost .*\n1 on their way\n$/)
  expect((await world.run('export')).out).toContain('"card-1"')
  expect(await store.range('due', '', 9)).toEqual(due)
  expect((await world.run('verify')).code).toBe(0)
  aggregates.stop()
})

it('a pending charge that has lost its place in their list is told by verify, and put there by reindex', async () => {
  const world = await createCliWorld()
  onTestFinished(() => world.dispose())
  const { store, engine, aggregates } = await openBegunTransfers(world)
  engine.setPack(
    packOf({ ...defaultSwitches, crossBorder: { percentMillionths: 20_000, fixedMinor: {} } }),
  )
  const merchant = { mid: 'M', mcc: '5411', name: 'Shop', city: 'Paris', country: 'FR' }
  const settled = { requestType: 'Settlement', cardId: 'card-1', amountMinor: 1_000 } as const
  for (const id of ['t1', 't2']) {
    await engine.ask({ eventId: id, transactionId: id, ...settled, merchant })
  }
  const [first, second] = await store.range('charges', '', 9)
  const moved = [{ ...second!, index: 'charges', value: '5' }]
  const write = { index: moved, unindex: [{ index: 'charges', sortKey: first!.sortKey }] }
  await aggregates.change({ aggregate: 'somebody', decide: () => ({ result: null, write }) })
  aggregates.stop()
  const told = await world.run('verify')
  expect(told.out).toContain('the list of pending charges has 1 of 2\n')
  expect(told.code).toBe(1)
  expect((await world.run('reindex')).code).toBe(0)
  // Since when the other is pending only its place says.
  expect(await store.range('charges', '', 9)).toEqual([first, { ...second, value: '5' }])
  expect((await world.run('verify')).code).toBe(0)
})
