import { Environment } from '@marcbachmann/cel-js'
import { expect, it } from 'vitest'
import type { AskFacts } from '../../src/domain/decide/pack.ts'
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
const textFacts = ['merchant.name', 'merchant.mid', 'merchant.city', 'channel', 'card.id']
const moneyFacts = ['amount', 'account.posted', 'transaction.settled', 'windows.w.sum']
const numberFacts = ['hour', 'transaction.asks', 'windows.w.count']

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
        return chance(0.3)
          ? pick(['true', 'false'], random)
          : pick(['foreign', 'partialApprovalSupported', 'final'], random)
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
  return askOf({
    event: {
      currency,
      amountMinor: minor(),
      channel: pick(texts, random),
      final: pick([true, false, null], random),
      partialApprovalSupported: random() < 0.5,
    },
    merchant: {
      name: pick(texts, random),
      mid: pick(texts, random),
      city: pick(texts, random),
      country: pick(['NG', 'US', ''], random),
    },
    card: {
      cardId: pick(texts, random),
      windows: {
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

function nativeFacts(ask: AskFacts, { native }: Style): Record<string, unknown> {
  const { event, card, account, transaction } = ask
  const [bucket] = card.windows.w!.buckets
  const { country } = event.merchant
  return {
    amount: native(event.amountMinor!),
    channel: event.channel,
    final: event.final === true,
    partialApprovalSupported: event.partialApprovalSupported,
    foreign: country !== '' && country !== account.country,
    hour: 12n,
    merchant: { ...event.merchant },
    card: { id: card.cardId },
    account: { posted: native(account.postedMinor) },
    transaction: { settled: native(transaction.settledMinor), asks: 0n },
    windows: { w: { sum: native(bucket!.sumMinor), count: BigInt(bucket!.count) } },
    lists,
  }
}

/** Writes those again that have a limit beyond what its fact can be, for which a pack is refused. */
function takenBy({ currency }: Style, write: () => string) {
  const conditions = Array.from({ length: rulesPerPack }, write)
  for (;;) {
    const files = {
      ...given,
      'pack.yaml': `currency: ${currency}`,
      // One a line, so that a fault's line says which it is.
      'a.rules.yaml': conditions
        .map((when, i) => JSON.stringify({ id: `r${i}`, when, decline: '127', why: 'w' }))
        .map((rule) => `- ${rule}\n`)
        .join(''),
    }
    const refused = reportOf(files).filter((line) => line.endsWith('is never true'))
    if (refused.length === 0) return { conditions, pack: packOfFiles(files) }
    for (const line of refused) conditions[Number(line.split(':')[1]) - 1] = write()
  }
}

const given = {
  'windows.yaml': '- { name: w, scope: card, over: asks, period: { trailing: 1h } }',
  'lists/few.txt': lists.few.join('\n'),
  'lists/none.txt': '',
}

it(`closures judge as the library's evaluator does (SEED=${seed})`, () => {
  const random = seeded(seed)
  const library = new Environment({
    unlistedVariablesAreDyn: true,
    homogeneousAggregateLiterals: false,
  })
  let pairs = 0
  let held = 0
  for (let n = 0; n < packs; n++) {
    const style = styles[n % styles.length]!
    const write = createWriter(style, random)
    const { conditions, pack } = takenBy(style, () => write(3))
    for (let i = 0; i < asksPerPack; i++) {
      const ask = randomAsk(style, random)
      const native = nativeFacts(ask, style)
      const matched = new Set(pack.evaluate(ask).matched)
      conditions.forEach((when, r) => {
        const expected = library.evaluate(when, native)
        if (matched.has(`r${r}`) !== expected) {
          expect.fail(`seed ${seed}: ${when}\nis ${expected} by the library for ${show(native)}`)
        }
        pairs++
        if (expected) held++
      })
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
