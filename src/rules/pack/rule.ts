import { suggestion } from '../../document/spelling.ts'
import type { Path, YamlDocument } from '../../document/yaml-document.ts'
import type { Breaker } from '../../domain/decide/breaker.ts'
import { dayIndexOfText } from '../../domain/record/calendar.ts'
import type { RequestType } from '../../domain/record/event.ts'
import { checkCondition } from '../condition/condition.ts'
import { expand } from '../condition/definition.ts'
import {
  among,
  compare,
  compareText,
  join,
  not,
  type Test,
  type Text,
} from '../condition/expression.ts'
import type { Fact } from '../condition/fact.ts'
import { askTypes } from '../condition/fact.ts'
import { type CurrencyUse, newUse } from '../condition/operand.ts'
import {
  anyCurrency,
  type ConditionFault,
  type Currencies,
  namedCurrencies,
  parseCondition,
} from '../condition/syntax.ts'
import type { Vocabulary } from '../condition/vocabulary.ts'
import { hasRate } from '../condition/worth.ts'
import { actionOf, type RuleAction } from './action.ts'
import { organizationOf } from './folder.ts'
import { type Rollout, rolloutOf, shareOfText } from './rollout.ts'
import { actionFields, type RuleFile, ruleFile } from './rule-file.ts'
import { durationMs } from './window-file.ts'

/** A checked rule. */
export interface Rule {
  readonly id: string
  readonly mode: RuleFile['mode']
  readonly action: RuleAction
  readonly on: readonly RequestType[]
  /** Everything that must hold, scopes and expiry included. */
  readonly condition: Test
  /** The currencies whose asks it looks at, because it compares amounts; null for all. */
  readonly currencies: readonly string[] | null
  readonly why: string
  readonly owner: string
  /** The first day on which the rule is off, as the zone counts days; null for never. */
  readonly expiryDay: number | null
  readonly file: string
  readonly line: number
  /** null when the rule is enforced for all cards. */
  readonly rollout: Rollout | null
  readonly breaker: Breaker | null
  /** As its author wrote it, for explanations. */
  readonly written: RuleFile
}

/** Checks the rule at this place of its document; null when it has faults. */
export function checkRule(
  given: unknown,
  at: number,
  document: YamlDocument,
  file: string,
  vocabulary: Vocabulary,
): Rule | null {
  const acts = checkAction(given, at, document)
  const written = document.parse(ruleFile, given, [at])
  // Conditions are checked even if other fields have faults, so that all are reported at once.
  const texts = textsIn(given)
  const checked = checkConditions(texts, (field) => [at, field], document, vocabulary)
  const scope = checkScope(texts, at, document, vocabulary)
  const owner = organizationOf(file)
  if (written === null || checked === null || scope === null || !acts) return null
  const expiryDay = written.expires === undefined ? null : dayIndexOfText(written.expires)
  const parts = [
    ...(owner === '' ? [] : [ofOrganization(owner, vocabulary)]),
    ...scope,
    checked.test,
  ]
  if (expiryDay !== null) {
    const today = { op: 'fact', slot: vocabulary.slots.day() } as const
    parts.unshift(compare('<', today, { op: 'number', value: expiryDay }))
  }
  return {
    id: written.id,
    mode: written.mode,
    action: actionOf(written),
    on: (written.on as RequestType[] | undefined) ?? askTypes,
    condition: join('and', parts),
    currencies: checked.currencies,
    why: written.why,
    owner: written.owner ?? '',
    expiryDay,
    file,
    line: document.placeOf([at]).line,
    rollout: rolloutOf(written.id, shareOfText(written.rollout ?? '100%') ?? 0),
    breaker: breakerOf(written),
    written,
  }
}

/** The ids of those that are off since a day, on the scale of `dayOf`. */
export function expiredOf(rules: readonly Rule[], today: number): ReadonlySet<string> {
  const expired = rules.filter(({ expiryDay }) => expiryDay !== null && expiryDay <= today)
  return new Set(expired.map(({ id }) => id))
}

/** A rule does one thing, and only one that declines can be broken off. */
function checkAction(given: unknown, at: number, document: YamlDocument): boolean {
  if (typeof given !== 'object' || given === null) return false
  const said = (name: string) => (Reflect.get(given, name) ?? null) !== null
  const [first, second] = actionFields.filter(said)
  // One that is named and empty has its own fault.
  const isNamed = actionFields.some((name) => Object.hasOwn(given, name))
  if (!isNamed) document.fault([at, 'decline'], 'is required')
  if (second !== undefined) {
    document.fault([at, second], `stands beside ${first}: a rule does one thing`)
  }
  const declines = said('decline') || (said('review') && Reflect.get(given, 'review') !== 'approve')
  const unbroken = said('breaker') && first !== undefined && !declines
  if (unbroken) document.fault([at, 'breaker'], 'belongs to a rule that declines')
  return first !== undefined && second === undefined && !unbroken
}

export const defaultMinAsks = 100

function breakerOf({ id, breaker }: RuleFile): Breaker | null {
  if (breaker === undefined) return null
  const { declines, share, within, minAsks = defaultMinAsks } = breaker
  return {
    ruleId: id,
    withinMs: durationMs(within),
    maxDeclines: declines ?? Infinity,
    maxShare: share === undefined ? Infinity : (shareOfText(share) ?? 0),
    minAsks,
  }
}

type Texts = Readonly<Record<string, string | undefined>>

function textsIn(given: unknown): Texts {
  if (typeof given !== 'object' || given === null) return {}
  const texts = Object.entries(given).flatMap(([name, value]) =>
    typeof value === 'string' || typeof value === 'boolean' ? [[name, String(value)]] : [],
  )
  return Object.fromEntries(texts)
}

interface CheckedConditions {
  readonly test: Test
  readonly currencies: readonly string[] | null
}

const nothing = { test: null, within: anyCurrency }

/** `when && !unless`, limited to the currency of the pack when amounts are compared in no other. */
export function checkConditions(
  { when, unless }: { readonly when?: string | undefined; readonly unless?: string | undefined },
  placeOf: (field: 'when' | 'unless') => Path,
  document: YamlDocument,
  vocabulary: Vocabulary,
): CheckedConditions | null {
  const use = newUse()
  const faultIn =
    (field: 'when' | 'unless'): ConditionFault =>
    (offset, message) =>
      document.faultInText(placeOf(field), offset, message)
  const check = (field: 'when' | 'unless', text: string, outer: Currencies) => {
    const fault = faultIn(field)
    const parsed = parseCondition(text, fault)
    const node = parsed && expand(parsed, vocabulary.defined)
    if (parsed !== null && node === null) fault(0, 'has too many parts, with all that it names')
    if (node === null) return { test: null, within: outer }
    const test = checkCondition(node, outer, use, vocabulary, fault)
    return { test, within: namedCurrencies(node, outer) }
  }
  const first = when === undefined ? nothing : check('when', when, anyCurrency)
  // `unless` is asked only where `when` holds, so the currencies that `when` names hold there too.
  const second = unless === undefined ? null : check('unless', unless, first.within)
  if (first.test === null || second?.test === null) return null
  if (!checkCurrency(use)) return null
  const { guard, currencies } = guardOf(use, vocabulary)
  const test = join('and', [...guard, first.test, ...(second === null ? [] : [not(second.test!)])])
  return { test, currencies }
}

/** A number that stands for an amount is in one currency; what is converted is in those that the pack has a rate for. */
function guardOf(use: CurrencyUse, vocabulary: Vocabulary) {
  const { facts, slots, currency, rates } = vocabulary
  if (use.unnamed.length > 0) return { guard: [inCurrency(vocabulary)], currencies: [currency] }
  if (!use.converted) return { guard: [], currencies: null }
  return { guard: [hasRate(facts, slots)], currencies: Object.keys(rates) }
}

/** Refuses amounts without a currency in a rule that names one: they might be compared in another. */
function checkCurrency({ named, unnamed }: CurrencyUse): boolean {
  if (!named) return true
  for (const { fault, offset, text } of unnamed) {
    fault(offset, `name the currency of ${text} beside it: currency == "USD" && …`)
  }
  return unnamed.length === 0
}

function inCurrency({ facts, slots, currency }: Vocabulary): Test {
  return compareText('==', textOf('currency', facts, slots), { op: 'text', value: currency })
}

function textOf(name: string, facts: Vocabulary['facts'], slots: Vocabulary['slots']): Text {
  const fact = facts.get(name) as Extract<Fact, { type: 'text' }>
  return { op: 'fact', index: slots.textOf(fact) }
}

function ofOrganization(id: string, { facts, slots }: Vocabulary): Test {
  const organization = textOf('account.organizationId', facts, slots)
  return compareText('==', organization, { op: 'text', value: id })
}

export const ruleScopes = {
  cards: 'card.id',
  customers: 'card.customerId',
  organizations: 'account.organizationId',
} as const

function checkScope(
  written: Texts,
  at: number,
  document: YamlDocument,
  { lists, facts, slots }: Vocabulary,
): Test[] | null {
  const tests: Test[] = []
  let whole = true
  for (const field of Object.keys(ruleScopes) as (keyof typeof ruleScopes)[]) {
    const name = written[field]
    if (name === undefined) continue
    const values = lists.get(name)
    if (values === undefined) {
      const meant = suggestion(name, lists.keys())
      document.fault(
        [at, field],
        `must be the name of a list, and there is no lists/${name}.txt${meant}`,
      )
      whole = false
    } else tests.push(among(textOf(ruleScopes[field], facts, slots), values))
  }
  return whole ? tests : null
}
