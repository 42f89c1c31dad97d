import { expect, it } from 'vitest'
import { createAggregates } from '../../../src/engine/aggregates.ts'
import { blocksAggregate, trippedAggregate } from '../../../src/engine/format/layout.ts'
import { changeBlocks, readBlocks, repairBlocks } from '../../../src/engine/notice/block-list.ts'
import {
  armRule,
  readTripped,
  repairTripped,
  tripRule,
} from '../../../src/engine/notice/tripped-rules.ts'
import { type Command, StoreError } from '../../../src/store/port.ts'
import { createMemoryStore, type Fault } from '../../support/memory-store.ts'

const t0 = Date.UTC(2026, 10, 15)
const mcc = { kind: 'mcc', value: '7995' } as const

/** One writer whose only command is late, and another that knows nothing of it. */
function lateWorld() {
  const store = createMemoryStore()
  let versions = 0
  const newVersion = () => `v${versions++}`
  const late: Command[] = []
  const commit = async (commands: readonly Command[]) => {
    late.push(...commands)
    throw new StoreError('it took too long', 'unknown')
  }
  const hanging = createAggregates({ store: { ...store, commit }, newVersion })
  const aggregates = createAggregates({ store, newVersion })
  return {
    store,
    hanging,
    aggregates,
    isSent: () => late.length > 0,
    async arrive() {
      hanging.stop()
      await store.commit(late.slice(0, 1))
    },
  }
}

it('what was said not to be blocked is not blocked by a command that was on its way', async () => {
  const { store, hanging, aggregates, isSent, arrive } = lateWorld()
  const block = { type: 'block', ...mcc, untilMs: t0 + 1_000 } as const
  void changeBlocks({ store, aggregates: hanging }, block, 'fraud', t0)
  await expect.poll(isSent).toBe(true)
  const unblock = { type: 'unblock', ...mcc } as const
  const refused = await changeBlocks({ store, aggregates }, unblock, 'over', t0)
  expect(refused).toBe('mcc 7995 is not blocked')
  await arrive()
  expect(await readBlocks(store, t0)).toEqual([])
})

it('a rule that was said to be enforced is not put into shadow by a command that was on its way', async () => {
  const { store, hanging, aggregates, isSent, arrive } = lateWorld()
  void tripRule(hanging, { ruleId: 'r1', rulesVersion: 'a', atMs: t0, reason: 'declined 6 asks' })
  await expect.poll(isSent).toBe(true)
  expect(await armRule(aggregates, 'r1', 'mended', t0)).toBe(false)
  await arrive()
  expect(await readTripped(store)).toEqual([])
})

it.each<Fault['kind']>(['none', 'refused', 'replyLost'])(
  'what a person does is told as done, once in the log, over a commit that is %s',
  async (kind) => {
    let kinds: Fault['kind'][] = []
    const store = createMemoryStore(undefined, {
      faults: () => ({ kind: kinds.shift() ?? 'none' }) as Fault,
    })
    let versions = 0
    const aggregates = createAggregates({ store, newVersion: () => `v${versions++}` })
    const keeping = { store, aggregates }
    const rule = { ruleId: 'r1', rulesVersion: 'a', atMs: t0, reason: 'declined 6 asks' }
    const block = { type: 'block', ...mcc, untilMs: t0 + 1_000 } as const
    const deeds: (() => Promise<string | boolean>)[] = [
      () => changeBlocks(keeping, block, 'fraud', t0),
      () => changeBlocks(keeping, { type: 'unblock', ...mcc }, 'over', t0),
      () => tripRule(aggregates, rule),
      () => armRule(aggregates, 'r1', 'mended', t0),
    ]
    const told: (string | boolean)[] = []
    for (const deed of deeds) {
      kinds = [kind]
      told.push(await deed())
    }
    expect(told).toEqual(['', '', true, true])
    expect(await store.readLog('', 10)).toHaveLength(deeds.length)
    expect(await changeBlocks(keeping, { type: 'unblock', ...mcc }, 'over', t0)).toBe(
      'mcc 7995 is not blocked',
    )
    expect(await armRule(aggregates, 'r1', 'mended', t0)).toBe(false)
  },
)

it('a record is repaired where it cannot be read, and left where nothing is wrong with it', async () => {
  const store = createMemoryStore()
  let versions = 0
  const aggregates = createAggregates({ store, newVersion: () => `v${versions++}` })
  const keeping = { store, aggregates }
  const block = { type: 'block', ...mcc, untilMs: t0 + 1_000 } as const
  const rule = { ruleId: 'r1', rulesVersion: 'a', atMs: t0, reason: 'declined 6 asks' }
  const repair = async () => [await repairBlocks(keeping, t0), await repairTripped(aggregates)]
  const records = [blocksAggregate, trippedAggregate]
  const rootsNow = async () =>
    (await store.load(records.map((aggregate) => ({ aggregate, group: '', id: '' })))).map(
      (one) => one?.value,
    )
  const right = ['it can be read', 'it can be read']
  expect(await repair()).toEqual(right)
  await changeBlocks(keeping, block, 'fraud', t0)
  await tripRule(aggregates, rule)
  const before = await rootsNow()
  expect(await repair()).toEqual(right)
  expect(await rootsNow()).toEqual(before)
  for (const aggregate of records) {
    await aggregates.change({ aggregate, decide: () => ({ result: 0, write: { root: '{' } }) })
  }
  expect(await repair()).toEqual(['', ''])
  expect(await readBlocks(store, t0)).toMatchObject([mcc])
  expect(await readTripped(store)).toEqual([])
  expect(await repair()).toEqual(right)
})

it('a block that came after somebody else had written the list anew stays in it', async () => {
  const store = createMemoryStore()
  let versions = 0
  const newVersion = () => `v${versions++}`
  const aggregates = createAggregates({ store, newVersion })
  const other = { store, aggregates }
  const damage = { result: 0, write: { root: '{' } }
  await aggregates.change({ aggregate: blocksAggregate, decide: () => damage })
  const block = (value: string) =>
    ({ type: 'block', kind: 'mcc', value, untilMs: t0 + 1_000 }) as const
  let isFirst = true
  // The other is done between what this one has read and its commit.
  const commit: typeof store.commit = async (commands) => {
    if (isFirst) {
      isFirst = false
      await changeBlocks(other, block('7995'), 'fraud', t0)
    }
    return store.commit(commands)
  }
  const slow = createAggregates({ store: { ...store, commit }, newVersion })
  expect(await changeBlocks({ store, aggregates: slow }, block('6011'), 'fraud', t0)).toBe('')
  expect(await readBlocks(store, t0)).toMatchObject([{ value: '7995' }, { value: '6011' }])
})
