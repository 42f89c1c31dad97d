import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { compilePack } from '../../../src/rules/load/compiler.ts'
import { readPackFiles } from '../../../src/rules/pack/reading.ts'
import { coveredPercent, runPackTests, testPack } from '../../../src/rules/testing/pack-test.ts'
import { packOfFiles, reportOf } from '../../support/rule-world.ts'

const rules = `
- id: large
  when: amount > 200
  decline: "129"
  why: too much
- id: often
  when: windows.asks_1h.count >= 3
  decline: "189"
  why: too often
- id: abroad
  mode: shadow
  when: foreign
  decline: "304"
  why: far away
- id: never-asked
  mode: "off"
  when: amount > 1
  decline: "140"
  why: off
- id: expired
  when: merchant.mid == "OVER"
  decline: "140"
  why: over
  expires: 2026-11-15
`
const windows = '- { name: asks_1h, scope: card, over: asks, period: { trailing: 1h } }'
const files = { 'a.rules.yaml': rules, 'windows.yaml': windows }

/** The faults of a pack whose tests are this text; the pack itself has none. */
function faultsOf(tests: string): string[] {
  return reportOf({ ...files, 'a.test.yaml': tests })
}

function oneTest(...steps: string[]): string {
  return `- name: t\n  steps:\n${steps.map((step) => `    - ${step}\n`).join('')}`
}

describe('the tests of a pack', () => {
  it('pass through the real decisions, with answers, rules, balances and windows', () => {
    const steps = oneTest(
      '{ send: Authorization, amount: 200, expect: approve, held: 200, available: 9800 }',
      '{ send: Authorization, amount: 200.01, expect: "129", rule: large, held: 200 }',
      '{ send: Settlement, txn: t1, amount: 150, expect: "000", posted: 9850, held: 0 }',
      '{ send: Authorization, amount: 5, country: FR, expect: approve, shadow: [abroad], windows: { asks_1h: { count: 3, sum: "405.01" } } }',
      '{ send: Authorization, amount: 5, expect: decline, rule: often }',
      '{ wait: 61m, windows: { asks_1h: { count: 0 } } }',
      '{ send: Authorization, amount: 5, expect: approve, shadow: [] }',
      '{ set: { status: Frozen }, status: Frozen }',
      '{ send: Authorization, amount: 5, expect: "117" }',
      '{ send: CashWithdrawal, card: nobody, amount: 5, expect: "148" }',
    )
    expect(faultsOf(steps)).toEqual([])
  })

  it('see a transaction as one amount in the deviation, however often it grew and was given back', () => {
    const week = '- { name: week, scope: card, spread: true, period: { trailing: 7d } }'
    const deviation = (minor: number) => `windows: { week: { deviation: ${minor} } }`
    const tests = oneTest(
      '{ send: Authorization, amount: 300, expect: approve }',
      '{ send: Authorization, amount: 100, txn: stay, expect: approve }',
      '{ wait: 2d }',
      `{ send: Authorization, amount: 120, txn: stay, expect: approve, ${deviation(40)} }`,
      `{ send: PartialReversal, amount: 20, txn: stay, expect: approve, ${deviation(50)} }`,
      '{ wait: 5d }',
      `{ send: Authorization, amount: 200, expect: approve, ${deviation(50)} }`,
    )
    const pack = { 'a.rules.yaml': '[]', 'windows.yaml': week, 'a.test.yaml': tests }
    expect(reportOf(pack)).toEqual([])
  })

  it('see settlements that name no merchant as those of one, which crowds out no other', () => {
    const shop = '- { name: shop, scope: card-and-merchant, period: { trailing: 24h } }'
    const counted = 'windows: { shop: { mid: SHOP-1, sum: 90, count: 1 } }'
    const tests = oneTest(
      '{ send: Authorization, amount: 5, mid: SHOP-0, expect: approve }',
      `{ send: Authorization, amount: 90, mid: SHOP-1, expect: approve, ${counted} }`,
      '{ send: Settlement, amount: 1, txn: lone, mid: "", times: 130, expect: approve }',
      `{ send: Authorization, amount: 0, mid: SHOP-2, expect: approve, ${counted} }`,
    )
    const pack = { 'a.rules.yaml': '[]', 'windows.yaml': shop, 'a.test.yaml': tests }
    expect(reportOf(pack)).toEqual([])
  })

  it('see cash that is posted as nothing that is held for its transaction, and a hold as that', () => {
    const held =
      '- { id: held, when: transaction.held > 0, decline: "129", why: something is held }'
    const tests = oneTest(
      '{ send: CashWithdrawal, txn: cash, amount: 20, expect: approve, posted: 9980, held: 0 }',
      '{ send: CashWithdrawal, txn: cash, amount: 20, expect: approve, posted: 9960, held: 0 }',
      '{ send: Authorization, txn: purchase, amount: 20, expect: approve, held: 20 }',
      '{ send: Authorization, txn: purchase, amount: 20, expect: "129", rule: held }',
    )
    expect(reportOf({ 'a.rules.yaml': held, 'a.test.yaml': tests })).toEqual([])
  })

  it('add to what an account has, and take from it', () => {
    const adjusted = oneTest(
      '{ adjust: -9900, posted: 100, available: 100 }',
      '{ send: Authorization, amount: 120, expect: "116" }',
      '{ adjust: "25.50", card: card-1, available: 125.5 }',
      '{ send: Authorization, amount: 120, expect: approve, available: 5.5 }',
    )
    expect(faultsOf(adjusted)).toEqual([])
    const wrong = oneTest('{ adjust: 1.005 }', '{ adjust: 5, card: card-2 }', '{ adjust: much }')
    expect(faultsOf(wrong)).toEqual([
      'a.test.yaml:5:17 steps.2.adjust must be an amount such as 12.50',
    ])
    expect(faultsOf(oneTest('{ adjust: 1.005 }', '{ adjust: 5, card: card-2 }'))).toEqual([
      'a.test.yaml:3:17 "t": 1.005 has too many decimals for USD',
      'a.test.yaml:4:26 "t": there is no card card-2: did you mean card-1?',
    ])
  })

  it('fail at the place of what differs, and the pack is refused', () => {
    const wrong = oneTest(
      '{ send: Authorization, amount: 201, expect: approve }',
      '{ send: Authorization, amount: 20, expect: decline, held: 21 }',
      '{ send: Authorization, amount: 201, expect: decline, rule: often, windows: { asks_1h: { count: 2 } } }',
      '{ send: Authorization, amount: 1, expect: "129" }',
    )
    expect(faultsOf(wrong)).toEqual([
      'a.test.yaml:3:51 "t": expect is approve, and the answer is 129 (transaction limit exceeded) by large',
      'a.test.yaml:4:50 "t": expect is decline, and the answer is 000 (approved)',
      'a.test.yaml:4:65 "t": held is "20.00", expected "21.00"',
      'a.test.yaml:5:66 "t": rule is "large", expected "often"',
      'a.test.yaml:5:102 "t": asks_1h.count is 3, expected 2',
      'a.test.yaml:6:49 "t": expect is 129, and the answer is 189 (frequency limits exceeded) by often',
    ])
  })

  it('are told all that is wrong with their words at once, with what was meant', () => {
    const wrong = `
- name: misspelt
  strat: 2026-01-01T00:00:00Z
  cards: [{ balence: 10 }, { status: Activ }]
  steps:
    - { sned: Authorization, amount: 1, expect: approve }
    - { send: Authorisation, amount: 1, expect: aprove }
    - { send: Authorization, ammount: 1, expect: 000 }
    - { send: Authorization, amount: many, mcc: 7995, expect: "999" }
    - { wait: 5 minutes }
    - { at: 2026-01-15 }
    - { send: Authorization, wait: 1m }
- { name: no steps }
- 5
`
    expect(faultsOf(wrong)).toEqual([
      'a.test.yaml:3:3 strat is not known: did you mean start?',
      'a.test.yaml:4:13 cards.0.balence is not known: did you mean balance?',
      'a.test.yaml:4:38 cards.1.status must be one of Active, Frozen, Terminated: did you mean Active?',
      'a.test.yaml:6:7 steps.0 is no step: it has one of send, wait, at, set, adjust: did you mean send?',
      'a.test.yaml:7:15 steps.1.send must be one of Authorization, PreAuthorization, CashWithdrawal, Settlement, PartialReversal, Reversal, Refund: did you mean Authorization?',
      'a.test.yaml:7:49 steps.1.expect must be approve, decline, or a response code in quotes such as "127": did you mean approve?',
      'a.test.yaml:8:30 steps.2.ammount is not known: did you mean amount?',
      'a.test.yaml:8:50 steps.2.expect must be approve, decline, or a response code in quotes such as "127"',
      'a.test.yaml:9:38 steps.3.amount must be an amount such as 12.50',
      'a.test.yaml:9:49 steps.3.mcc must be a text: put it in quotes',
      'a.test.yaml:9:63 steps.3.expect must be approve, decline, or a response code in quotes such as "127"',
      'a.test.yaml:10:15 steps.4.wait must be a number and one of ms, s, m, h, d, such as 24h',
      'a.test.yaml:11:13 steps.5.at must be a time with its zone, such as 2026-01-15T23:30:00Z',
      'a.test.yaml:12:7 steps.6 is two steps, send and wait: make it two',
      'a.test.yaml:13:3 steps is required',
      'a.test.yaml:14:3 must be a map',
    ])
  })

  it('are told so many faults and no more, whatever follows', () => {
    const steps = Array.from({ length: 60 }, () => '{ send: Authorization, amount: 1 }')
    const report = faultsOf(steps.map((step) => oneTest(step)).join(''))
    expect(report[0]).toBe('a.test.yaml:3:7 steps.0.expect is required')
    expect(report).toHaveLength(50)
  })

  it('are told names that the pack does not have, and amounts that are none', () => {
    const wrong = `
- name: t
  cards: [{ currency: KWD, dailyLimit: 1.2345 }, { cardId: card-1 }]
  steps:
    - { send: Authorization, amount: 1.2345, expect: decline, rule: larg, shadow: [x], windows: { asks_1hr: { count: 1 } } }
    - { send: Authorization, expect: approve }
    - { set: { card: card-9, status: Frozen } }
    - { send: Authorization, amount: 1, currency: XXQ, expect: "121" }
`
    expect(faultsOf(wrong)).toEqual([
      'a.test.yaml:3:40 "t": dailyLimit too many decimals for an amount in KWD',
      'a.test.yaml:3:60 "t": card-1 is the id of another card',
      'a.test.yaml:5:38 "t": 1.2345 is too many decimals in KWD',
      'a.test.yaml:5:69 "t": there is no rule larg: did you mean large?',
      'a.test.yaml:5:83 "t": there is no rule x',
      'a.test.yaml:5:109 "t": there is no window asks_1hr: did you mean asks_1h?',
      'a.test.yaml:6:7 "t": amount is required',
      'a.test.yaml:7:22 "t": there is no card card-9: did you mean card-1?',
      'a.test.yaml:8:51 "t": XXQ is not an ISO 4217 currency',
    ])
  })

  it('are told beside what is wrong with the rules', () => {
    const report = reportOf({
      'a.rules.yaml': '- { id: a }',
      'a.test.yaml': '- { nmae: x, steps: [] }',
    })
    expect(report.join('\n')).toContain('a.rules.yaml:1:3 when is required')
    expect(report.join('\n')).toContain('a.test.yaml:1:5 nmae is not known: did you mean name?')
  })

  it('repeat an event so many times, each its own, and stop at the first that differs', () => {
    const good =
      '{ send: Authorization, amount: 1, times: 3, every: 10m, expect: approve, held: 3 }'
    expect(faultsOf(oneTest(good))).toEqual([])
    const wrong = '{ send: Authorization, amount: 1, times: 9, expect: approve }'
    expect(faultsOf(oneTest(wrong))).toHaveLength(1)
  })

  it('know a duplicate by its event id, and give an advice to the last ask', () => {
    const steps = oneTest(
      '{ send: Authorization, event: a, amount: 10, expect: approve, held: 10 }',
      '{ send: Authorization, event: a, expect: approve, held: 10 }',
      '{ send: Authorization, event: a, amount: 10, expect: approve, held: 10 }',
      '{ send: Authorization, event: a, amount: 11, expect: "139", held: 10 }',
      '{ send: Authorization, event: b, amount: 20, expect: approve, held: 30 }',
      '{ send: Reversal, expect: approve, held: 10 }',
    )
    expect(faultsOf(steps)).toEqual([])
  })

  it('begin when they say, in the zone of the pack', () => {
    const late = `
- name: t
  start: 2026-06-01T21:30:00Z
  steps:
    - { send: Authorization, amount: 1, expect: decline, rule: night }
    - { at: 2026-06-02T08:00:00+02:00 }
    - { send: Authorization, amount: 1, expect: approve }
`
    const night = '- { id: night, when: hour >= 23 || hour < 6, decline: "129", why: night }'
    const pack = { 'pack.yaml': 'zone: Europe/Berlin', 'a.rules.yaml': night }
    expect(reportOf({ ...pack, 'a.test.yaml': late })).toEqual([])
    expect(reportOf({ 'a.rules.yaml': night, 'a.test.yaml': late })).not.toEqual([])
  })

  it('have a currency of three decimals, or of none', () => {
    for (const [currency, held] of [
      ['KWD', '1.500'],
      ['JPY', '2'],
    ] as const) {
      const step = `{ send: Authorization, amount: ${held}, expect: approve, held: ${held} }`
      const pack = { 'pack.yaml': `currency: ${currency}`, 'a.test.yaml': oneTest(step) }
      expect(reportOf(pack)).toEqual([])
    }
  })

  it('are bounded in events, so that a load does not take long', () => {
    const many = '{ send: Reversal, times: 1000, expect: approve }'
    const faults = faultsOf(oneTest(...Array(6).fill(many)))
    expect(faults).toEqual([
      'a.test.yaml:1:3 "t" has more events than 5000, with all tests before it',
    ])
  })

  it('leave no trace between each other', () => {
    const step = '{ send: Authorization, amount: 1, times: 3, expect: approve, held: 3 }'
    expect(faultsOf(`${oneTest(step)}${oneTest(step)}`)).toEqual([])
  })
})

describe('the coverage of a pack by its tests', () => {
  it('counts for each rule that is not off how often it matched and did not', () => {
    const pack = packOfFiles(files)
    const tests = new Map([
      [
        'a.test.yaml',
        oneTest(
          '{ send: Authorization, amount: 1, expect: approve }',
          '{ send: Authorization, amount: 201, expect: decline }',
        ),
      ],
    ])
    const { coverage } = testPack(tests, pack)
    expect(coverage.map(({ id, matched, unmatched }) => [id, matched, unmatched])).toEqual([
      ['large', 1, 1],
      ['often', 0, 2],
      ['abroad', 0, 2],
    ])
    expect(coveredPercent(coverage)).toBeCloseTo((4 / 6) * 100)
  })

  it('is whole for a pack without rules', () => {
    expect(coveredPercent(testPack(new Map(), packOfFiles({})).coverage)).toBe(100)
    // A rule about all asks of a kind does not match those of another.
    const rule = { id: 'no-cash', on: ['CashWithdrawal'], when: true, decline: '119', why: 'w' }
    const pack = packOfFiles({ 'a.rules.yaml': JSON.stringify([rule]) })
    const cash = '{ send: CashWithdrawal, amount: 5, expect: "119" }'
    const percentOf = (...steps: string[]) =>
      coveredPercent(testPack(new Map([['a.test.yaml', oneTest(...steps)]]), pack).coverage)
    expect(percentOf(cash)).toBe(50)
    expect(percentOf(cash, '{ send: Authorization, amount: 5, expect: approve }')).toBe(100)
  })
})

describe('the sample pack', () => {
  const folder = join(import.meta.dirname, '..', '..', '..', 'rules')
  const sample = readPackFiles(folder)
  const pack = compilePack(sample, 45, { tested: false })

  it('passes its own tests, which cover every rule', () => {
    expect(runPackTests(sample, pack)).toEqual([])
    expect(coveredPercent(testPack(sample, pack).coverage)).toBe(100)
  })

  it('says of each rule why, and who answers for it', () => {
    expect(pack.rules.length).toBeGreaterThan(8)
    for (const { id, why, owner } of pack.rules) {
      expect([id, why.length > 20, owner !== '']).toEqual([id, true, true])
    }
  })

  it('has tests that notice when a rule is switched off', () => {
    for (const { id, file, mode } of pack.rules) {
      const text = readFileSync(join(folder, file), 'utf8')
      const without = text.replace(`- id: ${id}\n`, `- id: ${id}\n  mode: "off"\n`)
      const changed = mode === 'shadow' ? without.replace('  mode: shadow', '  #') : without
      const files = new Map(sample).set(file, changed)
      const faults = runPackTests(files, compilePack(files, 45, { tested: false }))
      expect(faults.length, id).toBeGreaterThan(0)
    }
  })
})

it('a merchant and an account without a country can be told, and an advice without a merchant', () => {
  const steps = oneTest(
    '{ send: Authorization, amount: 5, country: "", expect: approve, shadow: [] }',
    '{ send: Authorization, amount: 5, country: FR, expect: approve, shadow: [abroad] }',
    '{ send: Settlement, amount: 5, mid: "", mcc: "", country: "", expect: approve, posted: 9995 }',
  )
  const nowhere = '- name: u\n  cards: [{ country: "" }]\n  steps:\n'
  const abroad =
    '    - { send: Authorization, amount: 5, country: FR, expect: approve, shadow: [] }\n'
  expect(faultsOf(steps + nowhere + abroad)).toEqual([])
})
