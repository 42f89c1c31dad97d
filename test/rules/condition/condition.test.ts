import { describe, expect, it } from 'vitest'
import {
  type AskParts,
  askOf,
  noonMs,
  packOfFiles,
  reportOf,
  rulesText,
} from '../../support/rule-world.ts'

const more = {
  'windows.yaml': '- { name: hourly, scope: card, over: asks, period: { trailing: 1h } }',
  'lists/gambling.txt': '7995\n7801\n',
}

function matches(when: string, ask: AskParts, settings = '{}'): boolean {
  const rules = rulesText([{ when }])
  const pack = packOfFiles({ 'pack.yaml': settings, 'a.rules.yaml': rules, ...more })
  const ours = { ...ask, merchant: { country: 'US', ...ask.merchant } }
  return pack.evaluate(askOf(ours)).matched.length > 0
}

const usd = (amountMinor: number): AskParts => ({ event: { amountMinor } })
const merchant = (given: AskParts['merchant']): AskParts => ({ merchant: given! })

/** The condition is on the third line, from the tenth column. */
function reportOfCondition(when: string): string[] {
  const text = `- id: a\n  why: w\n  when: '${when}'\n  decline: "127"\n`
  return reportOf({ 'a.rules.yaml': text, ...more })
}

describe('a list that a condition names', () => {
  const reportOfList = (fact: string, text: string) => {
    const rules = rulesText([{ when: `${fact} in lists.l` }])
    return reportOf({ 'a.rules.yaml': rules, 'lists/l.txt': text }).join()
  }

  it.each([
    [
      'merchant.country',
      '# sanctions\nUS\nRUS # since May\n',
      'merchant.country is an ISO 3166 alpha-2 country, never RUS at lists/l.txt:3: did you mean RU?',
    ],
    [
      'merchant.mcc',
      '5411\n742\n',
      'merchant.mcc is four digits, never 742 at lists/l.txt:2: did you mean 0742?',
    ],
    [
      'card.type',
      'retial\n',
      'card.type is one of retail, corporate, lite, never retial at lists/l.txt:1: did you mean retail?',
    ],
  ])('has only values that %s can have', (fact, text, fault) => {
    expect(reportOfList(fact, text)).toContain(fault)
  })

  it('may have any text where the fact has no form', () => {
    const files = { 'a.rules.yaml': rulesText([{ when: 'merchant.mid in lists.l' }]) }
    expect(packOfFiles({ ...files, 'lists/l.txt': 'RUS\n541\n' }).rules).toHaveLength(1)
  })
})

describe('a condition', () => {
  it.each<[string, AskParts, AskParts]>([
    ['amount > 200', usd(20_001), usd(20_000)],
    ['amount >= 200.01', usd(20_001), usd(20_000)],
    ['200 < amount', usd(20_001), usd(20_000)],
    ['amount == 12.50', usd(1250), usd(1251)],
    ['amount != 12.5', usd(1251), usd(1250)],
    ['amount <= 0.3 && amount >= 0.1 + 0.2', usd(30), usd(31)],
    ['amount * 1.1 > 110', usd(10_001), usd(10_000)],
    ['amount * 3 - 10 == 2', usd(400), usd(401)],
    ['-amount < -5', usd(501), usd(500)],
    ['amount > (foreign ? 5 : 10)', { ...usd(501), ...merchant({ country: 'NG' }) }, usd(501)],
    ['amount in [5, 7.25]', usd(725), usd(726)],
    ['hour == 12', {}, { atMs: 0 }],
    ['hour * 2 + 1 in [25, 26]', {}, { atMs: 0 }],
    ['hour in [12.0, 12.5]', {}, { atMs: 0 }],
    ['weekday in ["sat", "sun"]', {}, { atMs: 0 }],
    ['merchant.name > "\uff5e"', merchant({ name: '\u{1f600}' }), merchant({ name: '\uff5e' })],
    [
      'merchant.name <= "\u{1f600}"',
      merchant({ name: '\uff5ez' }),
      merchant({ name: '\u{1f600}a' }),
    ],
    ['merchant.mcc in lists.gambling', merchant({ mcc: '7801' }), merchant({ mcc: '5411' })],
    ['!(merchant.mcc in ["5411", "5412"])', merchant({ mcc: '7801' }), merchant({ mcc: '5411' })],
    [
      'merchant.mcc >= "3000" && merchant.mcc < "3300"',
      merchant({ mcc: '3299' }),
      merchant({ mcc: '3300' }),
    ],
    [
      'merchant.country in [account.country, "CA"]',
      merchant({ country: 'US' }),
      merchant({ country: 'MX' }),
    ],
    ['merchant.name.startsWith("Sh")', merchant({ name: 'Shop' }), merchant({ name: 'shop' })],
    ['merchant.name.endsWith("op")', merchant({ name: 'Shop' }), merchant({ name: 'Shops' })],
    ['merchant.name.contains("ho")', merchant({ name: 'Shop' }), merchant({ name: 'Sop' })],
    ['size(merchant.name) == 2', merchant({ name: '😀a' }), merchant({ name: '😀' })],
    ['merchant.name.size() > 2', merchant({ name: 'abc' }), merchant({ name: 'ab' })],
    ['has(merchant.city)', merchant({ city: 'Lagos' }), merchant({ city: '' })],
    ['has(final) && !final', { event: { final: false } }, { event: { final: null } }],
    ['has(card.dailyLimit)', { card: { dailyLimitMinor: 0 } }, { card: { dailyLimitMinor: null } }],
    [
      'card.contactlessPayment',
      { card: { contactlessPayment: true } },
      { card: { contactlessPayment: false } },
    ],
    ['has(card.age_days)', { card: { issuedAtMs: 1 } }, { card: { issuedAtMs: 0 } }],
    [
      'card.age_days < 1',
      { card: { issuedAtMs: noonMs - 86_399_999 } },
      { card: { issuedAtMs: noonMs - 86_400_000 } },
    ],
    [
      'account.age_days >= 2',
      { account: { openedAtMs: noonMs - 2 * 86_400_000 } },
      { account: { openedAtMs: noonMs - 2 * 86_400_000 + 1 } },
    ],
    [
      'card.issued in ["reissue-shared", "imported"]',
      { card: { issued: 'reissue-shared' } },
      { card: { issued: 'reissue-own' } },
    ],
    ['card.issued == ""', { card: { issued: '' } }, { card: { issued: 'new' } }],
    [
      'card.metadata.costCentre == "a"',
      { card: { metadata: ['b', 'costCentre', 'costCentre', 'a'] } },
      { card: { metadata: ['costCentre', 'b', 'a', 'a'] } },
    ],
    [
      'has(card.metadata.tier)',
      { card: { metadata: ['tier', 'a'] } },
      { card: { metadata: ['other', 'tier'] } },
    ],
    [
      'customer.type == "business"',
      { card: { customerType: 'business' } },
      { card: { customerType: 'individual' } },
    ],
    [
      'has(customer.type)',
      { card: { customerType: 'individual' } },
      { card: { customerType: '' } },
    ],
    ['card.dailyLimit == 0', { card: { dailyLimitMinor: null } }, { card: { dailyLimitMinor: 1 } }],
    ['partialApprovalSupported == foreign', {}, merchant({ country: 'NG' })],
    ['partialApprovalSupported != true', {}, { event: { partialApprovalSupported: true } }],
    ['foreign ? hour > 12 : hour < 13', {}, merchant({ country: 'NG' })],
    [
      '(foreign ? merchant.city : merchant.name) == "x"',
      merchant({ name: 'x' }),
      merchant({ country: 'NG', name: 'x' }),
    ],
    [
      'amount > account.available * 0.5',
      { ...usd(51), account: { postedMinor: 100 } },
      { ...usd(50), account: { postedMinor: 100 } },
    ],
    [
      'account.available < -5',
      { account: { postedMinor: -501 } },
      { account: { postedMinor: -500 } },
    ],
    [
      'transaction.authorized + amount > 1',
      { ...usd(60), transaction: { authorizedMinor: 60 } },
      usd(60),
    ],
    ['currency == "EUR" && amount > 1', { event: { currency: 'EUR', amountMinor: 101 } }, usd(101)],
    [
      'account.currency == "JPY" && amount > 100',
      { event: { currency: 'JPY', amountMinor: 101 } },
      { event: { currency: 'JPY', amountMinor: 100 } },
    ],
    [
      'currency == "JPY" && amount > 100 || currency == "EUR" && amount > 1',
      { event: { currency: 'EUR', amountMinor: 101 } },
      { event: { currency: 'JPY', amountMinor: 100 } },
    ],
    [
      'currency in ["EUR", "GBP"] && amount > 1',
      { event: { currency: 'GBP', amountMinor: 101 } },
      { event: { currency: 'CHF', amountMinor: 101 } },
    ],
    [
      'merchantCurrency == "KWD" && merchantAmount > 1',
      { event: { merchantCurrency: 'KWD', merchantAmountMinor: 1001 } },
      { event: { merchantCurrency: 'KWD', merchantAmountMinor: 1000 } },
    ],
    ['size(lists.gambling) == 2 && size([1, 2]) == 2 && hour > 0', {}, { atMs: 0 }],
    [
      'windows.hourly.count >= 2',
      {
        card: {
          windows: {
            hourly: {
              merchants: [],
              buckets: [
                { index: Math.floor(Date.UTC(2026, 10, 15, 12) / 60_000), sumMinor: 300, count: 2 },
              ],
            },
          },
        },
      },
      {},
    ],
    [
      'windows.hourly.sum > 2 && windows.hourly.sum + amount > 3',
      {
        card: {
          windows: {
            hourly: {
              merchants: [],
              buckets: [
                { index: Math.floor(Date.UTC(2026, 10, 15, 12) / 60_000), sumMinor: 300, count: 2 },
              ],
            },
          },
        },
      },
      {},
    ],
    [
      'windows.daily.sum == 0',
      {},
      {
        card: {
          windows: {
            daily: {
              merchants: [],
              buckets: [
                { index: Math.floor(Date.UTC(2026, 10, 15) / 86_400_000), sumMinor: 1, count: 1 },
              ],
            },
          },
        },
      },
    ],
  ])('%s holds for the one and not for the other', (when, yes, no) => {
    expect([matches(when, yes), matches(when, no)]).toEqual([true, false])
  })

  const refused: [string, string][] = [
    ['merchant.mmc == "1"', '3:10 when: merchant.mmc is not known: did you mean merchant.mcc?'],
    ['amuont > 2', '3:10 when: amuont is not known: did you mean amount?'],
    [
      'merchant == "x"',
      '3:10 when: merchant is no value: name one of merchant.mid, merchant.mcc, merchant.name, merchant.city, merchant.country',
    ],
    [
      'merchant.mcc in lists.gamblin',
      '3:26 when: there is no list gamblin, lists/gamblin.txt: did you mean gambling?',
    ],
    [
      'merchant.mcc in lists.gambling.txt',
      '3:26 when: lists.gambling.txt is not known: a list is named lists.gambling, and only after in or in size()',
    ],
    [
      'windows.hourli.sum > 2',
      '3:10 when: there is no window hourli in windows.yaml: did you mean hourly?',
    ],
    [
      'windows.hourly.summ > 2',
      '3:10 when: windows.hourly.summ is not known: did you mean windows.hourly.sum?',
    ],
    ['amount > hour', '3:19 when: hour is a number and amount is money'],
    ['amount > merchantAmount', '3:10 when: amount and merchantAmount are in different currencies'],
    ['amount > "5"', `3:10 when: amount is money and "5" is a text: they cannot be compared`],
    ['amount * amount > 5', '3:10 when: money times money is no amount'],
    ['amount > 1.234', '3:19 when: 1.234 has too many decimals for an amount in USD'],
    ['amount > 99999999999999', '3:19 when: 99999999999999 has too many digits'],
    ['hour > 1234567890123456', '3:17 when: 1234567890123456 has too many digits'],
    ['hour > 0.1234567891', '3:17 when: 0.1234567891 has too many decimals'],
    ['hour > 1e400', '3:17 when: 1e400 is no number here: write digits, such as 200 or 12.50'],
    ['hour > 1e3', '3:17 when: 1e3 is no number here: write digits, such as 200 or 12.50'],
    ['merchantAmount > 5', '3:27 when: name the currency of 5: merchantCurrency == "EUR" && …'],
    [
      'currency != "USD" && amount > 5',
      '3:40 when: name the currency of 5 beside it: currency == "USD" && …',
    ],
    [
      'currency == "EUR" || amount > 5',
      '3:40 when: name the currency of 5 beside it: currency == "USD" && …',
    ],
    [
      'currency in ["EUR", "JPY"] && amount > 5',
      '3:49 when: 5 is not the same in EUR and JPY: name one currency',
    ],
    ['currency == "EURO"', '3:22 when: currency is an ISO 4217 currency, never "EURO"'],
    [
      'card.status == "Activ"',
      '3:25 when: card.status is one of Active, Frozen, Terminated, never "Activ": did you mean Active?',
    ],
    [
      'merchant.mcc in ["541"]',
      '3:27 when: merchant.mcc is four digits, never "541": did you mean 0541?',
    ],
    ['merchant.name.constructor("x")', '3:10 when: constructor() is not known'],
    ['constructor == "EUR"', '3:10 when: constructor is not known'],
    ['amount / 2 > 5', '3:10 when: / is not allowed: multiply the other side instead'],
    ['hour % 2 == 0', '3:10 when: % is not allowed'],
    ['merchant.name', '3:10 when: merchant.name is a text, and a yes or no is needed'],
    ['merchant.name + 1 == 2', '3:10 when: merchant.name is a text, and a number is needed'],
    ['foreign > true', '3:10 when: foreign is a yes or no: it has no >'],
    [
      'hour in lists.gambling',
      '3:10 when: hour is a number, and lists.gambling is a list of texts',
    ],
    ['hour in hour', '3:18 when: hour is a number, and a list is needed'],
    ['final == null', '3:19 when: null is not allowed: has(field) tells what is absent'],
    ['[1, 2].exists(x, x > 1)', '3:10 when: exists() is not known'],
    ['sise(merchant.name) > 1', '3:10 when: sise() is not known: did you mean size?'],
    ['has(merchant.ctiy)', '3:14 when: merchant.ctiy is not known: did you mean merchant.city?'],
    [
      'foreign ? 1 : "x"',
      '3:20 when: 1 is a number and "x" is a text: a choice is between two of a kind',
    ],
    ['amount > 5 &&', '3:22 when: ends where a value is missing'],
    ['(amount > 5', '3:20 when: ends where ) is missing'],
    ['(amount > 5]', '3:21 when: has ] where ) should be'],
    ['amount > * 5', '3:19 when: has * where a value should be'],
    [
      'foreign final',
      '3:18 when: final cannot stand here: between two values stands an operator, such as && or ==',
    ],
    ['merchant.name == "\\d"', '3:28 when: has \\d in a text: write \\\\d'],
    ['merchant.mcc in ("5541", "5542")', '3:23 when: write x in [a, b], with square brackets'],
    ['merchant.mcc in @fuel', '3:26 when: write lists.NAME for a list'],
    [
      ':country: == "US"',
      '3:10 when: has a name between colons: write the name alone, as rules facts lists it',
    ],
    ['riskScore is null', '3:20 when: write has(x) or !has(x) for what is there or not'],
    ['amount > 5 AND foreign', '3:21 when: write && for and'],
    [
      'amount > 5 NOT IN [1]',
      '3:21 when: write !(x in y) for not in, with quotes around the whole condition',
    ],
    [
      'amount > 5 USD',
      '3:20 when: write the amount alone, and currency == "EUR" beside it where it is another one',
    ],
    ['amount > $50', '3:19 when: has the sign of a currency: write the amount alone'],
    ['amount > 1,000', '3:19 when: has a comma in a number: write 1000 or 12.50'],
    [
      'windows.hourly.max > 5',
      '3:10 when: the window hourly keeps no max: give it spread: true in windows.yaml',
    ],
    [
      '"open',
      '3:10 when: has a quote that never closes; YAML takes a # after a space for a comment, so put the whole condition in quotes',
    ],
  ]
  it.each(refused)('%s is refused', (when, report) => {
    expect(reportOfCondition(when)).toEqual([`a.rules.yaml:${report}`])
  })

  it.each([
    ['deep', `${'('.repeat(40)}foreign${')'.repeat(40)}`, '3:42 when: is nested deeper than 32'],
    [
      'long',
      `${'!'.repeat(3999)}foreign`,
      '3:10 when: is longer than 4000 characters: put values into a list',
    ],
    [
      'large',
      Array.from({ length: 1100 }, () => '1').join('<'),
      '3:10 when: has more than 2000 parts',
    ],
    [
      'wide',
      `hour in [${'1,'.repeat(501)}]`,
      '3:1019 when: has a list of more than 500 values: put them into lists/NAME.txt',
    ],
  ])('that is too %s is refused', (_what, when, report) => {
    expect(reportOfCondition(when)).toEqual([`a.rules.yaml:${report}`])
  })

  it.each([
    ['negations', (n: number) => `${'!'.repeat(n)}foreign`],
    ['signs', (n: number) => `${'-'.repeat(n)}amount != 0`],
    ['sums', (n: number) => `amount${' + 1'.repeat(n)} > 0`],
  ])('of 190 %s within each other is taken, of 201 refused', (_what, condition) => {
    expect(matches(condition(190), merchant({ country: 'NG' }))).toBe(true)
    expect(reportOfCondition(condition(201))).toEqual([
      expect.stringMatching(/when: has more than 200 operators within each other$/),
    ])
  })

  it.each(['&&', '||'])('of 200 parts joined by %s is taken', (op) => {
    const condition = Array.from({ length: 200 }, () => 'foreign').join(op)
    expect(matches(condition, merchant({ country: 'NG' }))).toBe(true)
  })

  it('tells all its faults at once', () => {
    const text = `- id: a\n  why: w\n  when: amuont > 2 && hour > "x"\n  unless: foriegn\n  decline: "127"`
    expect(reportOf({ 'a.rules.yaml': text })).toEqual([
      'a.rules.yaml:3:9 when: amuont is not known: did you mean amount?',
      'a.rules.yaml:3:23 when: hour is a number and "x" is a text: they cannot be compared',
      'a.rules.yaml:4:11 unless: foriegn is not known: did you mean foreign?',
    ])
  })

  it.each([
    ['plain over lines', '  when: hour > 1 &&\n    forein', '4:5'],
    ['folded', '  when: >-\n    hour > 1 &&\n    forein', '5:5'],
    ['literal', '  when: |\n    hour > 1\n    && forein', '5:8'],
    ['single quotes', "  when: 'card.id == ''x'' && forein'", '3:30'],
    ['double quotes', '  when: "card.id == \\"x\\" && forein"', '3:30'],
  ])('tells the place of a fault in a text written in %s', (_style, when, place) => {
    const text = `- id: a\n  why: w\n${when}\n  decline: "127"`
    expect(reportOf({ 'a.rules.yaml': text })).toEqual([
      `a.rules.yaml:${place} when: forein is not known: did you mean foreign?`,
    ])
  })

  it('applies to the currency of the pack when it compares money and names none', () => {
    const jpy = { event: { currency: 'JPY', amountMinor: 300 } }
    expect(matches('amount > 2', jpy)).toBe(false)
    expect(matches('!(amount > 20000)', jpy)).toBe(false)
    expect(matches('amount > 200', jpy, 'currency: JPY')).toBe(true)
    expect(matches('hour == 12', jpy)).toBe(true)
  })
})

describe('an operator of another language', () => {
  it.each([
    ['foreign and amount > 7', '3:18 when: write && for and'],
    ['foreign OR amount > 7', '3:18 when: write || for or'],
    ['merchant.mcc = "7995"', '3:23 when: write == for what is equal'],
    ['merchant.name == "a and b" && amount <> 3', '3:47 when: write != for what differs'],
    ['amount > 1_000', '3:19 when: has _ in a number: write its digits only'],
    ['merchant.name == “x”', '3:27 when: has typographic quotes: write " or \''],
    [`${'('.repeat(33)}foreign${')'.repeat(33)}`, '3:42 when: is nested deeper than 32'],
  ])('%s is answered with ours', (when, line) => {
    expect(reportOfCondition(when)).toEqual([`a.rules.yaml:${line}`])
  })
})

describe('a limit outside of what a fact can be', () => {
  const shops = {
    'windows.yaml':
      '- { name: shops, scope: card, over: asks, distinct: true, period: { trailing: 1h } }',
  }
  const reported = (when: string) =>
    reportOf({ ...shops, 'a.rules.yaml': `- { id: a, why: w, decline: "127", when: '${when}' }` })

  it.each([
    [
      'windows.shops.distinct >= 2001',
      'windows.shops.distinct is at most 2000: >= 2001 is never true',
    ],
    [
      '2000 < windows.shops.distinct',
      'windows.shops.distinct is at most 2000: > 2000 is never true',
    ],
    [
      'windows.shops.distinct == 65',
      'windows.shops.distinct is an estimate above 64, which may pass over 65: compare by >= or <=',
    ],
    ['windows.shops.distinct in [64, 90]', 'is an estimate above 64, which may pass over 90'],
    ['hour == 24 || foreign', 'hour is at most 23: == 24 is never true'],
    ['hour in [22, 23, 24]', 'hour is at most 23: == 24 is never true'],
    ['amount < 0', 'amount is never below 0: < 0 is never true'],
    ['amount > 10000000000', 'amount is never so much: > 10000000000 is never true'],
  ])('%s is refused', (when, says) => {
    expect(reported(when)).toEqual([expect.stringContaining(says)])
  })

  it.each([
    'windows.shops.distinct >= 65',
    'windows.shops.distinct == 64',
    'windows.shops.distinct >= 2000',
    'account.available < 0',
    'hour == 23',
    'amount <= 0',
  ])('%s is taken', (when) => {
    expect(reported(when)).toEqual([])
  })

  it('that it always keeps decides nothing, and a rule of it alone is warned about', () => {
    const text = rulesText([{ when: 'hour >= 0' }, { when: 'hour >= 0 && foreign' }])
    const { warnings, rules } = packOfFiles({ 'a.rules.yaml': text })
    expect(warnings.map(({ message }) => message)).toEqual(['r0 always matches'])
    expect(rules[1]!.condition.op).toBe('flag')
    const cash = rulesText([{ when: true, on: ['CashWithdrawal'] }])
    expect(packOfFiles({ 'a.rules.yaml': cash }).warnings).toEqual([])
  })
})
