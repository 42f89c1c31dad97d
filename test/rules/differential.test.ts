import { isDeepStrictEqual } from 'node:util'
import { Environment } from '@marcbachmann/cel-js'
import { expect, it } from 'vitest'
import type { Allowance, AskFacts, RuleVerdict } from '../../src/domain/decide/pack.ts'
import { merchantHash } from '../../src/domain/record/familiarity.ts'
import type { ResponseCode } from '../../src/domain/record/response-code.ts'
import type { WindowState } from '../../src/domain/record/window-state.ts'
import { seeded } from '../support/order.ts'
import { askOf, noonMs, packOfFiles, reportOf } from '../support/rule-world.ts'

/**
 * Conditions over facts, judged by our closures and by the evaluator of the library. Where its
 * meaning is another one, the expressions keep away: it has two kinds of number and no money. So in
 * yen all are integers, and in dollars amounts are whole quarters, which a double has exactly.
 */
const seed = Number(process.env.SEED ?? 20_261_115)
const packs = 120
const rulesPerPack = 30
const asksPerPack = 8

const lists = { few: ['5411', 'M1', 'Shop'], none: [] as string[] }
const texts = ['5411', '7995', 'M1', 'M2', 'Shop', 'op', '', 'NG', 'US', 'Sh']
const textFacts = [
  ...['merchant.name', 'merchant.mid', 'merchant.city', 'channel', 'card.id'],
  ...['last_city', 'wallet', 'metadata.kind', 'lower(merchant.name)'],
]
const moneyFacts = [
  ...['amount', 'account.posted', 'transaction.settled', 'windows.w.sum'],
  ...['windows.s.average', 'windows.s.deviation', 'windows.s.max'],
]
const numberFacts = [
  ...['hour', 'transaction.asks', 'windows.w.count', 'windows.s.distinct'],
  ...['declines_in_row', 'minutes_since_last_place', 'riskScore', 'card.age_days'],
]
const flags = [
  ...['foreign', 'partialApprovalSupported', 'final'],
  ...['merchant_seen', 'mcc_seen', 'country_changed', '(wallet != "")'],
]

interface Style {
  readonly currency: string
  /** An amount of minor units, as the library has to see it. */
  readonly native: (minor: number) => bigint | number
  readonly moneyLiteral: (random: () => number) => string
}

const styles: Style[] = [
  {
    currency: 'JPY',
    native: BigInt,
    moneyLiteral: (random) => String(pick([0, 1, 2, 3, 7, 50], random)),
  },
  {
    currency: 'USD',
    native: (minor) => minor / 100,
    moneyLiteral: (random) => pick(['0.0', '0.25', '0.5', '1.0', '1.75', '12.50'], random),
  },
]

function pick<T>(values: readonly T[], random: () => number): T {
  return values[Math.floor(random() * values.length)]!
}

function createWriter(style: Style, random: () => number) {
  const chance = (share: number) => random() < share
  const number = (depth: number): string => {
    if (depth <= 0 || chance(0.4))
      return chance(0.5) ? pick(numberFacts, random) : String(pick([0, 1, 2, 3, 12, 25], random))
    if (chance(0.2)) return `size(${text(depth - 1)})`
    if (chance(0.15)) return `(${test(depth - 1)} ? ${number(depth - 1)} : ${number(depth - 1)})`
    if (chance(0.1)) return `(-${number(depth - 1)})`
    return `(${number(depth - 1)} ${pick(['+', '-', '*'], random)} ${number(depth - 1)})`
  }
  /** Begins with a fact: what has none would be a number. */
  const money = (depth: number): string => {
    if (depth <= 0 || chance(0.5)) return pick(moneyFacts, random)
    if (chance(0.2)) return `(${test(depth - 1)} ? ${money(depth - 1)} : ${money(depth - 1)})`
    if (chance(0.3)) return `(${money(depth - 1)} * ${style.currency === 'JPY' ? '3' : '2.5'})`
    const other = chance(0.5) ? money(depth - 1) : style.moneyLiteral(random)
    return `(${money(depth - 1)} ${pick(['+', '-'], random)} ${other})`
  }
  const text = (depth: number): string => {
    if (depth > 0 && chance(0.1))
      return `(${test(depth - 1)} ? ${text(depth - 1)} : ${text(depth - 1)})`
    return chance(0.6) ? pick(textFacts, random) : JSON.stringify(pick(texts, random))
  }
  const many = (one: () => string) =>
    `[${Array.from({ length: 1 + Math.floor(random() * 4) }, one).join(', ')}]`
  const comparison = () => pick(['==', '!=', '<', '<=', '>', '>='], random)
  const test = (depth: number): string => {
    const kind = depth <= 0 ? 3 + Math.floor(random() * 7) : Math.floor(random() * 10)
    switch (kind) {
      case 0:
      case 1:
        return `(${test(depth - 1)} ${pick(['&&', '||'], random)} ${test(depth - 1)})`
      case 2:
        if (chance(0.3)) return `(${test(depth - 1)} ? ${test(depth - 1)} : ${test(depth - 1)})`
        return chance(0.5)
          ? `!${test(depth - 1)}`
          : `(${test(depth - 1)} ${pick(['==', '!='], random)} ${test(depth - 1)})`
      case 3:
        return chance(0.3) ? pick(['true', 'false'], random) : pick(flags, random)
      case 4:
        return `${number(depth)} ${comparison()} ${number(depth)}`.replace(/^(.*)$/, '($1)')
      case 5:
        return `(${money(depth)} ${comparison()} ${chance(0.5) ? money(depth) : style.moneyLiteral(random)})`
      case 6:
        return `(${text(depth)} ${comparison()} ${text(depth)})`
      case 7:
        return `${text(depth)}.${pick(['startsWith', 'endsWith', 'contains'], random)}(${text(depth)})`
      case 8:
        return `(${text(depth)} in ${chance(0.4) ? pick(['lists.few', 'lists.none'], random) : many(() => text(0))})`
      default:
        if (chance(0.5)) return `(${number(depth)} in ${many(() => number(0))})`
        return `(${money(0)} in ${many(() => (chance(0.3) ? money(0) : style.moneyLiteral(random)))})`
    }
  }
  return test
}

function randomAsk({ currency }: Style, random: () => number): AskFacts {
  const minor = () => Math.floor(random() * 8) * (currency === 'USD' ? 25 : 1)
  const bucket = Math.floor(noonMs / 60_000)
  const lowMinor = minor()
  return askOf({
    event: {
      currency,
      amountMinor: minor(),
      channel: pick(texts, random),
      final: pick([true, false, null], random),
      partialApprovalSupported: random() < 0.5,
      details: {
        wallet: pick(texts, random),
        riskScore: String(pick([0, 2, 12], random)),
        'metadata.kind': pick(texts, random),
      },
    },
    merchant: {
      name: pick(texts, random),
      mid: pick(texts, random),
      city: pick(texts, random),
      country: pick(['NG', 'US', ''], random),
    },
    card: {
      cardId: pick(texts, random),
      seenMerchants: random() < 0.5 ? merchantHash('M1') : '',
      seenMccs: random() < 0.5 ? '79955411' : '7995',
      declinesInRow: Math.floor(random() * 4),
      lastCountry: pick(['NG', 'US', ''], random),
      lastCity: pick(texts, random),
      lastPlaceAtMs: noonMs - pick([1, 2, 25], random) * 60_000,
      issuedAtMs: noonMs - pick([1, 3], random) * 86_400_000,
      windows: {
        s: spreadState(lowMinor, 1 + Math.floor(random() * 3)),
        w: {
          merchants: [],
          buckets: [{ index: bucket, sumMinor: minor(), count: 1 + Math.floor(random() * 3) }],
        },
      },
    },
    account: { postedMinor: minor() - 50 },
    transaction: { settledMinor: minor() },
    atMs: noonMs,
  })
}

/** Two asks that lie 50 minor units apart, so that their mean is a whole quarter too. */
function spreadState(lowMinor: number, merchants: number): WindowState {
  const index = Math.floor((noonMs * 60) / (7 * 86_400_000))
  const amounts = [lowMinor, lowMinor + 50]
  const squares = amounts.reduce((sum, minor) => sum + minor * minor, 0)
  const counted = { index, sumMinor: 2 * lowMinor + 50, count: 2 }
  return {
    buckets: [{ ...counted, spread: { squares, maxMinor: lowMinor + 50 } }],
    merchants: Array.from({ length: merchants }, (_, i) => {
      return { mid: `S${i}`, buckets: [{ index, sumMinor: 1, count: 1 }] }
    }),
  }
}

function nativeFacts(ask: AskFacts, { native }: Style): Record<string, unknown> {
  const { event, card, account, transaction } = ask
  const [bucket] = card.windows.w!.buckets
  const { country, mid } = event.merchant
  const { wallet = '', riskScore = '0', 'metadata.kind': kind = '' } = event.details ?? {}
  const [spread] = card.windows.s!.buckets
  return {
    wallet,
    riskScore: BigInt(riskScore),
    metadata: { kind },
    merchant_seen: card.seenMerchants !== '' && mid === 'M1',
    mcc_seen: card.seenMccs.endsWith(event.merchant.mcc),
    country_changed: ![card.lastCountry, country].includes('') && card.lastCountry !== country,
    last_city: card.lastCity,
    declines_in_row: BigInt(card.declinesInRow),
    minutes_since_last_place: BigInt((noonMs - card.lastPlaceAtMs) / 60_000),
    amount: native(event.amountMinor!),
    channel: event.channel,
    final: event.final === true,
    partialApprovalSupported: event.partialApprovalSupported,
    foreign: country !== '' && country !== account.country,
    hour: 12n,
    merchant: { ...event.merchant },
    card: { id: card.cardId, age_days: BigInt((noonMs - card.issuedAtMs) / 86_400_000) },
    account: { posted: native(account.postedMinor) },
    transaction: { settled: native(transaction.settledMinor), asks: 0n },
    windows: {
      w: { sum: native(bucket!.sumMinor), count: BigInt(bucket!.count) },
      s: {
        distinct: BigInt(card.windows.s!.merchants.length),
        average: native(spread!.sumMinor / 2),
        deviation: native(25),
        max: native(spread!.spread!.maxMinor),
      },
    },
    lists,
  }
}

/** Writes those again that have a limit beyond what its fact can be, for which a pack is refused. */
function takenBy({ currency }: Style, write: () => string, random: () => number) {
  const actions = randomActions(random)
  const conditions = Array.from({ length: rulesPerPack }, write)
  for (;;) {
    const files = {
      ...given,
      'pack.yaml': `currency: ${currency}`,
      // One a line, so that a fault's line says which it is.
      'a.rules.yaml': conditions
        .map((when, i) => JSON.stringify({ id: `r${i}`, when, why: 'w', ...actions[i] }))
        .map((rule) => `- ${rule}\n`)
        .join(''),
    }
    const refused = reportOf(files).filter((line) => line.endsWith('is never true'))
    if (refused.length === 0) return { conditions, actions, pack: packOfFiles(files) }
    for (const line of refused) conditions[Number(line.split(':')[1]) - 1] = write()
  }
}

interface Action {
  readonly mode: 'enforce' | 'shadow'
  readonly decline?: string
  readonly review?: string
  readonly tag?: string
  readonly allow?: 'all' | string[] | { rules: string[]; above: string[] }
}

function randomActions(random: () => number): Action[] {
  const kinds = Array.from({ length: rulesPerPack }, () => Math.floor(random() * 10))
  const declining = kinds.flatMap((kind, i) => (kind < 6 ? [`r${i}`] : []))
  return kinds.map((kind): Action => {
    const mode = random() < 0.2 ? 'shadow' : 'enforce'
    if (kind < 5) return { mode, decline: pick(['127', '130'], random) }
    if (kind === 5) return { mode, review: '128' }
    if (kind === 6) return { mode, review: 'approve' }
    if (kind === 7) return { mode, tag: pick(['a', 'b'], random) }
    const rules = declining.filter(() => random() < 0.3)
    if (rules.length === 0) return { mode, allow: 'all' }
    return { mode, allow: kind === 8 ? rules : { rules, above: ['limits'] } }
  })
}

/** What the pack must say when these of its rules hold, by the words of rules/README.md. */
function verdictOf(holds: readonly boolean[], actions: readonly Action[]): RuleVerdict {
  const hits = actions.flatMap((action, i) => (holds[i] ? [{ id: `r${i}`, ...action }] : []))
  const rulesOf = ({ allow }: Action) =>
    Array.isArray(allow) || allow === 'all' ? allow : allow?.rules
  const allows = hits.filter(({ mode, allow }) => mode === 'enforce' && allow !== undefined)
  const isAllowed = (id: string) =>
    allows.some((one) => rulesOf(one) === 'all' || rulesOf(one)?.includes(id))
  const counts = ({ id, mode, decline, review }: (typeof hits)[number]) =>
    mode === 'enforce' && !((decline ?? review) !== undefined && isAllowed(id))
  const enforced = hits.filter(counts)
  const [first] = enforced.filter(
    ({ decline, review = 'approve' }) => (decline ?? review) !== 'approve',
  )
  const matched = enforced.flatMap(({ id, tag }) => (tag === undefined ? [id] : [id, `tag:${tag}`]))
  const allowances = hits.flatMap(({ id, mode, allow }) =>
    typeof allow === 'object' && !Array.isArray(allow)
      ? [{ ruleId: id, above: allow.above, enforced: mode === 'enforce' } as Allowance]
      : [],
  )
  return {
    matched: matched.filter((id, i) => matched.indexOf(id) === i),
    shadow: hits.filter((one) => !counts(one)).map(({ id }) => id),
    decline: first
      ? { ruleId: first.id, code: (first.decline ?? first.review) as ResponseCode }
      : null,
    ...(enforced.some(({ review }) => review !== undefined) && { review: true }),
    ...(allowances.length > 0 && { allowances }),
  }
}

const given = {
  'windows.yaml': `
- { name: w, scope: card, over: asks, period: { trailing: 1h } }
- { name: s, scope: card, over: asks, distinct: true, spread: true, period: { trailing: 7d } }`,
  'lists/few.txt': lists.few.join('\n'),
  'lists/none.txt': '',
}

it(`closures judge as the library's evaluator does (SEED=${seed})`, () => {
  const random = seeded(seed)
  const library = new Environment({
    unlistedVariablesAreDyn: true,
    homogeneousAggregateLiterals: false,
  }).registerFunction('lower(string): string', (text: string) => text.toLowerCase())
  let pairs = 0
  let held = 0
  for (let n = 0; n < packs; n++) {
    const style = styles[n % styles.length]!
    const write = createWriter(style, random)
    const { conditions, actions, pack } = takenBy(style, () => write(3), random)
    for (let i = 0; i < asksPerPack; i++) {
      const ask = randomAsk(style, random)
      const native = nativeFacts(ask, style)
      const verdict = pack.evaluate(ask)
      const matched = new Set([...verdict.matched, ...verdict.shadow])
      const holds = conditions.map((when, r) => {
        const expected = library.evaluate(when, native)
        if (matched.has(`r${r}`) !== expected) {
          expect.fail(`seed ${seed}: ${when}\nis ${expected} by the library for ${show(native)}`)
        }
        pairs++
        if (expected) held++
        return expected as boolean
      })
      const due = verdictOf(holds, actions)
      if (!isDeepStrictEqual(verdict, due)) expect(verdict, `seed ${seed}, pack ${n}`).toEqual(due)
    }
  }
  expect(pairs).toBeGreaterThanOrEqual(20_000)
  // Both outcomes are common, or this would show little.
  expect(held / pairs).toBeGreaterThan(0.2)
  expect(held / pairs).toBeLessThan(0.8)
}, 60_000)

function show(facts: unknown): string {
  return JSON.stringify(facts, (_, value) => (typeof value === 'bigint' ? `${value}n` : value))
}
