import { expect, it } from 'vitest'
import { createAggregates } from '../../../src/engine/aggregates.ts'
import { readTripped, tripRule } from '../../../src/engine/notice/tripped-rules.ts'
import { createMemoryStore } from '../../support/memory-store.ts'

const dayMs = 86_400_000
const t0 = Date.UTC(2026, 10, 15)

function world() {
  const store = createMemoryStore()
  let versions = 0
  const aggregates = createAggregates({ store, newVersion: () => `v${versions++}` })
  return {
    trip: (ruleId: string, rulesVersion: string, atMs: number) =>
      tripRule(aggregates, { ruleId, rulesVersion, atMs, reason: 'declined 6 asks' }),
    async named() {
      return (await readTripped(store)).map(
        ({ ruleId, rulesVersion }) => `${ruleId} ${rulesVersion}`,
      )
    },
  }
}

it('of a thousand rules in shadow the oldest gives way to a further one', async () => {
  const { trip, named } = world()
  for (let i = 0; i <= 1_000; i++) expect(await trip(`r${i}`, 'a', t0 + i)).toBe(true)
  const all = await named()
  expect([all.length, all[0], all.at(-1)]).toEqual([1_000, 'r1 a', 'r1000 a'])
  expect(await trip('r1', 'a', t0 + 2_000)).toBe(false)
})

it('what tripped in another version of the pack counts for a week', async () => {
  const { trip, named } = world()
  await trip('r1', 'a', t0)
  await trip('r2', 'b', t0 + 7 * dayMs - 1)
  expect(await named()).toEqual(['r1 a', 'r2 b'])
  await trip('r3', 'b', t0 + 7 * dayMs)
  expect(await named()).toEqual(['r2 b', 'r3 b'])
  await trip('r4', 'b', t0 + 60 * dayMs)
  expect(await named()).toEqual(['r2 b', 'r3 b', 'r4 b'])
})
