import type { RequestType } from '../../domain/record/event.ts'
import { compileTest, type TestClosure } from '../condition/closure.ts'
import type { Test } from '../condition/expression.ts'
import { askTypes, type FactTable } from '../condition/fact.ts'
import type { FactSlots, NumberSlot } from '../condition/fact-slots.ts'
import type { Steps } from '../pack/step.ts'
import { createCostlyFactCount, type Guard, guardCondition } from './guard.ts'
import { keyValues, noKey, textIndexOf, withoutKey } from './key.ts'
import type { EvaluationPlan } from './plan.ts'

/** The rules of one request type: those found by the value of a text, and those always looked at. */
interface RuleIndex {
  readonly keyed: readonly KeyedRules[]
  readonly others: Candidates
}

interface KeyedRules {
  /** Where the facts have the text. */
  readonly textIndex: number
  readonly byValue: Map<string, Candidates>
}

/** Rules that one ask has to look at. */
export interface Candidates {
  readonly tables: readonly GuardTable[]
  /** Costly facts that the guards need. */
  readonly reads: readonly NumberSlot[]
}

/** Guards of the same fact, in columns, sorted so that most asks are soon through with them. */
export interface GuardTable {
  readonly factIndex: number
  /** No guard has a lower bound: sorted by falling upper bound, else by rising lower bound. */
  readonly falling: boolean
  readonly least: Float64Array
  readonly most: Float64Array
  /** The test behind each guard; null when there is none. */
  readonly rest: readonly (TestClosure | null)[]
  /** Numbers of the rules; one with several alternatives is there several times. */
  readonly numbers: Int32Array
}

interface GuardedRule {
  readonly number: number
  readonly guard: Guard
  readonly rest: TestClosure | null
}

const rulesPerStep = 200
const none: ReadonlySet<NumberSlot> = new Set()

export function* buildIndexes(
  plan: EvaluationPlan,
  facts: FactTable,
  slots: FactSlots,
): Steps<Map<RequestType, RuleIndex>> {
  const typeIndex = plan.indexed ? textIndexOf('requestType', facts, slots) : noKey
  const guarded = yield* guardRules(plan, typeIndex, textIndexOf('currency', facts, slots), slots)
  const indexes = new Map<RequestType, RuleIndex>()
  for (const type of askTypes) {
    indexes.set(type, yield* buildIndex(type, typeIndex, plan, guarded))
  }
  return indexes
}

/** The guarded alternatives of each rule, by its number. */
function* guardRules(
  { rules, keys }: EvaluationPlan,
  typeIndex: number,
  currencyIndex: number,
  slots: FactSlots,
): Steps<GuardedRule[][]> {
  const isOftenLookedAt = (key: number) => key === noKey || key === currencyIndex
  const left: Test[] = []
  const costly = createCostlyFactCount(slots)
  for (const [number, { condition }] of rules.entries()) {
    const rest = [keys[number]!, typeIndex].reduce(withoutKey, condition)
    left.push(rest)
    if (isOftenLookedAt(keys[number]!)) costly.add(rest)
    yield
  }
  const often = { slots, currencyIndex, alwaysRead: costly.limitedByMany() }
  const seldom = { slots, currencyIndex, alwaysRead: none }
  const guarded: GuardedRule[][] = []
  for (const [number, condition] of left.entries()) {
    const tests = guardCondition(condition, isOftenLookedAt(keys[number]!) ? often : seldom)
    guarded.push(
      tests.map(({ guard, rest }) => ({
        number,
        guard,
        rest: rest === null ? null : compileTest(rest, slots.codeOf),
      })),
    )
    yield
  }
  return guarded
}

function* buildIndex(
  type: RequestType,
  typeIndex: number,
  { rules, keys, indexed }: EvaluationPlan,
  guarded: readonly (readonly GuardedRule[])[],
): Steps<RuleIndex> {
  const others: number[] = []
  const byKey = new Map<number, Map<string, number[]>>()
  for (const [number, { on, condition }] of rules.entries()) {
    yield
    if (!on.includes(type)) continue
    if (indexed && keyValues(condition, typeIndex)?.has(type) === false) continue
    const key = keys[number]!
    const values = keyValues(condition, key)
    if (values === null) others.push(number)
    else {
      if (!byKey.has(key)) byKey.set(key, new Map())
      for (const value of values) addTo(byKey.get(key)!, value, number)
    }
  }
  const keyed: KeyedRules[] = []
  for (const [textIndex, numbersByValue] of byKey) {
    const byValue = new Map<string, Candidates>()
    for (const [value, numbers] of numbersByValue) {
      byValue.set(value, yield* gatherCandidates(numbers, guarded))
    }
    keyed.push({ textIndex, byValue })
  }
  return { keyed, others: yield* gatherCandidates(others, guarded) }
}

function addTo<T>(lists: Map<string, T[]>, name: string, item: T): void {
  const list = lists.get(name)
  if (list === undefined) lists.set(name, [item])
  else list.push(item)
}

function* gatherCandidates(
  numbers: readonly number[],
  guarded: readonly (readonly GuardedRule[])[],
): Steps<Candidates> {
  const alike = new Map<string, GuardedRule[]>()
  for (const [i, number] of numbers.entries()) {
    for (const rule of guarded[number]!) {
      addTo(alike, `${rule.guard.slot.index} ${isFalling(rule)}`, rule)
    }
    if (i % rulesPerStep === 0) yield
  }
  const tables: GuardTable[] = []
  for (const rules of alike.values()) {
    tables.push(tableOf(rules))
    yield
  }
  const slots = [...alike.values()].map(([rule]) => rule!.guard.slot)
  return { tables, reads: [...new Set(slots)].filter(({ compute }) => compute !== null) }
}

function isFalling({ guard }: GuardedRule): boolean {
  return guard.least === -Infinity
}

function tableOf(rules: GuardedRule[]): GuardTable {
  const falling = isFalling(rules[0]!)
  rules.sort(({ guard: a }, { guard: b }) => (falling ? b.most - a.most : a.least - b.least))
  return {
    factIndex: rules[0]!.guard.slot.index,
    falling,
    least: Float64Array.from(rules, ({ guard }) => guard.least),
    most: Float64Array.from(rules, ({ guard }) => guard.most),
    rest: rules.map(({ rest }) => rest),
    numbers: Int32Array.from(rules, ({ number }) => number),
  }
}
