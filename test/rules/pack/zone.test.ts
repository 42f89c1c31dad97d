import { describe, expect, it } from 'vitest'
import { likenessOf } from '../../../src/backtest/counting.ts'
import { bytesOfPack, readPackBytes } from '../../../src/rules/pack/bytes.ts'
import { finish } from '../../../src/rules/pack/step.ts'
import { askOf, packOfFiles, reportOf, rulesText } from '../../support/rule-world.ts'

const files = {
  'pack.yaml': 'zone: UTC\nzones: { US: America/New_York, JP: Asia/Tokyo }',
  'windows.yaml': `
- { name: day, scope: card, period: day }
- { name: week, scope: account, period: week, firstDay: sun }
- { name: month, scope: card, period: month, firstDay: 16 }
- { name: shop, scope: merchant, period: day }
`,
  'a.rules.yaml': rulesText([
    { id: 'late', when: 'hour >= 23 && weekday == "thu"' },
    { id: 'second', when: 'windows.day.count >= 1', decline: '130', mode: 'shadow' },
  ]),
}

/** 2026-01-15, a Thursday, at 23:30 UTC: 18:30 in New York, and 08:30 of the next day in Tokyo. */
const lateMs = Date.UTC(2026, 0, 15, 23, 30)

describe('a zone by the country of the account', () => {
  it.each([
    ['GB', true],
    ['US', false],
    ['JP', false],
  ])('gives hour and weekday in %s, on every thread', (country, matches) => {
    const pack = packOfFiles(files)
    const ask = askOf({ account: { country }, atMs: lateMs })
    for (const used of [pack, finish(readPackBytes(bytesOfPack(pack)))]) {
      expect(used.evaluate(ask).matched).toEqual(matches ? ['late'] : [])
    }
  })

  it('cuts the windows of cards and accounts, and those over several cards as the pack does', () => {
    const pack = packOfFiles(files)
    const other = finish(readPackBytes(bytesOfPack(pack)))
    const crossed = (name: string, country: string) => {
      const answers = [pack, other].map(({ windows, sharedWindows = [] }) => {
        const { bucketOf } = [...windows, ...sharedWindows].find((one) => one.name === name)!
        return bucketOf(lateMs, country) !== bucketOf(lateMs + 3_600_000, country)
      })
      expect(answers[0]).toBe(answers[1])
      return answers[0]
    }
    expect(['GB', 'US', 'JP'].map((country) => crossed('day', country))).toEqual([
      true,
      false,
      false,
    ])
    expect(['GB', 'US', 'JP'].map((country) => crossed('daily', country))).toEqual([
      true,
      false,
      false,
    ])
    expect(['GB', 'US'].map((country) => crossed('month', country))).toEqual([true, false])
    expect(['GB', 'US', 'JP'].map((country) => crossed('shop', country))).toEqual([
      true,
      true,
      true,
    ])
  })

  it('is the day of the daily limit, of windows and of what is told of them', () => {
    const test = `
- name: in New York it is still Thursday
  cards: [{ country: US, dailyLimit: 60 }, { country: GB, dailyLimit: 60 }]
  steps:
    - { at: 2026-01-15T23:30:00Z }
    - { send: Authorization, amount: 50, expect: approve, shadow: [], spent: 50 }
    - { send: Authorization, card: card-2, amount: 50, expect: "127", rule: late }
    - { at: 2026-01-16T00:30:00Z, windows: { day: { sum: 50, count: 1 } } }
    - { send: Authorization, amount: 20, expect: "130" }
    - { send: Authorization, amount: 5, expect: approve, shadow: [second] }
    - { send: Authorization, card: card-2, amount: 50, expect: approve, shadow: [] }
    - { at: 2026-01-16T05:30:00Z, windows: { day: { sum: 0 } } }
    - { send: Authorization, amount: 50, expect: approve, shadow: [] }
`
    expect(reportOf({ ...files, 'a.test.yaml': test })).toEqual([])
  })

  it('is another way of counting, and is refused where it is none', () => {
    const [one, two] = ['Asia/Tokyo', 'Asia/Seoul'].map((zone) =>
      packOfFiles({ 'pack.yaml': `zones: { JP: ${zone} }` }),
    )
    expect(likenessOf(one!, two!)).toBe('apart')
    expect(likenessOf(one!, packOfFiles({}))).toBe('apart')
    expect(reportOf({ 'pack.yaml': 'zones: { USA: America/New_York, US: Mars/Olympus }' })).toEqual(
      [
        'pack.yaml:1:15 zones.USA is an ISO 3166 alpha-2 country, never USA',
        'pack.yaml:1:37 zones.US Mars/Olympus is not an IANA time zone',
      ],
    )
  })
})
