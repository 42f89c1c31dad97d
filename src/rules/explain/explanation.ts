import type { ASTNode } from '@marcbachmann/cel-js'
import type { AskFacts } from '../../domain/decide/pack.ts'
import { dayText } from '../../domain/record/calendar.ts'
import { decimalsOf } from '../../domain/record/currency.ts'
import { formatMinor } from '../../domain/record/money.ts'
import { compileTest } from '../condition/closure.ts'
import { checkCondition } from '../condition/condition.ts'
import { expand } from '../condition/definition.ts'
import type { Fact } from '../condition/fact.ts'
import { createFactSlots } from '../condition/fact-slots.ts'
import { factsOf } from '../condition/fact-table.ts'
import { type CurrencyUse, newUse } from '../condition/operand.ts'
import {
  anyCurrency,
  type Currencies,
  dottedName,
  namedCurrencies,
  nodeText,
  parseCondition,
} from '../condition/syntax.ts'
import type { Vocabulary } from '../condition/vocabulary.ts'
import type { CompiledPack } from '../pack/compiled-pack.ts'
import { isRolledOut } from '../pack/rollout.ts'
import { type Rule, ruleScopes } from '../pack/rule.ts'

/** A part of a condition, with its result for one ask. */
export interface ExplainedPart {
  readonly text: string
  readonly holds: boolean
  /** The values of the facts and lists in it; none for a part that has parts. */
  readonly values: readonly ExplainedValue[]
  /** How its parts are joined; '' when it has none. */
  readonly joined: '' | 'and' | 'or' | 'not'
  readonly parts: readonly ExplainedPart[]
}

interface ExplainedValue {
  readonly name: string
  readonly value: string
}

export interface ExplainedRule {
  readonly rule: Rule
  /** Why the rule does not look at this ask at all; '' when it does. */
  readonly asleep: string
  readonly matched: boolean
  /** Why a match declines nothing; '' when it declines. */
  readonly spared: string
  /** The parts that must all hold; none when the rule is asleep. */
  readonly parts: readonly ExplainedPart[]
  /** The exception, which must not hold. */
  readonly unless: ExplainedPart | null
}

/** Explains every rule of a pack for one ask, part by part; too slow for decisions. */
export function explainRules(
  pack: CompiledPack,
  ask: AskFacts,
  recording: ReadonlyMap<string, string> = new Map(),
): ExplainedRule[] {
  const windows = [...pack.windows, ...(pack.sharedWindows ?? [])]
  const facts = factsOf(windows, pack.parts.rates)
  return pack.rules.map((rule) => {
    const asleep = sleepOf(rule, ask, pack)
    const spared = sparedBy(rule, ask, recording)
    if (asleep !== '') return { rule, asleep, matched: false, spared, parts: [], unless: null }
    return { ...explainRule(rule, ask, pack, facts), spared }
  })
}

function sparedBy(
  { id, mode, rollout, written }: Rule,
  { card }: AskFacts,
  recording: ReadonlyMap<string, string>,
): string {
  if (mode === 'shadow') return 'it is in shadow'
  const why = recording.get(id)
  if (why !== undefined) return why
  if (rollout === null || isRolledOut(rollout, card.cardId)) return ''
  return `the card is outside its rollout of ${written.rollout}`
}

function sleepOf({ mode, on, expiryDay }: Rule, { event, atMs }: AskFacts, pack: CompiledPack) {
  if (mode === 'off') return 'it is off'
  if (!on.includes(event.requestType)) return `it looks at ${on.join(', ')}`
  const expired = expiryDay !== null && pack.zone.dayOf(atMs) >= expiryDay
  return expired ? `it expired on ${dayText(expiryDay)}` : ''
}

function explainRule(
  rule: Rule,
  ask: AskFacts,
  pack: CompiledPack,
  facts: Vocabulary['facts'],
): Omit<ExplainedRule, 'spared'> {
  const { when, unless } = rule.written
  const use = newUse()
  const explain = createExplainer(ask, pack, facts, use)
  const node = parsed(when, pack)
  const first = explain(node, anyCurrency)
  const except =
    unless === undefined ? null : explain(parsed(unless, pack), namedCurrencies(node, anyCurrency))
  const parts = [...scopeParts(rule, ask, pack, facts)]
  // The author did not write this part, so it is shown only where it decides.
  const guarded = use.unnamed.length > 0 && ask.event.currency !== pack.currency
  if (guarded) parts.push(currencyPart(ask, pack))
  if (use.converted) parts.push(ratePart(ask, pack))
  parts.push(first)
  const matched = parts.every(({ holds }) => holds) && except?.holds !== true
  return { rule, asleep: '', matched, parts, unless: except }
}

function parsed(text: string, { parts: { defined } }: CompiledPack): ASTNode {
  const written = parseCondition(text, () => {})
  const node = written && expand(written, defined)
  if (node === null) throw new Error(`a condition of a pack that was loaded: ${text}`)
  return node
}

type Explainer = (node: ASTNode, within: Currencies) => ExplainedPart

const joints = new Map([
  ['&&', 'and'],
  ['||', 'or'],
] as const)

function createExplainer(
  ask: AskFacts,
  { zone, parts: { lists, defined, rates }, currency }: CompiledPack,
  facts: Vocabulary['facts'],
  use: CurrencyUse,
): Explainer {
  const slots = createFactSlots(zone)
  const known = { facts, lists, defined, slots, currency, rates }
  const vocabulary: Vocabulary = { ...known, lineInList: () => 0 }

  function evaluate(node: ASTNode, within: Currencies): boolean {
    const test = checkCondition(node, within, use, vocabulary, () => {})
    if (test === null) throw new Error(`a condition of a pack that was loaded: ${nodeText(node)}`)
    const closure = compileTest(test, slots.codeOf)
    const { facts: values, fill } = slots.createFacts()
    fill(ask)
    return closure(values)
  }

  function valuesIn(node: ASTNode): ExplainedValue[] {
    const names = [...new Set(namesIn(node))]
    return names.flatMap((name) => {
      const list = name.startsWith('lists.') ? lists.get(name.slice('lists.'.length)) : undefined
      if (list !== undefined) return [{ name, value: `${list.size} values` }]
      const fact = facts.get(name)
      return fact === undefined ? [] : [{ name, value: shownValue(fact, ask, zone) }]
    })
  }

  function explain(node: ASTNode, within: Currencies): ExplainedPart {
    const inner = namedCurrencies(node, within)
    const holds = evaluate(node, within)
    const joint = joints.get(node.op as '&&' | '||')
    if (joint !== undefined) {
      const parts = chainOf(node).map((part) => explain(part, joint === 'and' ? inner : within))
      return { text: nodeText(node), holds, values: [], joined: joint, parts }
    }
    if (node.op === '!_' && joints.has(node.args.op as '&&')) {
      const parts = [explain(node.args, within)]
      return { text: nodeText(node), holds, values: [], joined: 'not', parts }
    }
    return { text: nodeText(node), holds, values: valuesIn(node), joined: '', parts: [] }
  }

  return explain
}

/** The parts of `a && b && c`, which the parser nests in pairs. */
function chainOf(node: ASTNode): ASTNode[] {
  const [left, right] = node.args as [ASTNode, ASTNode]
  return [...(left.op === node.op ? chainOf(left) : [left]), right]
}

/** Names of facts and lists, in the order in which they are written. */
function namesIn(node: ASTNode): string[] {
  const name = dottedName(node)
  if (name !== null) return [name]
  return childrenOf(node.args).flatMap(namesIn)
}

function childrenOf(args: unknown): ASTNode[] {
  if (Array.isArray(args)) return args.flatMap(childrenOf)
  const isNode = typeof args === 'object' && args !== null && 'op' in args
  return isNode ? [args as ASTNode] : []
}

function shownValue(fact: Fact, ask: AskFacts, zone: CompiledPack['zone']): string {
  if (fact.isPresent?.(ask, zone) === false) return 'absent'
  switch (fact.type) {
    case 'text':
      return JSON.stringify(fact.read(ask, zone))
    case 'yes/no':
      return fact.read(ask, zone) ? 'yes' : 'no'
    case 'number': {
      const value = fact.read(ask, zone)
      return value > (fact.exactTo ?? value) ? `about ${value}` : String(value)
    }
    case 'money': {
      const { currency, merchantCurrency } = ask.event
      const unit = fact.unit === 'currency' ? currency : merchantCurrency
      return `${formatMinor(fact.read(ask, zone), unit)} ${unit}`
    }
  }
}

function currencyPart({ event }: AskFacts, { currency }: CompiledPack): ExplainedPart {
  const values = [{ name: 'currency', value: JSON.stringify(event.currency) }]
  const text = `currency == "${currency}", the pack's`
  return { text, holds: false, values, joined: '', parts: [] }
}

/** What worth() counts with; the author did not write that there must be a rate. */
function ratePart({ event }: AskFacts, { currency, parts: { rates } }: CompiledPack) {
  const billionths = rates[event.currency]
  const units = 10 ** (9 + decimalsOf(currency) - decimalsOf(event.currency))
  const rate = billionths === undefined ? 'none' : `${billionths / units} ${currency}`
  const values = [{ name: `1 ${event.currency}`, value: rate }]
  const holds = billionths !== undefined
  return { text: 'rate of the currency', holds, values, joined: '' as const, parts: [] }
}

function scopeParts(
  { written }: Rule,
  ask: AskFacts,
  { parts: { lists }, zone }: CompiledPack,
  facts: Vocabulary['facts'],
): ExplainedPart[] {
  return (Object.keys(ruleScopes) as (keyof typeof ruleScopes)[]).flatMap((field) => {
    const list = written[field]
    if (list === undefined) return []
    const name = ruleScopes[field]
    const fact = facts.get(name) as Extract<Fact, { type: 'text' }>
    const holds = lists.get(list)!.has(fact.read(ask, zone))
    const values = [{ name, value: shownValue(fact, ask, zone) }]
    return [{ text: `${name} in lists.${list}`, holds, values, joined: '' as const, parts: [] }]
  })
}
