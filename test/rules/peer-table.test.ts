import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { openAsk } from '../../src/domain/decide/ask.ts'
import { merchantHash } from '../../src/domain/record/familiarity.ts'
import type { WindowStates } from '../../src/domain/record/window-state.ts'
import { factRows } from '../../src/rules/condition/fact-reference.ts'
import { compilePack } from '../../src/rules/load/compiler.ts'
import { readPackFiles } from '../../src/rules/pack/reading.ts'
import { testPack } from '../../src/rules/testing/pack-test.ts'
import { type AskParts, askOf, noonMs, packOfFiles, rulesText } from '../support/rule-world.ts'

const page = readFileSync('rules/README.md', 'utf8')
const lithic = readFileSync('node_modules/lithic/resources/auth-rules/v2/v2.d.ts', 'utf8')

/** The cells of the table against Radar and Lithic. */
const rows = page
  .slice(page.indexOf('| | Radar | Lithic |'))
  .split('\n\n')[0]!
  .split('\n')
  .slice(2)
  .map((line) => line.slice(2, -1).split(' | '))

function quoted(cell: string | undefined): string[] {
  return [...(cell ?? '').matchAll(/`([^`]+)`/g)].map(([, word]) => word!)
}

describe('the table against Radar and Lithic', () => {
  it('names rules of the example that its tests have match and not match, in each line that says more than no', () => {
    const files = readPackFiles('rules/examples/issuer')
    const pack = compilePack(files, 45, { nowMs: Date.UTC(2026, 10, 15), tested: false })
    const { coverage } = testPack(files, pack)
    const covered = coverage.filter(({ matched, unmatched }) => matched > 0 && unmatched > 0)
    const tried = covered.map(({ id }) => id)
    const named = rows.flatMap((cells) => quoted(cells[4]))
    expect(named.length).toBeGreaterThan(20)
    expect(named.filter((id) => !tried.includes(id))).toEqual([])
    const untried = rows.filter(([, , , here, rules]) => {
      const [, tests = ''] = /\((.+\.test\.yaml)\)/.exec(rules ?? '') ?? []
      return !/^no\b/.test(here!) && quoted(rules).length === 0 && !existsSync(`rules/${tests}`)
    })
    expect(untried).toEqual([])
  })

  it('names facts that there are, and in each line rules that look at one of them', () => {
    const facts = factRows().names.map(({ name }) => name)
    const files = readPackFiles('rules/examples/issuer')
    const { rules } = compilePack(files, 45, { tested: false })
    const looksAt = (id: string, fact: string) => {
      const { when, unless = '' } = rules.find((rule) => rule.id === id)!.written
      const text = `${when} ${unless}`.replace('night', 'hour')
      const named = text.replace(/\bwindows\.\w+/g, 'windows.NAME')
      return named.replace(/\bmetadata\.\w+/g, 'metadata.NAME').includes(fact)
    }
    const seen = rows.flatMap(([what, , , here, examples]) => {
      const known = quoted(here).filter((word) => facts.includes(word))
      const unknown = quoted(here).filter((word) => /^\w+_\w+$/.test(word) && !known.includes(word))
      expect([what, unknown]).toEqual([what, []])
      if (known.length === 0) return []
      const looking = quoted(examples).filter((id) => known.some((fact) => looksAt(id, fact)))
      expect([what, looking]).not.toEqual([what, []])
      return known
    })
    expect(seen.length).toBeGreaterThan(15)
  })

  it("has Lithic's words as its library has them", () => {
    const words = rows.flatMap((cells) => cells[2]!.match(/\b[A-Z][A-Z_]{2,}\b/g) ?? [])
    expect(words.length).toBeGreaterThan(20)
    expect(words.filter((word) => !lithic.includes(`'${word}'`))).toEqual([])
    // None of its actions on an authorization approves what another rule declines.
    expect(lithic).not.toContain('ApproveActionAuthorization')
    expect(page).toContain(`0.145.0`)
    expect(readFileSync('node_modules/lithic/package.json', 'utf8')).toContain(
      '"version": "0.145.0"',
    )
  })
})

const windowsFile = `
- { name: asks_15m, scope: card, over: asks, period: { trailing: 15m } }
- { name: asks_1h, scope: card, over: asks, period: { trailing: 1h } }
- { name: asks_24h, scope: card, over: asks, period: { trailing: 24h } }
- { name: declines_15m, scope: card, over: declines, period: { trailing: 15m } }
- { name: declines_1h, scope: card, over: declines, period: { trailing: 1h } }
- { name: declines_24h, scope: card, over: declines, period: { trailing: 24h } }
- { name: usual, scope: card, spread: true, distinct: merchant.country, period: { trailing: 90d } }
- { name: tried, scope: card, over: asks, where: threeDs != "", period: { trailing: 90d } }
- { name: proved, scope: card, over: asks, where: threeDs == "SUCCESS", period: { trailing: 90d } }
`
const minuteMs = 60_000
const dayMs = 86_400_000

/** A window that counted so many asks of 1.00 and 3.00 by turns now, in one country or two. */
function counted(name: string, lengthMs: number, count: number, countries = 0): WindowStates {
  const index = Math.floor((noonMs * 60) / lengthMs)
  const bucket = { index, sumMinor: count * 200, count }
  const merchants = Array.from({ length: countries }, (_, i) => ({
    mid: `N${i}`,
    buckets: [bucket],
  }))
  const spread = { squares: (count / 2) * (100 ** 2 + 300 ** 2), maxMinor: 300 }
  return { [name]: { buckets: [{ ...bucket, spread }], merchants } }
}

const windows = (...states: WindowStates[]): AskParts => ({
  card: { windows: Object.assign({}, ...states) },
})
const counts = (name: string, minutes: number) => {
  const [yes, no] = [5, 4].map((n) => windows(counted(name, minutes * minuteMs, n)))
  return [`windows.${name}.count >= 5`, yes!, no!] as const
}
const detail = (name: string, yes: string): readonly [string, AskParts, AskParts] => [
  `${name} == "${yes}"`,
  { event: { details: { [name]: yes } } },
  {},
]
const merchant = (when: string, yes: object, no: object): readonly [string, AskParts, AskParts] => [
  when,
  { merchant: yes },
  { merchant: no },
]
const card = (when: string, yes: object, no: object): readonly [string, AskParts, AskParts] => [
  when,
  { card: yes },
  { card: no },
]
/** From Lagos to London, or within Lagos, in an hour. */
const travel = (when: string): readonly [string, AskParts, AskParts] => {
  const there = { lastLocation: '6.4541,3.3947', lastLocationAtMs: noonMs - 60 * minuteMs }
  const to = (location: string) => ({ card: there, event: { details: { location } } })
  return [when, to('51.5072,-0.1276'), to('6.6018,3.3515')]
}
const usual = (count: number, countries = 0) => counted('usual', 90 * dayMs, count, countries)

/** What Lithic can look at in an authorization, each as a condition with an ask that meets it and one that does not. */
const said: Record<string, readonly [when: string, yes: AskParts, no: AskParts] | 'no'> = {
  MCC: merchant('merchant.mcc == "7995"', { mcc: '7995' }, { mcc: '5411' }),
  COUNTRY: merchant('merchant.country in ["GB", "FR"]', { country: 'FR' }, { country: 'US' }),
  CURRENCY: [
    'merchantCurrency == "EUR"',
    { event: { merchantCurrency: 'EUR' } },
    { event: { merchantCurrency: 'GBP' } },
  ],
  MERCHANT_ID: merchant('merchant.mid == "M9"', { mid: 'M9' }, { mid: 'M1' }),
  DESCRIPTOR: merchant('merchant.name.matches("(?i)^sq")', { name: 'SQ *A' }, { name: 'A' }),
  LIABILITY_SHIFT: detail('liability', '3DS_AUTHENTICATED'),
  PAN_ENTRY_MODE: ['entryMode == "ECOMMERCE"', { event: { entryMode: 'ECOMMERCE' } }, {}],
  TRANSACTION_AMOUNT: [
    'amount > 50',
    { event: { amountMinor: 5001 } },
    { event: { amountMinor: 5000 } },
  ],
  CASH_AMOUNT: [
    'cashAmount > 50',
    { event: { details: { cashAmount: '50.01' } } },
    { event: { details: { cashAmount: '50.00' } } },
  ],
  RISK_SCORE: [
    'riskScore >= 700',
    { event: { details: { riskScore: '700' } } },
    { event: { details: { riskScore: '699' } } },
  ],
  CARD_TRANSACTION_COUNT_15M: counts('asks_15m', 15),
  CARD_TRANSACTION_COUNT_1H: counts('asks_1h', 60),
  CARD_TRANSACTION_COUNT_24H: counts('asks_24h', 1440),
  CARD_DECLINE_COUNT_15M: counts('declines_15m', 15),
  CARD_DECLINE_COUNT_1H: counts('declines_1h', 60),
  CARD_DECLINE_COUNT_24H: counts('declines_24h', 1440),
  CARD_STATE: card('card.status != "Active"', { status: 'Frozen' }, { status: 'Active' }),
  PIN_ENTERED: detail('pin', 'entered'),
  // The relay's operator maps it.
  PIN_STATUS: [
    'metadata.pin_status == "BLOCKED"',
    { event: { details: { 'metadata.pin_status': 'BLOCKED' } } },
    {},
  ],
  WALLET_TYPE: detail('wallet', 'APPLE_PAY'),
  TRANSACTION_INITIATOR: detail('initiator', 'MERCHANT'),
  ADDRESS_MATCH: detail('avs', 'MISMATCH'),
  SERVICE_LOCATION_STATE: detail('state', 'NY'),
  SERVICE_LOCATION_POSTAL_CODE: detail('postalCode', '10001'),
  CARD_AGE: card('card.age_days < 2', { issuedAtMs: noonMs }, { issuedAtMs: noonMs - 2 * dayMs }),
  ACCOUNT_AGE: [
    'account.age_days < 2',
    { account: { openedAtMs: noonMs } },
    { account: { openedAtMs: noonMs - 2 * dayMs } },
  ],
  AMOUNT_Z_SCORE: [
    'amount > windows.usual.average + windows.usual.deviation * 3',
    { event: { amountMinor: 501 }, ...windows(usual(6)) },
    { event: { amountMinor: 500 }, ...windows(usual(6)) },
  ],
  AVG_TRANSACTION_AMOUNT: [
    'amount > windows.usual.average * 2',
    { event: { amountMinor: 401 }, ...windows(usual(6)) },
    { event: { amountMinor: 400 }, ...windows(usual(6)) },
  ],
  STDEV_TRANSACTION_AMOUNT: [
    'windows.usual.deviation > 0.99',
    windows(usual(6)),
    windows(counted('tried', 90 * dayMs, 6)),
  ],
  IS_NEW_COUNTRY: [
    '!country_seen',
    { merchant: { country: 'GB' }, card: { seenCountries: 'US' } },
    { merchant: { country: 'US' }, card: { seenCountries: 'US' } },
  ],
  IS_NEW_MCC: [
    '!mcc_seen',
    { merchant: { mcc: '7995' }, card: { seenMccs: '5411' } },
    { merchant: { mcc: '5411' }, card: { seenMccs: '5411' } },
  ],
  IS_FIRST_TRANSACTION: card(
    'minutes_since_last_ask >= 525600',
    { lastAskAtMs: 0 },
    { lastAskAtMs: noonMs - 1 },
  ),
  CONSECUTIVE_DECLINES: card('declines_in_row >= 3', { declinesInRow: 3 }, { declinesInRow: 2 }),
  TIME_SINCE_LAST_TRANSACTION: card(
    'minutes_since_last_place > 43200',
    { lastPlaceAtMs: noonMs - 31 * dayMs },
    { lastPlaceAtMs: noonMs - 30 * dayMs },
  ),
  DISTINCT_COUNTRY_COUNT: [
    'windows.usual.distinct >= 2',
    windows(usual(6, 2)),
    windows(usual(6, 1)),
  ],
  IS_NEW_MERCHANT: card('!merchant_seen', {}, { seenMerchants: merchantHash('M1') }),
  THREE_DS_SUCCESS_RATE: [
    'windows.proved.count * 2 < windows.tried.count',
    windows(counted('tried', 90 * dayMs, 5), counted('proved', 90 * dayMs, 2)),
    windows(counted('tried', 90 * dayMs, 4), counted('proved', 90 * dayMs, 2)),
  ],
  TRAVEL_SPEED: travel('speed_kmh > 900'),
  DISTANCE_FROM_LAST_TRANSACTION: travel('distance_km > 4000'),
}

describe("what Lithic's conditions can look at in an authorization", () => {
  const declared = lithic
    .split('\n')
    .find((line) => line.includes('attribute: ') && line.includes("'CARD_AGE'"))!
    .match(/'[A-Z0-9_]+'/g)!
    .map((word) => word.slice(1, -1))
  const sayable = Object.entries(said).flatMap(([name, one]) =>
    one === 'no' ? [] : [[name, one] as const],
  )

  it('is all of this, and the page names what cannot be said here', () => {
    expect(Object.keys(said).sort()).toEqual([...declared].sort())
    const unsaid = Object.keys(said).filter((name) => said[name] === 'no')
    expect(page).toContain(`All ${declared.length} attributes`)
    expect(unsaid.filter((name) => !page.includes(name))).toEqual([])
  })

  it.each(sayable)('%s: is said by a condition', (_name, [when, yes, no]) => {
    const pack = packOfFiles({ 'windows.yaml': windowsFile, 'a.rules.yaml': rulesText([{ when }]) })
    const matched = [yes, no].map((parts) => pack.evaluate(askOf(parts)).matched.length > 0)
    expect(matched).toEqual([true, false])
  })

  it.each([
    ['REPLACE_WITH_AMOUNT', 'fixed: 50', { fixedMinor: 5000 }],
    ['ADD_PERCENTAGE', 'plusPercent: 20', { plusMillionths: 200_000 }],
    ['ADD_AMOUNT', 'plusAmount: 5', { plusMinor: 500 }],
  ])('%s: is an adjustment of a hold under any of them', (mode, adjustment, due) => {
    expect(lithic).toContain(`'${mode}'`)
    const when = JSON.stringify('initiator == "MERCHANT" && card.age_days < 2')
    const pack = packOfFiles({ 'pack.yaml': `holdAdjustments: [{ when: ${when}, ${adjustment} }]` })
    const adjusted = (details: Record<string, string>) => {
      const { event, atMs, ...records } = askOf({ event: { details } })
      const view = { ...records, linked: null, event: null, eventKey: 'e' } as never
      return openAsk(event, view, pack, atMs).adjustment
    }
    expect(adjusted({ initiator: 'MERCHANT' })).toMatchObject(due)
    expect(adjusted({ initiator: 'CARDHOLDER' })).toBeNull()
  })
})
