import { expect, it } from 'vitest'
import type { Office } from '../../../src/console/office.ts'
import { ruleRoutes } from '../../../src/console/route/rules.ts'
import type { RulesShown } from '../../../src/console/shape/rules.ts'
import { createAggregates } from '../../../src/engine/aggregates.ts'
import { noteMemories } from '../../../src/engine/notice/memory-ages.ts'
import { compilePack } from '../../../src/rules/load/compiler.ts'
import { testPack } from '../../../src/rules/testing/pack-test.ts'
import { createMemoryStore } from '../../support/memory-store.ts'

const why = 'For this test'
const nowMs = Date.UTC(2026, 10, 15)
const files = new Map([
  ['pack.yaml', '{}'],
  ['lists/staff.txt', 'cus-1\n'],
  ['windows.yaml', '- { name: day, scope: card, over: approved, period: { trailing: 24h } }'],
  [
    'a.rules.yaml',
    JSON.stringify([
      { id: 'cap', when: 'windows.day.count < 1', decline: '130', why },
      { id: 'tried', when: 'windows.day.count < 2', decline: '130', mode: 'shadow', why },
      { id: 'staff', when: 'amount > 1', allow: ['cap'], customers: 'staff', why },
      { id: 'big', when: 'amount > 1', review: '129', why },
    ]),
  ],
])

it('the page of rules says what each does, for whom, and which of them only record yet', async () => {
  const pack = compilePack(files, 45)
  const store = createMemoryStore()
  let versions = 0
  const aggregates = createAggregates({ store, newVersion: () => `v${versions++}` })
  // What a store's first pack keeps has always been kept.
  await noteMemories(aggregates, { pack: {}, former: null }, nowMs)
  await noteMemories(aggregates, { pack, former: null }, nowMs)
  const office = {
    packs: { pack: () => pack, tests: () => testPack(files, pack) },
    store,
    clock: { nowMs: () => nowMs + 1, monoMs: () => 0 },
    figures: { rulesVersion: pack.version, ruleSpans: () => [] },
    reportsDir: null,
  } as unknown as Office
  const route = ruleRoutes(office).find(({ path }) => path === '/data/rules')!
  const { rules } = (await route.handle({}, { role: 'viewer' } as never)) as RulesShown
  const told = rules.map(({ id, code, does, scopes, seedingUntilMs }) => {
    return [id, code, does, scopes, seedingUntilMs]
  })
  expect(told).toEqual([
    ['cap', '130', 'declines 130 (velocity limit exceeded)', '', nowMs + 86_400_000],
    ['tried', '130', 'declines 130 (velocity limit exceeded)', '', null],
    ['staff', '', 'allows it over cap', 'customers of the list staff', null],
    ['big', '129', 'asks people to look and declines 129', '', null],
  ])
})
