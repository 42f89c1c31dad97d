import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import type { Pack } from '../../../src/domain/decide/pack.ts'
import { type Aggregates, createAggregates } from '../../../src/engine/aggregates.ts'
import { memoriesAggregate } from '../../../src/engine/format/layout.ts'
import { openMemoryDesk } from '../../../src/engine/notice/memory-desk.ts'
import { createNoticeBoard } from '../../../src/engine/notice/notice-board.ts'
import { type Store, StoreError } from '../../../src/store/port.ts'
import { createMemoryStore } from '../../support/memory-store.ts'

const never = 2 ** 30
const t0 = Date.UTC(2026, 10, 15)
const week = { key: 'week', window: 'week', remembered: '', fullAfterMs: 86_400_000 } as const
const packOf = (
  version: string,
  memories: NonNullable<Pack['memories']>,
  declines: readonly string[] = [],
) => ({ version, memories, declines }) as Pack

/** A desk whose board looks when the test says so, and finds what `onLook` lets it find. */
async function openDesk(onLook: () => Promise<void>) {
  const memory = createMemoryStore()
  const load: Store['load'] = async (keys) => {
    const found = await memory.load(keys)
    if (keys.some(({ aggregate }) => aggregate === 'another')) await onLook()
    return found
  }
  const store = { ...memory, load }
  let versions = 0
  const written = createAggregates({ store, newVersion: () => `v${versions++}` })
  const disk = { isFull: false }
  const aggregates: Aggregates = {
    ...written,
    change: (one) =>
      disk.isFull ? Promise.reject(new StoreError('full', 'no')) : written.change(one),
  }
  const clock = { ms: t0, nowMs: () => clock.ms, monoMs: () => 0 }
  const board = createNoticeBoard({ store, intervalMs: never, onState() {}, onLook() {} })
  onTestFinished(board.stop)
  await board.follow('another', () => {})
  const changes: (readonly string[])[] = []
  const onChange = () => changes.push(desk.seeding())
  const options = { aggregates, clock, board, intervalMs: 5, onChange }
  const open = async (pack: Pack) => {
    const opened = await openMemoryDesk({ ...options, pack })
    onTestFinished(opened.stop)
    return opened
  }
  const desk = await open(packOf('one', []))
  const isNoted = async () => {
    const [found] = await memory.load([{ aggregate: memoriesAggregate, group: '', id: '' }])
    return found?.value.includes('week') === true
  }
  /** Until it is written since when the window is kept, and whoever could miss it had the time to. */
  const begin = async (window = 'week') => {
    desk.setPack(packOf('two', [{ ...week, window, ruleIds: ['r1'] }]))
    await expect.poll(isNoted).toBe(true)
    await sleep(20)
  }
  return { disk, clock, board, open, desk, begin, changes, isNoted }
}

it('keeps a rule in shadow whose window begins while the board looks', async () => {
  let release = () => {}
  let held = Promise.resolve()
  const { board, desk, begin, changes } = await openDesk(() => held)
  held = new Promise((resolve) => {
    release = resolve
  })
  const looking = board.look()
  await begin()
  expect(desk.seeding()).toEqual(['r1'])
  release()
  await looking
  await expect.poll(() => desk.unseeded()).toBe(1)
  expect(desk.seeding()).toEqual(['r1'])
  expect(changes).toEqual([['r1']])
})

it('keeps a rule in shadow whose window counts over all cards, and does not ask the log for it', async () => {
  const { board, desk, begin } = await openDesk(async () => {})
  await begin('')
  await board.look()
  expect(desk.seeding()).toEqual(['r1'])
  expect(desk.unseeded()).toBe(0)
})

it('keeps a rule in shadow whose window begins while the board cannot be read', async () => {
  let isAway = false
  const { desk, begin } = await openDesk(async () => {
    if (isAway) throw new StoreError('away', 'no')
  })
  isAway = true
  await begin()
  expect(desk.seeding()).toEqual(['r1'])
  isAway = false
  await expect.poll(() => desk.unseeded()).toBe(1)
  expect(desk.seeding()).toEqual(['r1'])
})

it('keeps a rule in shadow where nothing can be noted at its opening, until it has been noted and has filled', async () => {
  const { disk, clock, open, desk, isNoted } = await openDesk(async () => {})
  desk.stop()
  disk.isFull = true
  const late = await open(packOf('two', [{ ...week, ruleIds: ['r1'] }]))
  await sleep(20)
  expect([late.seeding(), late.unseeded(), await isNoted()]).toEqual([['r1'], 0, false])
  disk.isFull = false
  await expect.poll(() => late.unseeded()).toBe(1)
  expect([late.seeding(), await isNoted()]).toEqual([['r1'], true])
  clock.ms += week.fullAfterMs
  await expect.poll(() => late.seeding()).toEqual([])
})

it('keeps a rule in shadow whose pack comes while that before it is being noted', async () => {
  let release = () => {}
  let held = Promise.resolve()
  const { desk, begin, changes, isNoted } = await openDesk(() => held)
  held = new Promise((resolve) => {
    release = resolve
  })
  await begin()
  desk.setPack(packOf('three', [{ ...week, key: 'day', ruleIds: ['r2'] }]))
  release()
  await expect.poll(() => desk.unseeded()).toBe(1)
  expect([changes, await isNoted()]).toEqual([[['r1'], ['r2']], true])
})

it('lets go on what the former pack declined, also where something new may except it', async () => {
  const { board, desk, isNoted } = await openDesk(async () => {})
  desk.setPack(packOf('old', [], ['old']))
  const ids = ['old', 'new']
  const allowing = { ...week, ruleIds: [], excepted: ids.map((id) => ({ id })) }
  desk.setPack(packOf('allowing', [allowing], ids))
  expect(desk.seeding()).toEqual(['new'])
  await expect.poll(isNoted).toBe(true)
  await board.look()
  desk.setPack(packOf('again', [allowing], [...ids, 'newer']))
  expect(desk.seeding()).toEqual(['new'])
})
