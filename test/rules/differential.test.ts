import { Environment } from '@marcbachmann/cel-js'
import { expect, it } from 'vitest'
import type { Allowance, RuleVerdict } from '../../src/domain/decide/pack.ts'
import type { ResponseCode } from '../../src/domain/record/response-code.ts'
import { factTable } from '../../src/rules/condition/fact-table.ts'
import { factsOfWindow } from '../../src/rules/condition/window-fact.ts'
import { expectEqual } from '../support/expect-equal.ts'
import { drawAsk, pick, type Style, texts, windowsFile, zones } from '../support/native-facts.ts'
import { seeded } from '../support/order.ts'
import { packOfFiles, reportOf } from '../support/rule-world.ts'

/**
 * Conditions over all facts that there are, judged by our closures and by the evaluator of the library. Where
 * its meaning is another one, the expressions keep away: it has two kinds of number and no money. So in
 * yen all are integers, and in dollars amounts are whole quarters, which a double has exactly.
 */
const seed = Number(process.env.SEED ?? 20_261_115)
const packs = process.env.TORTURE ? 1_200 : 84
const rulesPerPack = 30
const asksPerPack = 8

const lists = { few: ['5411', 'M1', 'Shop'], none: [] as string[] }
const given = {
  'windows.yaml': windowsFile,
  'lists/few.txt': lists.few.join('\n'),
  'lists/none.txt': '',
}

const { windows, sharedWindows = [] } = packOfFiles(given)
/** All but the one that every pack has, which no condition names. */
const [, ...named] = [...windows, ...sharedWindows]
const facts = [...factTable, ...named.flatMap(factsOfWindow)]
const namesOf = (type: string) => facts.filter((fact) => fact.type === type).map(({ name }) => name)
const numberFacts = namesOf('number')
const flags = namesOf('yes/no')
/** Its currency must be named beside it. */
const moneyFacts = namesOf('money').filter((name) => name !== 'merchantAmount')
const free = ['card.metadata.tier', 'metadata.kind', 'lower(merchant.name)']
const textFacts = [
  ...free,
  ...facts.filter((fact) => fact.type === 'text' && fact.form === undefined).map((f) => f.name),
]
/** Texts that only some literals can be compared with. */
const formed = facts.flatMap((fact) =>
  fact.type === 'text' && fact.form !== undefined ? [{ name: fact.name, form: fact.form }] : [],
)

interface WrittenStyle extends Style {
  readonly moneyLiteral: (random: () => number) => string
  /** What amounts are compared in, where not in the currency of the ask. */
  readonly convert?: (money: string) => string
  /** What one unit of that is in the pack's, and the same of minor units, as a fraction. */
  readonly rate?: { readonly text: string; readonly parts: bigint; readonly of: bigint }
}

const wholeLiteral = (random: () => number) => String(pick([0, 1, 2, 3, 7, 50], random))

const styles: WrittenStyle[] = [
  {
    ...{ currency: 'JPY', asked: 'JPY', currencies: ['JPY', 'KRW'], stepMinor: 1, native: BigInt },
    moneyLiteral: wholeLiteral,
  },
  {
    ...{ currency: 'USD', asked: 'USD', currencies: ['USD', 'EUR'], stepMinor: 25 },
    native: (minor) => minor / 100,
    moneyLiteral: (random) => pick(['0.0', '0.25', '0.5', '1.0', '1.75', '12.50'], random),
  },
  {
    ...{ currency: 'JPY', asked: 'KRW', currencies: ['JPY', 'KRW'], stepMinor: 1, native: BigInt },
    moneyLiteral: wholeLiteral,
    convert: (money) => `worth(${money})`,
    rate: { text: '1.5', parts: 3n, of: 2n },
  },
  {
    ...{ currency: 'JPY', asked: 'KWD', currencies: ['JPY', 'KRW'], stepMinor: 1, native: BigInt },
    moneyLiteral: wholeLiteral,
    convert: (money) => `worth(${money})`,
    // Three decimals of the one are none of the other.
    rate: { text: '470.5', parts: 4705n, of: 10_000n },
  },
]

/** So many parts of an amount, halves up. */
function worthBy({ parts, of }: NonNullable<WrittenStyle['rate']>) {
  return (amount: bigint): bigint => {
    const doubled = 2n * amount * parts + of
    return doubled / (2n * of) - (doubled < 0n && doubled % (2n * of) !== 0n ? 1n : 0n)
  }
}

function createWriter(style: WrittenStyle, random: () => number) {
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
    if (depth <= 0 || chance(0.5)) {
      const { convert = (one: string) => one } = style
      return convert(pick(moneyFacts, random))
    }
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
  /** A text of one form beside literals that have it; what is of other decimals would change what amounts mean. */
  const formedTest = (): string => {
    const { name, form } = pick(formed, random)
    const known = form.values ?? ['5411', '7995', 'NG', 'US', ...style.currencies]
    const fit = [...known, ''].filter((one) => form.accepts(one))
    const literals = fit.length > 0 ? fit : ['NG']
    const literal = () => JSON.stringify(pick(literals, random))
    if (chance(0.15)) return `${name}.${pick(['startsWith', 'contains'], random)}(${text(0)})`
    if (chance(0.3)) return `(${name} in ${many(literal)})`
    if (name === 'merchantCurrency' && chance(0.6)) {
      const named = JSON.stringify(pick(style.currencies, random))
      return `(merchantCurrency == ${named} && merchantAmount ${comparison()} ${style.moneyLiteral(random)})`
    }
    return `(${name} ${pick(['==', '!='], random)} ${literal()})`
  }
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
        if (chance(0.5)) return formedTest()
        if (chance(0.3)) return `has(${pick(facts, random).name})`
        return chance(0.2) ? pick(['true', 'false'], random) : pick(flags, random)
      case 4:
        return `${number(depth)} ${comparison()} ${number(depth)}`.replace(/^(.*)$/, '($1)')
      case 5:
        // Two amounts of one ask need no rate.
        if (style.convert !== undefined && chance(0.3)) {
          return `(${pick(moneyFacts, random)} ${comparison()} ${pick(moneyFacts, random)})`
        }
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

/** Writes those again that a pack is refused for: a limit that its fact never has, an amount in which currency? */
function takenBy(
  { currency, asked, rate }: WrittenStyle,
  write: () => string,
  random: () => number,
) {
  const actions = randomActions(random)
  const conditions = Array.from({ length: rulesPerPack }, write)
  for (;;) {
    const files = {
      ...given,
      'pack.yaml': `currency: ${currency}\n${zones}${rate === undefined ? '' : `\nrates: { ${asked}: ${rate.text} }`}`,
      // One a line, so that a fault's line says which it is.
      'a.rules.yaml': conditions
        .map((when, i) => JSON.stringify({ id: `r${i}`, when, why: 'w', ...actions[i] }))
        .map((rule) => `- ${rule}\n`)
        .join(''),
    }
    const refused = reportOf(files).filter((line) =>
      /is never true$|may pass over|name the currency of/.test(line),
    )
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
    mode === 'enforce' && !((decline ?? review ?? 'approve') !== 'approve' && isAllowed(id))
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

it(`closures judge as the library's evaluator does (SEED=${seed})`, () => {
  const random = seeded(seed)
  const libraries = styles.map(({ rate = { text: '1', parts: 1n, of: 1n } }) =>
    new Environment({ unlistedVariablesAreDyn: true, homogeneousAggregateLiterals: false })
      .registerFunction('lower(string): string', (text: string) => text.toLowerCase())
      .registerFunction('worth(int): int', worthBy(rate)),
  )
  const seen = new Map(facts.map(({ name }) => [name, new Set<string>()]))
  let pairs = 0
  let held = 0
  for (let n = 0; n < packs; n++) {
    const style = styles[n % styles.length]!
    const library = libraries[n % styles.length]!
    const write = createWriter(style, random)
    const { conditions, actions, pack } = takenBy(style, () => write(3), random)
    // The library knows presence by its own meaning: here it is one more value.
    const theirs = conditions.map((when) =>
      library.parse(when.replace(/has\(([^)]*)\)/g, 'present["$1"]')),
    )
    for (let i = 0; i < asksPerPack; i++) {
      const { ask, native: told, present } = drawAsk(style, random)
      const has = Object.fromEntries(
        facts.map(({ name, type }) => {
          const value = valueAt(told, name)
          seen.get(name)!.add(String(value))
          return [name, type === 'text' ? value !== '' : (present[name] ?? true)]
        }),
      )
      const native = { ...told, lists, present: has }
      const verdict = pack.evaluate(ask)
      const matched = new Set([...verdict.matched, ...verdict.shadow])
      const holds = conditions.map((when, r) => {
        const expected = theirs[r]!(native)
        if (matched.has(`r${r}`) !== expected) {
          expect.fail(`seed ${seed}: ${when}\nis ${expected} by the library for ${show(native)}`)
        }
        pairs++
        if (expected) held++
        return expected as boolean
      })
      const due = verdictOf(holds, actions)
      expectEqual(verdict, due, () => `seed ${seed}, pack ${n}`)
    }
  }
  expect(pairs).toBeGreaterThanOrEqual(20_000)
  // No fact is left out, and each has had more than one value.
  const still = [...seen].filter(([, values]) => values.size < 2 || values.has('undefined'))
  expect(still.map(([name]) => name)).toEqual([])
  // Both outcomes are common, or this would show little.
  expect(held / pairs).toBeGreaterThan(0.2)
  expect(held / pairs).toBeLessThan(0.8)
}, 240_000)

function valueAt(told: unknown, name: string): unknown {
  const parts = name.split('.')
  return parts.reduce((value, part) => (value as Record<string, unknown>)?.[part], told)
}

function show(facts: unknown): string {
  return JSON.stringify(facts, (_, value) => (typeof value === 'bigint' ? `${value}n` : value))
}
