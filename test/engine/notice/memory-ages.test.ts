import { expect, it } from 'vitest'
import type { PackMemory } from '../../../src/domain/decide/memory.ts'
import { createAggregates } from '../../../src/engine/aggregates.ts'
import {
  checkMemoryAges,
  noteMemories,
  noteSeeded,
  readMemoryAges,
  seedingRules,
} from '../../../src/engine/notice/memory-ages.ts'
import { createMemoryStore } from '../../support/memory-store.ts'

const hourMs = 3_600_000
const first = {
  key: 'window a',
  window: 'a',
  remembered: '',
  fullAfterMs: hourMs,
  ruleIds: ['r1'],
} as const
const second = {
  key: 'window b',
  window: 'b',
  remembered: '',
  fullAfterMs: 2 * hourMs,
  ruleIds: ['r1', 'r2'],
} as const
const t0 = Date.UTC(2026, 10, 15)

/** What packs decline; `before` is absent where nobody has seen the former pack. */
interface Declines {
  readonly before?: readonly string[]
  readonly now?: readonly string[]
}

function world() {
  const store = createMemoryStore()
  let versions = 0
  const aggregates = createAggregates({ store, newVersion: () => `v${versions++}` })
  return {
    note: (memories: readonly PackMemory[], atMs: number, declines: Declines = {}) =>
      noteMemories(
        aggregates,
        {
          pack: { memories, declines: declines.now ?? [] },
          former: declines.before === undefined ? null : { declines: declines.before },
        },
        atMs,
      ),
    told: (memories: readonly PackMemory[], sinceMs: number) =>
      noteSeeded(aggregates, memories, sinceMs),
    seeding: async (memories: readonly PackMemory[], atMs: number) => [
      ...seedingRules(memories, await readMemoryAges(store), atMs).entries(),
    ],
  }
}

it('what the first pack of a store keeps has always been kept', async () => {
  const { note, seeding } = world()
  await note([first], t0)
  expect(await seeding([first], t0)).toEqual([])
})

it('what a later pack keeps fills for its time, and its rules wait for the longest', async () => {
  const { note, seeding } = world()
  await note([], t0)
  await note([first, second], t0 + 1)
  expect(await seeding([first, second], t0 + 1)).toEqual([
    ['r1', t0 + 1 + 2 * hourMs],
    ['r2', t0 + 1 + 2 * hourMs],
  ])
  expect((await seeding([second, first], t0 + 1))[0]).toEqual(['r1', t0 + 1 + 2 * hourMs])
  // Another instance with the same pack, or a restart, begins nothing anew.
  await note([first, second], t0 + hourMs)
  expect(await seeding([first, second], t0 + 2 * hourMs)).toHaveLength(2)
  expect(await seeding([first, second], t0 + 1 + 2 * hourMs)).toEqual([])
})

it('what an allowance may except waits until the log has told what it can, and no longer', async () => {
  const { note, told, seeding } = world()
  const allowing = { ...second, excepted: [{ id: 'r2' }, { id: 'r3' }] }
  await note([], t0)
  await note([allowing], t0 + 1, { before: [] })
  const waiting = await seeding([allowing], t0 + 1)
  expect(waiting.map(([id]) => id)).toEqual(['r1', 'r2', 'r3'])
  await told([allowing], t0 - hourMs)
  expect(await seeding([allowing], t0 + 2)).toEqual([
    ['r1', t0 + hourMs],
    ['r2', t0 + hourMs],
  ])
})

it('a log that begins later than a window was kept takes nothing from its age', async () => {
  const { note, told, seeding } = world()
  await note([], t0)
  await note([first], t0 + 1)
  await told([first], t0 + hourMs / 2)
  expect(await seeding([first], t0 + 2)).toEqual([['r1', t0 + 1 + hourMs]])
})

it('what the log tells of one window ends no waiting for another', async () => {
  const { note, told, seeding } = world()
  const allowing = { ...second, ruleIds: [], excepted: [{ id: 'r3' }] }
  await note([], t0)
  await note([first, allowing], t0 + 1, { before: [] })
  await told([first], 0)
  expect(await seeding([first, allowing], t0 + 2)).toEqual([['r3', t0 + 1 + 2 * hourMs]])
})

it('a record that is none of this release is found by who checks a store', () => {
  expect(() => checkMemoryAges('{"format":1,"ages":{}}')).not.toThrow()
  expect(() => checkMemoryAges('{"format":1,"ages":{"window a":{}}}')).toThrow(
    'were not written by this release',
  )
})

it('what an allowance may except waits no longer than that lasts', async () => {
  const { note, seeding } = world()
  const allowing = { ...first, ruleIds: [], excepted: [{ id: 'r2', endsMs: t0 + 60_000 }] }
  await note([], t0)
  await note([allowing], t0 + 1, { before: [] })
  expect(await seeding([allowing], t0 + 2)).toEqual([['r2', t0 + 60_000]])
  expect(await seeding([allowing], t0 + 60_000)).toEqual([])
})

it('what was declined before goes on, whatever is new that may except it', async () => {
  const { note, told, seeding } = world()
  const ids = ['old', 'new']
  const allowing = { ...first, ruleIds: [], excepted: ids.map((id) => ({ id })) }
  const waiting = async () => (await seeding([allowing], t0 + 3)).map(([id]) => id)
  await note([], t0)
  await note([allowing], t0 + 1, { before: ['old'], now: ids })
  expect(await waiting()).toEqual(['new'])
  // At a start nobody knows what was before, and what waits goes on waiting.
  await note([allowing], t0 + 2, { now: ids })
  await note([allowing], t0 + 2, { before: ids, now: ids })
  expect(await waiting()).toEqual(['new'])
  // A server that still has the former pack.
  await note([], t0 + 2, { now: ['old'] })
  expect(await waiting()).toEqual(['new'])
  await note([], t0 + 2, { before: ids, now: ids })
  expect(await waiting()).toEqual([])
  // What has waited until the log told one thing does not wait for the next.
  const later = { ...second, ruleIds: [], excepted: allowing.excepted }
  await note([allowing], t0 + 2, { before: [], now: ids })
  await told([allowing], t0)
  await note([allowing, later], t0 + 2, { before: ids, now: ids })
  expect(await seeding([allowing, later], t0 + 3)).toEqual([])
  const other = world()
  await other.note([], t0)
  await other.note([allowing], t0 + 1, { now: ids })
  expect(await other.seeding([allowing], t0 + 3)).toEqual([])
})

it('of 10,000 new declines it is known that they wait; the others decline', async () => {
  const { note, seeding } = world()
  const excepted = Array.from({ length: 10_001 }, (_, i) => ({ id: `r${i}` }))
  const allowing = { ...first, ruleIds: [], excepted }
  await note([], t0)
  await note([allowing], t0 + 1, { before: [] })
  expect(await seeding([allowing], t0 + 2)).toHaveLength(10_000)
})

it('a pack that comes back within the hour goes on, a later one begins anew', async () => {
  const { note, seeding } = world()
  await note([first], t0)
  await note([], t0 + 1)
  await note([first], t0 + hourMs)
  expect(await seeding([first], t0 + hourMs)).toEqual([])
  await note([], t0 + 2 * hourMs)
  await note([first], t0 + 4 * hourMs)
  expect(await seeding([first], t0 + 4 * hourMs)).toEqual([['r1', t0 + 5 * hourMs]])
})

it('a window that comes back after another one of its name begins anew', async () => {
  const { note, seeding } = world()
  const monthly = { ...first, key: 'window a card approved month' }
  await note([monthly, second], t0)
  await note([{ ...first, key: 'window a card approved week' }, second], t0 + 1)
  await note([monthly, second], t0 + 2)
  expect(await seeding([monthly, second], t0 + 2)).toEqual([['r1', t0 + 2 + hourMs]])
})

it('of 250 windows the age is known, first of those that are kept now; one that is forgotten fills anew', async () => {
  const { note, seeding } = world()
  const windows = (name: string): PackMemory[] =>
    Array.from({ length: 100 }, (_, i) => {
      return {
        ...first,
        key: `window ${name}${i}`,
        window: `${name}${i}`,
        ruleIds: [`${name}${i}`],
      }
    })
  const [a, b, c] = [windows('a'), windows('b'), windows('c')]
  await note(a, t0)
  for (const [i, pack] of [b, c, a].entries()) await note(pack, t0 + i + 1)
  expect((await seeding(a, t0 + 3)).map(([ruleId]) => ruleId)).toEqual(
    a.slice(50).map(({ window }) => window),
  )
})
