import { describe, expect, it } from 'vitest'
import { seeded } from '../../support/order.ts'
import { type AskParts, askOf, noonMs, packOfFiles, rulesText } from '../../support/rule-world.ts'

const dayMs = 86_400_000

function verdictOf(rules: readonly Record<string, unknown>[], ask: AskParts = {}, more = {}) {
  return packOfFiles({ 'a.rules.yaml': rulesText(rules), ...more }).evaluate(askOf(ask))
}

describe('a verdict', () => {
  it('has the first enforced decline by file order, and every match', () => {
    const pack = packOfFiles({
      'b.rules.yaml': rulesText([{ id: 'late', when: 'true', decline: '119' }]),
      'a.rules.yaml': rulesText([
        { id: 'quiet', mode: 'shadow', when: 'true', decline: '111' },
        { id: 'no', when: 'merchant.mcc == "0000"' },
        { id: 'off', mode: 'off', when: 'true' },
        { id: 'amount', when: 'amount > 0.50', decline: '129' },
        { id: 'mcc', when: 'merchant.mcc == "5411"', decline: '127' },
      ]),
    })
    expect(pack.evaluate(askOf())).toEqual({
      matched: ['amount', 'mcc', 'late'],
      shadow: ['quiet'],
      decline: { ruleId: 'amount', code: '129' },
    })
  })

  it('of shadow rules alone declines nothing', () => {
    const verdict = verdictOf([{ id: 'quiet', mode: 'shadow', when: 'true' }])
    expect(verdict).toEqual({ matched: [], shadow: ['quiet'], decline: null })
  })

  it('records at most a hundred matches, and declines by the first', () => {
    const rules = Array.from({ length: 150 }, () => ({ when: 'true' }))
    const { matched, decline } = verdictOf(rules)
    expect(matched).toHaveLength(100)
    expect(decline?.ruleId).toBe('r0')
  })

  it('records at most a hundred tags, each once, beside a hundred matches', () => {
    const rules = Array.from({ length: 300 }, (_, i) => ({
      ...{ when: 'true', decline: undefined, tag: `t${i >> 1}` },
    }))
    const { matched } = verdictOf(rules)
    const tags = matched.filter((one) => one.startsWith('tag:'))
    expect(matched).toHaveLength(200)
    expect(new Set(tags).size).toBe(100)
  })

  it('looks at the asks that a rule is on', () => {
    const rules = [
      { id: 'cash', on: ['CashWithdrawal'], when: 'true' },
      { id: 'both', on: ['Authorization', 'PreAuthorization'], when: 'true' },
      { id: 'named', when: 'requestType == "PreAuthorization"' },
      { id: 'all', when: 'true' },
    ]
    const of = (requestType: 'Authorization' | 'PreAuthorization' | 'CashWithdrawal') =>
      verdictOf(rules, { event: { requestType } }).matched
    expect(of('Authorization')).toEqual(['both', 'all'])
    expect(of('PreAuthorization')).toEqual(['both', 'named', 'all'])
    expect(of('CashWithdrawal')).toEqual(['cash', 'all'])
  })

  it('is withheld by unless', () => {
    const rules = [{ when: 'amount > 0.50', unless: 'merchant.mid == "M1"' }]
    expect(verdictOf(rules).matched).toEqual([])
    expect(verdictOf(rules, { merchant: { mid: 'M2' } }).matched).toEqual(['r0'])
  })

  it('reads amounts of unless in the currency that when names', () => {
    const rules = [{ when: 'currency == "JPY"', unless: 'amount <= 200' }]
    const of = (amountMinor: number) =>
      verdictOf(rules, { event: { currency: 'JPY', amountMinor } }).matched.length
    expect([of(200), of(201)]).toEqual([0, 1])
  })

  it('is limited to cards, customers and organizations of a list', () => {
    const lists = {
      'lists/some_cards.txt': 'C1\n',
      'lists/some_customers.txt': 'K2\n',
      'lists/some_orgs.txt': 'O1\n',
    }
    const rules = [
      { id: 'cards', when: 'true', cards: 'some_cards' },
      { id: 'customers', when: 'true', customers: 'some_customers' },
      { id: 'organizations', when: 'true', organizations: 'some_orgs' },
      {
        id: 'all-three',
        when: 'true',
        cards: 'some_cards',
        customers: 'some_customers',
        organizations: 'some_orgs',
      },
    ]
    expect(verdictOf(rules, {}, lists).matched).toEqual(['cards'])
    const account = { organizationId: 'O1' }
    expect(verdictOf(rules, { account }, lists).matched).toEqual(['cards', 'organizations'])
    const card = { customerId: 'K2' }
    expect(verdictOf(rules, { card, account }, lists).matched).toHaveLength(4)
    expect(verdictOf(rules, { card: { cardId: 'C2' } }, lists).matched).toEqual([])
  })

  it('leaves out a rule from the day that it expires, in the zone of the pack', () => {
    // In Auckland, 13 hours ahead, 16 November begins at 11:00 UTC on the 15th.
    const beginsMs = Date.UTC(2026, 10, 15, 11)
    const pack = packOfFiles(
      {
        'pack.yaml': 'zone: Pacific/Auckland',
        'a.rules.yaml': rulesText([{ when: 'true', expires: '2026-11-16' }]),
      },
      { nowMs: beginsMs - 1 },
    )
    expect(pack.warnings).toEqual([])
    expect(pack.evaluate(askOf({ atMs: beginsMs - 1 })).matched).toEqual(['r0'])
    expect(pack.evaluate(askOf({ atMs: beginsMs })).matched).toEqual([])
  })

  it('of an expired rule is warned about at load, as of one that never matches', () => {
    const { warnings } = packOfFiles({
      'a.rules.yaml': rulesText([
        { when: 'true', expires: '2026-11-15' },
        { when: 'true', expires: '2026-11-16' },
        { when: '1 > 2' },
        { when: 'true', expires: '2020-01-01', mode: 'off' },
      ]),
    })
    expect(warnings).toEqual([
      { file: 'a.rules.yaml', line: 2, column: 1, message: 'r0 is off: it expired on 2026-11-15' },
      { file: 'a.rules.yaml', line: 16, column: 1, message: 'r2 never matches' },
    ])
  })

  it('reads a window only when a rule comes to it, and once for all rules', () => {
    let reads = 0
    const bucket = {
      index: Math.floor(noonMs / dayMs),
      count: 1,
      get sumMinor() {
        reads++
        return 500
      },
    }
    const ask = (mcc: string) =>
      askOf({
        merchant: { mcc },
        card: { windows: { daily: { merchants: [], buckets: [bucket] } } },
      })
    const pack = packOfFiles({
      'a.rules.yaml': rulesText([
        { when: 'merchant.mcc == "7995" && windows.daily.sum > 1' },
        { when: 'merchant.mcc == "7995" && windows.daily.sum > 2 && windows.daily.count > 0' },
      ]),
    })
    expect(pack.evaluate(ask('5411')).matched).toEqual([])
    expect(reads).toBe(0)
    expect(pack.evaluate(ask('7995')).matched).toEqual(['r0', 'r1'])
    expect(reads).toBe(1)
    expect(pack.evaluate(ask('7995')).matched).toEqual(['r0', 'r1'])
    expect(reads).toBe(2)
  })
})

const seed = Number(process.env.SEED ?? 4711)
const packs = process.env.TORTURE ? 300 : 30

/** A condition of window limits and alternatives, and whether it holds for a count, a sum and an amount. */
type Limit = readonly [
  when: string,
  holds: (count: number, sumMinor: number, amountMinor: number) => boolean,
]

it(`limits of windows and alternatives match as each says, and once (SEED=${seed})`, () => {
  const random = seeded(seed)
  const below = (limit: number) => Math.floor(random() * limit)
  const forms: readonly ((k: number, a: number, b: number) => Limit)[] = [
    (k, a, b) => [
      `windows.daily.count >= ${k} && amount > ${a} || amount > ${b}`,
      (count, _, amount) => (count >= k && amount > a * 100) || amount > b * 100,
    ],
    (k) => [`windows.daily.count > ${k}`, (count) => count > k],
    (k, a) => [
      `windows.daily.sum <= ${k} || windows.daily.count == ${k} || amount < ${a}`,
      (count, sum, amount) => sum <= k * 100 || count === k || amount < a * 100,
    ],
    (k, a) => [
      `merchant.mcc == "5411" && (windows.daily.sum >= ${k} || amount >= ${a})`,
      (_, sum, amount) => sum >= k * 100 || amount >= a * 100,
    ],
    (k, a) => [
      `amount > ${a} && windows.daily.count < ${k}`,
      (count, _, amount) => amount > a * 100 && count < k,
    ],
  ]
  let matches = 0
  for (let n = 0; n < 20; n++) {
    // Few, where no limit is common, and many, of all forms or of one.
    const some = n % 3 === 0 ? forms : [forms[n % forms.length]!]
    const limits = Array.from({ length: n % 2 === 0 ? 10 : 60 }, () =>
      some[below(some.length)]!(1 + below(5), 1 + below(5), 1 + below(5)),
    )
    const pack = packOfFiles({ 'a.rules.yaml': rulesText(limits.map(([when]) => ({ when }))) })
    for (let i = 0; i < 50; i++) {
      const [count, sumMinor, amountMinor] = [below(7), 50 * below(13), 1 + 50 * below(13)]
      const bucket = { index: Math.floor(noonMs / dayMs), count, sumMinor }
      const ask = askOf({
        event: { amountMinor },
        card: { windows: { daily: { merchants: [], buckets: [bucket] } } },
      })
      const due = limits.flatMap(([, holds], r) =>
        holds(count, sumMinor, amountMinor) ? [`r${r}`] : [],
      )
      expect(pack.evaluate(ask).matched, `seed ${seed}, pack ${n}`).toEqual(due)
      matches += due.length
    }
  }
  expect(matches).toBeGreaterThan(1000)
})

it(`the index changes no verdict (SEED=${seed})`, () => {
  const random = seeded(seed)
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)]!
  const values = {
    'merchant.mcc': ['5411', '7995', '4829', ''],
    'merchant.mid': ['M1', 'M2', 'M3'],
    'merchant.country': ['US', 'NG', 'CA', ''],
    currency: ['USD', 'EUR'],
    requestType: ['Authorization', 'PreAuthorization', 'CashWithdrawal'],
  } as const
  const names = Object.keys(values) as (keyof typeof values)[]
  const atom = (): string => {
    const name = pick(names)
    const one = () => JSON.stringify(pick(values[name]))
    const lists =
      name === 'merchant.mcc' ? ['lists.mccs'] : name === 'merchant.mid' ? ['lists.mids'] : []
    const list = lists.length > 0 && random() < 0.3 ? pick(lists) : `[${one()}, ${one()}]`
    return pick([
      `${name} == ${one()}`,
      `${name} in ${list}`,
      `${name} != ${one()}`,
      'hour == 12',
      'foreign',
      'account.posted < account.held',
      `!(${name} == ${one()})`,
    ])
  }
  const condition = (): string => {
    const parts = Array.from({ length: 1 + Math.floor(random() * 4) }, atom)
    return random() < 0.2 ? `(${parts.join(' || ')}) && ${atom()}` : parts.join(' && ')
  }
  let matches = 0
  for (let n = 0; n < packs; n++) {
    const rules = Array.from({ length: 40 }, () => ({
      when: condition(),
      ...(random() < 0.3 ? { unless: condition() } : {}),
      mode: pick(['enforce', 'enforce', 'shadow', 'off']),
      ...(random() < 0.3 ? { on: [pick(values.requestType)] } : {}),
      ...(random() < 0.2 ? { expires: pick(['2026-11-15', '2026-11-16']) } : {}),
      ...(random() < 0.3 ? { rollout: pick(['10%', '50%', '99%', '100%']) } : {}),
    }))
    const files = {
      'a.rules.yaml': rulesText(rules.slice(0, 20).map((rule, i) => ({ ...rule, id: `a${i}` }))),
      'b.rules.yaml': rulesText(rules.slice(20).map((rule, i) => ({ ...rule, id: `b${i}` }))),
      'lists/mccs.txt': '5411\n7995\n',
      'lists/mids.txt': 'M3\n',
    }
    const indexed = packOfFiles(files)
    const plain = packOfFiles(files, { indexed: false })
    for (let i = 0; i < 40; i++) {
      const ask = askOf({
        event: { requestType: pick(values.requestType), currency: pick(values.currency) },
        merchant: {
          mcc: pick(values['merchant.mcc']),
          mid: pick(values['merchant.mid']),
          country: pick(values['merchant.country']),
        },
        account: { heldMinor: pick([0, 1]) },
        card: { cardId: `C${i}` },
      })
      const verdict = indexed.evaluate(ask)
      expect(verdict, `seed ${seed}, pack ${n}`).toEqual(plain.evaluate(ask))
      matches += verdict.matched.length
    }
  }
  expect(matches).toBeGreaterThan(1000)
})
