import { expect, it } from 'vitest'
import { packOfFiles, rulesText } from '../../support/rule-world.ts'

const windows = `
- { name: month, scope: card, over: approved, period: month }
- { name: asks, scope: card, over: asks, distinct: true, period: { trailing: 10m } }
- { name: usual, scope: card, over: approved, spread: true, period: { trailing: 30d } }
`

function setOffBy(when: string, more: Record<string, unknown> = {}, where = 'foreign'): string[] {
  const rules = rulesText([{ id: 'r', when, ...more }])
  const filtered = `${windows}- { name: some, scope: card, over: asks, where: '${where}', period: day }\n`
  const { memories = [] } = packOfFiles({ 'windows.yaml': filtered, 'a.rules.yaml': rules })
  return memories.filter(({ ruleIds }) => ruleIds.includes('r')).map(({ key }) => key)
}

const month = 'window month card approved month'
const asks = 'window asks card asks distinct 10m'
const usual = 'window usual card approved spread 30d'
const some = 'window some card asks day'

it.each([
  ['!merchant_seen && amount > 50', ['card merchants']],
  ['foreign && !(country_seen || merchant_seen)', ['card merchants', 'card countries']],
  ['minutes_since_last_ask > 10000', ['card lastAsk']],
  ['windows.asks.count < 2 && amount > 500', [asks]],
  ['windows.month.sum - amount * 3 < 0', [month]],
  ['amount > windows.month.sum * 2', [month]],
  ['windows.asks.distinct == 1', [asks]],
  ['(windows.asks.count > 1 ? amount : 0) > 5', [asks]],
  ['windows.asks.count > 1 ? foreign : amount > 50', [asks]],
  ['foreign ? !merchant_seen : country_seen', ['card merchants']],
  ['windows.usual.average > 100', [usual]],
  ['amount > windows.usual.average + 3 * windows.usual.deviation', [usual]],
  ['windows.usual.deviation > 60 && windows.usual.count > 5', [usual]],
  ['windows.month.sum - windows.usual.sum > 50', [usual]],
  ['windows.month.sum * (0 - 1) > 0 - 500', [month]],
  ['windows.asks.count != 1', [asks]],
  ['!has(distance_km) && amount > 50', ['card location']],
  ['has(speed_kmh) && amount > 50', []],
  ['(merchant_seen ? merchant.city : "new") == "new"', ['card merchants']],
  ['size(lower(windows.asks.count < 2 ? "a" : merchant.name)) == 1', [asks]],
  ['windows.usual.max > 100', []],
  ['windows.month.sum + windows.usual.sum > 500', []],
  ['windows.month.sum + amount > 500', []],
  ['windows.asks.count >= 5 && !foreign', []],
  ['merchant_seen', []],
  ['minutes_since_last_ask < 30', []],
  ['!(windows.month.sum + amount <= 500)', []],
  ['500 < windows.month.sum', []],
])('%s is set off by the emptiness of %j', (when, keys) => {
  expect(setOffBy(when)).toEqual(keys)
})

it('a rule that only records, or unless, is followed as it decides', () => {
  expect(setOffBy('!merchant_seen', { mode: 'shadow' })).toEqual([])
  expect(setOffBy('!merchant_seen', { seeding: 'enforce' })).toEqual([])
  expect(setOffBy('amount > 50', { unless: 'merchant_seen' })).toEqual(['card merchants'])
})

it.each([
  ['windows.some.count > 3', '!merchant_seen', ['card merchants']],
  ['windows.some.sum + amount > 500', 'minutes_since_last_ask > 60', ['card lastAsk']],
  ['windows.some.average > 50', 'merchant_seen', [some, 'card merchants']],
  ['windows.some.count < 3', 'merchant_seen', [some, 'card merchants']],
  ['windows.some.count < 3', '!merchant_seen', [some]],
  ['windows.some.count > 3', 'merchant_seen', []],
])('%s of a window that counts where %s is set off by the emptiness of %j', (when, where, keys) => {
  expect(setOffBy(when, {}, where)).toEqual(keys)
})

/** For each memory, the rules that wait for it because they decline what a rule on it may allow. */
function exceptedBy(allow: unknown, when: string, more: Record<string, unknown> = {}): unknown {
  const rules = [
    { id: 'large', when: 'amount > 500', on: ['Authorization', 'PreAuthorization'] },
    { id: 'abroad', when: 'foreign', seeding: 'enforce' },
    { id: 'tried', when: 'foreign', mode: 'shadow' },
    { id: 'noted', when: 'foreign', decline: undefined, review: 'approve' },
    { id: 'seen', when: 'foreign', decline: undefined, review: '128' },
    { id: 'known', when, decline: undefined, allow, ...more },
  ]
  const files = { 'windows.yaml': windows, 'a.rules.yaml': rulesText(rules) }
  const { memories = [] } = packOfFiles(files)
  return memories.flatMap(({ key, excepted }) =>
    excepted
      ? [[key, excepted.map(({ id, endsMs }) => (endsMs === undefined ? id : [id, endsMs]))]]
      : [],
  )
}

it('what a rule allows waits for all that this one looks at, whichever way it looks', () => {
  expect(exceptedBy(['large'], 'merchant_seen')).toEqual([['card merchants', ['large']]])
  expect(exceptedBy(['large'], '!merchant_seen')).toEqual([['card merchants', ['large']]])
  expect(exceptedBy('all', 'windows.month.sum > 500')).toEqual([[month, ['large', 'seen']]])
  expect(exceptedBy({ above: ['limits'], rules: ['seen'] }, 'windows.asks.count < 2')).toEqual([
    [asks, ['seen']],
  ])
  expect(exceptedBy({ above: ['limits'] }, 'merchant_seen')).toEqual([])
  expect(exceptedBy(['large'], 'foreign')).toEqual([])
  expect(exceptedBy(['large'], 'merchant_seen', { mode: 'shadow' })).toEqual([])
  expect(exceptedBy(['large'], 'merchant_seen', { seeding: 'enforce' })).toEqual([])
})

it('what a rule allows waits no longer than that rule lasts, and not where it is about other asks', () => {
  const expires = '2026-03-02'
  const endsMs = Date.parse('2026-03-02T12:00:00Z')
  expect(exceptedBy(['large'], 'merchant_seen', { expires })).toEqual([
    ['card merchants', [['large', endsMs]]],
  ])
  expect(exceptedBy('all', 'merchant_seen', { on: ['CashWithdrawal'] })).toEqual([
    ['card merchants', ['seen']],
  ])
})

it('what two rules allow waits until the last of them has expired', () => {
  const known = { when: 'merchant_seen', decline: undefined, allow: ['large'] }
  const excepted = (...expires: (string | undefined)[]) => {
    const rules = expires.map((day, i) => ({ ...known, id: `known-${i}`, expires: day }))
    const text = rulesText([{ id: 'large', when: 'amount > 500' }, ...rules])
    return packOfFiles({ 'a.rules.yaml': text }).memories![0]!.excepted
  }
  expect(excepted('2026-03-02', '2026-03-01')).toEqual(excepted('2026-03-02'))
  expect(excepted(undefined, '2026-03-01')).toEqual([{ id: 'large' }])
})

it('what one organization allows keeps no rule of another waiting', () => {
  const rule = (id: string, more: Record<string, unknown>) => rulesText([{ id, ...more }])
  const { memories = [] } = packOfFiles({
    'a.rules.yaml': rule('base', { when: 'amount > 500' }),
    'organizations/o1/a.rules.yaml': rule('own', { when: 'amount > 50' }),
    'organizations/o2/a.rules.yaml': rule('other', { when: 'amount > 50' }),
    'organizations/o1/b.rules.yaml': rule('known', {
      when: 'merchant_seen',
      decline: undefined,
      allow: 'all',
    }),
  })
  expect(memories.map(({ excepted }) => excepted)).toEqual([[{ id: 'base' }, { id: 'own' }]])
})

it('what a pack keeps has the same key in another, whatever its filters are, and its length', () => {
  const pack = (text: string) => packOfFiles({ 'windows.yaml': text }).memories
  expect(pack(windows)).toEqual([
    { key: month, window: 'month', remembered: '', fullAfterMs: 31 * 86_400_000, ruleIds: [] },
    { key: asks, window: 'asks', remembered: '', fullAfterMs: 600_000, ruleIds: [] },
    { key: usual, window: 'usual', remembered: '', fullAfterMs: 30 * 86_400_000, ruleIds: [] },
  ])
  const filtered = windows.replace('period: month', 'period: month, mccs: ["7995"]')
  expect(pack(filtered)).toEqual(pack(windows))
  expect(pack(windows.replace('10m', '20m'))![1]!.key).not.toBe(asks)
})
