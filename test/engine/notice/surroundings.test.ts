import { expect, it } from 'vitest'
import { readBook } from '../../../src/backoffice/stored-book.ts'
import { gather } from '../../../src/domain/change/book.ts'
import { createAggregates } from '../../../src/engine/aggregates.ts'
import { decodeEntry } from '../../../src/engine/format/entry-codec.ts'
import { explainThen } from '../../../src/engine/notice/surroundings.ts'
import { createSharedDesk } from '../../../src/engine/shared/desk.ts'
import { openCards, startEngine } from '../../support/engine-world.ts'
import { createMemoryStore } from '../../support/memory-store.ts'
import { packOfFiles, rulesText } from '../../support/rule-world.ts'

const windows = '- { name: shop, scope: merchant, over: asks, period: { trailing: 1h } }'
const rules = [
  { id: 'busy', when: 'windows.shop.count >= 2', decline: '141' },
  { id: 'watched', when: 'windows.shop.count >= 1', decline: '128', mode: 'shadow' },
  {
    id: 'small',
    when: 'amount < 1000 && windows.shop.count < 99',
    tag: 'small',
    decline: undefined,
  },
]
const pack = packOfFiles({ 'windows.yaml': windows, 'a.rules.yaml': rulesText(rules) })

it('a decision of the log is explained by what matched then, whatever windows over all cards count by now', async () => {
  const store = createMemoryStore()
  let versions = 0
  const shared = createSharedDesk({
    aggregates: createAggregates({ store, newVersion: () => `v${versions++}` }),
    clock: { monoMs: () => performance.now() },
    staleMs: Number.POSITIVE_INFINITY,
    onTrouble: (message) => expect.unreachable(message),
  })
  const engine = startEngine(store, { pack, shared })
  await openCards(engine, 4)
  const codes: string[] = []
  for (let i = 0; i < 4; i++) {
    codes.push((await engine.ask({ eventId: `e${i}`, cardId: `card-${i}` })).code)
  }
  expect(codes).toEqual(['000', '000', '141', '141'])
  await shared.stop()
  engine.stop()

  const entries = (await store.readLog('', 100)).map(({ entry }) => decodeEntry(entry))
  const explained = async (eventId: string, by = pack) => {
    const entry = entries.find(({ event }) => event?.eventId === eventId)!
    const event = entry.event!
    const book = await readBook(store, event)
    const view = gather(event, { ...book!, transaction: () => null })
    const { code, ruleId, shadowRules, rules } = await explainThen(
      store,
      by,
      { ...entry, event },
      view,
    )
    const shown = JSON.stringify(rules)
    const looks = rules.map(({ matched, asleep }) => asleep || matched)
    return { code, ruleId, shadowRules, looks, shown }
  }
  const notThen = 'did not match then, as the log says'
  expect(await explained('e0')).toEqual({
    ...{ code: '000', ruleId: '', shadowRules: [] },
    looks: [notThen, notThen, true],
    shown: expect.stringContaining('{"name":"windows.shop.count","value":"4 by now"}'),
  })
  expect(await explained('e1')).toMatchObject({ code: '000', looks: [notThen, true, true] })
  expect(await explained('e2')).toMatchObject({ code: '141', looks: [true, true, true] })
  // Of another pack nobody knows what would have matched.
  const other = packOfFiles({
    'windows.yaml': windows,
    'a.rules.yaml': rulesText(rules.slice(0, 2)),
  })
  expect(await explained('e0', other)).toMatchObject({ code: '141', looks: [true, true] })
})
