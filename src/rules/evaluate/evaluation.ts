import type { Breaker } from '../../domain/decide/breaker.ts'
import { type AskFacts, noVerdict, type RuleVerdict } from '../../domain/decide/pack.ts'
import type { RequestType } from '../../domain/record/event.ts'
import { compileTest, type TestClosure } from '../condition/closure.ts'
import { join, type Test } from '../condition/expression.ts'
import { askTypes, type Fact, type FactTable } from '../condition/fact.ts'
import type { FactSlots, NumberSlot } from '../condition/fact-slots.ts'
import { isRolledOut } from '../pack/rollout.ts'
import type { Rule } from '../pack/rule.ts'
import type { Steps } from '../pack/step.ts'
import { conjunctsOf, createCensus, type Gate, waysOf } from './gate.ts'

/** Ways of rules to hold that one ask has to look at. */
interface Bucket {
  readonly runs: readonly Run[]
  /** Costly facts that the gates ask for. */
  readonly reads: readonly NumberSlot[]
}

/** Those whose gates ask for the same fact, in columns, and in an order that most asks soon are through with. */
interface Run {
  readonly index: number
  /** Whether the gates have no lower bound: from the highest upper bound, else from the lowest lower one. */
  readonly falling: boolean
  readonly least: Float64Array
  readonly most: Float64Array
  /** What is left to ask of each. */
  readonly rest: readonly (TestClosure | null)[]
  /** Of the rules; one that has several ways to hold is there several times. */
  readonly numbers: Int32Array
}

interface Compiled {
  /** Of the rule. */
  readonly number: number
  readonly gate: Gate
  readonly rest: TestClosure | null
}

interface Field {
  /** Where the facts have the value. */
  readonly index: number
  readonly buckets: Map<string, Bucket>
}

/** The rules of one request type: those that depend on one value, and those that do not. */
interface Shelf {
  readonly fields: readonly Field[]
  readonly others: Bucket
}

/** By what rules are found; on a tie the first is taken. */
const keyFacts = ['merchant.mid', 'merchant.mcc', 'merchant.country', 'currency'] as const
/** A rule for more values than this is looked at always: its places would cost more memory. */
const maxKeys = 100
const rulesPerStep = 200
/** More than this many matches of one ask are not recorded; the decline is always the first. */
export const maxRecordedMatches = 100

/** What deciding needs of a rule. */
export type EvaluatedRule = Pick<
  Rule,
  'id' | 'mode' | 'code' | 'on' | 'condition' | 'rollout' | 'breaker'
>

/** The rules that can match, in file order, and the text that each is found by; -1 for none. */
export interface EvaluationPlan {
  readonly rules: readonly EvaluatedRule[]
  readonly keys: readonly number[]
  /** false looks at every rule: the same verdicts, slower. */
  readonly indexed: boolean
}

/** Evaluates an ask; the rules named in `shadowed` only record. */
export type Evaluate = (ask: AskFacts, shadowed?: ReadonlySet<string>) => RuleVerdict

const noRules: ReadonlySet<string> = new Set()
const none: ReadonlySet<NumberSlot> = new Set()

/** Of the rules that decline: one in shadow has nothing to break. */
export function breakersOf(rules: readonly EvaluatedRule[]): Breaker[] {
  return rules.flatMap(({ mode, breaker }) =>
    breaker === null || mode !== 'enforce' ? [] : [breaker],
  )
}

/** What is costly to find out, and the same for whoever builds from it. */
export function planEvaluation(
  all: readonly Rule[],
  facts: FactTable,
  slots: FactSlots,
  indexed: boolean,
): EvaluationPlan {
  const rules = all.filter(({ mode, condition }) => mode !== 'off' && !isNever(condition))
  const places = indexed ? keyFacts.map((name) => textIndexOf(name, facts, slots)) : []
  return { rules, keys: chooseKeys(rules, places), indexed }
}

function textIndexOf(name: string, facts: FactTable, slots: FactSlots): number {
  return slots.textOf(facts.get(name) as Extract<Fact, { type: 'text' }>)
}

export function* buildEvaluation(
  plan: EvaluationPlan,
  factTable: FactTable,
  slots: FactSlots,
): Steps<Evaluate> {
  const { rules } = plan
  if (rules.length === 0) return () => noVerdict
  const shelves = yield* buildShelves(plan, factTable, slots)
  const { facts, fill } = slots.createFacts()
  // Reused for every ask; evaluating is synchronous and never inside itself.
  const hits: number[] = []

  function look({ runs, reads }: Bucket): void {
    const values = facts.numbers
    for (const { index, compute } of reads) {
      if (Number.isNaN(values[index])) values[index] = compute!(facts.ask)
    }
    for (let i = 0; i < runs.length; i++) walk(runs[i]!, values[runs[i]!.index]!)
  }

  function walk({ falling, least, most, rest, numbers }: Run, value: number): void {
    for (let i = 0; i < numbers.length; i++) {
      if (falling ? !(most[i]! >= value) : !(least[i]! <= value)) return
      if (value > most[i]!) continue
      const test = rest[i]!
      if (test === null || test(facts)) hits.push(numbers[i]!)
    }
  }

  return (ask, shadowed = noRules) => {
    const shelf = shelves.get(ask.event.requestType)
    if (shelf === undefined) return noVerdict
    fill(ask)
    hits.length = 0
    for (const { index, buckets } of shelf.fields) {
      const bucket = buckets.get(facts.texts[index]!)
      if (bucket !== undefined) look(bucket)
    }
    look(shelf.others)
    return hits.length === 0 ? noVerdict : verdictOf(hits, rules, ask, shadowed)
  }
}

/** For load reports: such a rule does nothing. */
export function isNever(condition: Test): boolean {
  return condition.op === 'known' && !condition.value
}

function verdictOf(
  hits: number[],
  rules: readonly EvaluatedRule[],
  { card }: AskFacts,
  shadowed: ReadonlySet<string>,
): RuleVerdict {
  hits.sort((a, b) => a - b)
  const matched: string[] = []
  const shadow: string[] = []
  let decline: RuleVerdict['decline'] = null
  let last = -1
  for (const number of hits) {
    if (number === last) continue
    last = number
    const { id, mode, code, rollout } = rules[number]!
    const enforced =
      mode === 'enforce' &&
      (rollout === null || isRolledOut(rollout, card.cardId)) &&
      !shadowed.has(id)
    const ids = enforced ? matched : shadow
    if (ids.length < maxRecordedMatches) ids.push(id)
    if (enforced && decline === null) decline = { ruleId: id, code }
  }
  return { matched, shadow, decline }
}

function* buildShelves(
  plan: EvaluationPlan,
  facts: FactTable,
  slots: FactSlots,
): Steps<Map<RequestType, Shelf>> {
  const { rules, keys, indexed } = plan
  const typePlace = indexed ? textIndexOf('requestType', facts, slots) : -1
  const dull = textIndexOf('currency', facts, slots)
  /** Nearly every ask has to look at the rules that are found so. */
  const isBroad = (key: number) => key === -1 || key === dull
  const asked: Test[] = []
  const census = createCensus(slots)
  for (const [number, { condition }] of rules.entries()) {
    // What the places tell need not be asked again.
    const left = [keys[number]!, typePlace].reduce(without, condition)
    asked.push(left)
    if (isBroad(keys[number]!)) census.add(left)
    yield
  }
  const common = { slots, dull, read: census.common() }
  const found = { slots, dull, read: none }
  const compiled: Compiled[][] = []
  for (const [number, condition] of asked.entries()) {
    const ways = waysOf(condition, isBroad(keys[number]!) ? common : found)
    compiled.push(
      ways.map(({ gate, rest }) => ({
        number,
        gate,
        rest: rest === null ? null : compileTest(rest, slots.codeOf),
      })),
    )
    yield
  }
  const shelves = new Map<RequestType, Shelf>()
  for (const type of askTypes) {
    shelves.set(type, yield* buildShelf(type, typePlace, plan, compiled))
  }
  return shelves
}

function* buildShelf(
  type: RequestType,
  typePlace: number,
  { rules, keys, indexed }: EvaluationPlan,
  compiled: readonly (readonly Compiled[])[],
): Steps<Shelf> {
  const others: number[] = []
  const byPlace = new Map<number, Map<string, number[]>>()
  for (const [number, { on, condition }] of rules.entries()) {
    yield
    if (!on.includes(type)) continue
    if (indexed && valuesOf(condition, typePlace)?.has(type) === false) continue
    const values = valuesOf(condition, keys[number]!)
    if (values === null) others.push(number)
    else shelve(number, values, mapIn(byPlace, keys[number]!))
  }
  const fields: Field[] = []
  for (const [index, byValue] of byPlace) {
    const buckets = new Map<string, Bucket>()
    for (const [value, numbers] of byValue) {
      buckets.set(value, yield* buildBucket(numbers, compiled))
    }
    fields.push({ index, buckets })
  }
  return { fields, others: yield* buildBucket(others, compiled) }
}

function mapIn(byPlace: Map<number, Map<string, number[]>>, place: number): Map<string, number[]> {
  const byValue = byPlace.get(place) ?? new Map<string, number[]>()
  byPlace.set(place, byValue)
  return byValue
}

/** Puts a rule on the list of each value that it is found by. */
function shelve(number: number, values: ReadonlySet<string>, byValue: Map<string, number[]>): void {
  for (const value of values) {
    const list = byValue.get(value)
    if (list === undefined) byValue.set(value, [number])
    else list.push(number)
  }
}

function* buildBucket(
  rules: readonly number[],
  compiled: readonly (readonly Compiled[])[],
): Steps<Bucket> {
  const together = new Map<string, Compiled[]>()
  for (const [i, number] of rules.entries()) {
    for (const way of compiled[number]!) {
      const name = `${way.gate.slot.index} ${isFalling(way)}`
      const list = together.get(name)
      if (list === undefined) together.set(name, [way])
      else list.push(way)
    }
    if (i % rulesPerStep === 0) yield
  }
  const runs: Run[] = []
  for (const ways of together.values()) {
    runs.push(runOf(ways))
    yield
  }
  const slots = [...together.values()].map(([way]) => way!.gate.slot)
  return { runs, reads: [...new Set(slots)].filter(({ compute }) => compute !== null) }
}

function isFalling({ gate }: Compiled): boolean {
  return gate.least === -Infinity
}

function runOf(ways: Compiled[]): Run {
  const falling = isFalling(ways[0]!)
  ways.sort(({ gate: a }, { gate: b }) => (falling ? b.most - a.most : a.least - b.least))
  return {
    index: ways[0]!.gate.slot.index,
    falling,
    least: Float64Array.from(ways, ({ gate }) => gate.least),
    most: Float64Array.from(ways, ({ gate }) => gate.most),
    rest: ways.map(({ rest }) => rest),
    numbers: Int32Array.from(ways, ({ number }) => number),
  }
}

/** Each rule goes where the fewest others could be; -1 is to look at it always. */
function chooseKeys(rules: readonly Rule[], places: readonly number[]): number[] {
  const choices = rules.map(({ condition }) =>
    places.flatMap((index) => {
      const values = valuesOf(condition, index)
      return values === null ? [] : [{ index, values }]
    }),
  )
  const crowds = new Map(places.map((index) => [index, new Map<string, number>()]))
  for (const { index, values } of choices.flat()) {
    const crowd = crowds.get(index)!
    for (const value of values) crowd.set(value, (crowd.get(value) ?? 0) + 1)
  }
  return choices.map((keys) => {
    let [best, bestCrowd] = [-1, Infinity]
    for (const { index, values } of keys) {
      let largest = 0
      for (const value of values) largest = Math.max(largest, crowds.get(index)!.get(value)!)
      if (largest < bestCrowd) [best, bestCrowd] = [index, largest]
    }
    return best
  })
}

/** The values of this fact that the condition can hold for, where a conjunct says so. */
function valuesOf(condition: Test, index: number): ReadonlySet<string> | null {
  const part = conjunctsOf(condition).find((one) => limits(one, index))
  if (part?.op === 'among') return part.values
  return part?.op === 'compareText' && part.right.op === 'text' ? new Set([part.right.value]) : null
}

/** The condition for asks that have one of these values. */
function without(condition: Test, index: number): Test {
  const parts = conjunctsOf(condition)
  const told = parts.find((one) => limits(one, index))
  return told === undefined
    ? condition
    : join(
        'and',
        parts.filter((part) => part !== told),
      )
}

function limits(test: Test, index: number): boolean {
  if (test.op === 'compareText' && test.by === '==') {
    return test.left.op === 'fact' && test.left.index === index && test.right.op === 'text'
  }
  const { op } = test
  return (
    op === 'among' &&
    test.text.op === 'fact' &&
    test.text.index === index &&
    test.values.size <= maxKeys
  )
}
