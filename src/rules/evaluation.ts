import type { RequestType } from '../domain/event.ts'
import { type AskFacts, noVerdict, type RuleVerdict } from '../domain/pack.ts'
import { compileTest, type TestClosure } from './closure.ts'
import { join, type Test } from './expression.ts'
import { askTypes, type Fact, type FactTable } from './fact.ts'
import type { FactSlots } from './fact-slots.ts'
import { type Gate, splitGate } from './gate.ts'
import type { Rule } from './rule.ts'

/** Rules that one ask has to look at: their gates in columns, and what is left to ask of each. */
interface Bucket {
  /** In file order. */
  readonly numbers: Int32Array
  readonly indexes: Int32Array
  readonly least: Float64Array
  readonly most: Float64Array
  readonly rest: readonly (TestClosure | null)[]
}

interface Compiled {
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
/** More than this many matches of one ask are not recorded; the decline is always the first. */
export const maxRecordedMatches = 100

export interface EvaluationOptions {
  readonly rules: readonly Rule[]
  readonly facts: FactTable
  readonly slots: FactSlots
  /** false looks at every rule: the same verdicts, slower. */
  readonly indexed: boolean
}

export function createEvaluation(options: EvaluationOptions): (ask: AskFacts) => RuleVerdict {
  const rules = options.rules.filter(({ mode, condition }) => mode !== 'off' && !isNever(condition))
  if (rules.length === 0) return () => noVerdict
  const shelves = createShelves(rules, options)
  const { facts, fill } = options.slots.createFacts()
  // Reused for every ask; evaluating is synchronous and never inside itself.
  const hits: number[] = []

  function look({ numbers, indexes, least, most, rest }: Bucket): void {
    const values = facts.numbers
    for (let i = 0; i < numbers.length; i++) {
      const value = values[indexes[i]!]!
      if (value < least[i]! || value > most[i]!) continue
      const test = rest[i]!
      if (test === null || test(facts)) hits.push(numbers[i]!)
    }
  }

  return (ask) => {
    const shelf = shelves.get(ask.event.requestType)
    if (shelf === undefined) return noVerdict
    fill(ask)
    hits.length = 0
    for (const { index, buckets } of shelf.fields) {
      const bucket = buckets.get(facts.texts[index]!)
      if (bucket !== undefined) look(bucket)
    }
    look(shelf.others)
    return hits.length === 0 ? noVerdict : verdictOf(hits, rules)
  }
}

/** For load reports: such a rule does nothing. */
export function isNever(condition: Test): boolean {
  return condition.op === 'known' && !condition.value
}

function verdictOf(hits: number[], rules: readonly Rule[]): RuleVerdict {
  hits.sort((a, b) => a - b)
  const matched: string[] = []
  const shadow: string[] = []
  let decline: RuleVerdict['decline'] = null
  for (const number of hits) {
    const { id, mode, code } = rules[number]!
    const ids = mode === 'shadow' ? shadow : matched
    if (ids.length < maxRecordedMatches) ids.push(id)
    if (mode === 'enforce' && decline === null) decline = { ruleId: id, code }
  }
  return { matched, shadow, decline }
}

function createShelves(
  rules: readonly Rule[],
  { facts, slots, indexed }: EvaluationOptions,
): Map<RequestType, Shelf> {
  const indexOf = (name: string) => slots.textOf(facts.get(name) as Extract<Fact, { type: 'text' }>)
  const places = indexed ? keyFacts.map(indexOf) : []
  const typePlace = indexed ? indexOf('requestType') : -1
  const keys = chooseKeys(rules, places)
  const compiled = rules.map(({ condition }, number): Compiled => {
    // What the places tell need not be asked again.
    const told = [keys[number]?.index ?? -1, typePlace]
    const { gate, rest } = splitGate(told.reduce(without, condition), slots, indexOf('currency'))
    return { gate, rest: rest === null ? null : compileTest(rest, slots.codeOf) }
  })
  const shelves = new Map<RequestType, Shelf>()
  for (const type of askTypes) {
    const others: number[] = []
    const byPlace = places.map((index) => ({ index, byValue: new Map<string, number[]>() }))
    rules.forEach(({ on, condition }, number) => {
      if (!on.includes(type)) return
      if (indexed && valuesOf(condition, typePlace)?.has(type) === false) return
      for (const list of listsOf(keys[number]!, byPlace, others)) list.push(number)
    })
    const fields = byPlace
      .filter(({ byValue }) => byValue.size > 0)
      .map(({ index, byValue }): Field => {
        const buckets = [...byValue].map(
          ([value, list]) => [value, bucketOf(list, compiled)] as const,
        )
        return { index, buckets: new Map(buckets) }
      })
    shelves.set(type, { fields, others: bucketOf(others, compiled) })
  }
  return shelves
}

function bucketOf(numbers: readonly number[], compiled: readonly Compiled[]): Bucket {
  const rules = numbers.map((number) => compiled[number]!)
  return {
    numbers: Int32Array.from(numbers),
    indexes: Int32Array.from(rules, ({ gate }) => gate.index),
    least: Float64Array.from(rules, ({ gate }) => gate.least),
    most: Float64Array.from(rules, ({ gate }) => gate.most),
    rest: rules.map(({ rest }) => rest),
  }
}

/** The value that a rule is found by: where, and which; null to look at it always. */
type Key = { readonly index: number; readonly values: ReadonlySet<string> } | null

/** The lists that a rule belongs on. */
function listsOf(
  key: Key,
  byPlace: readonly { index: number; byValue: Map<string, number[]> }[],
  others: number[],
): number[][] {
  const place = byPlace.find(({ index }) => index === key?.index)
  if (key === null || place === undefined) return [others]
  return [...key.values].map((value) => {
    const list = place.byValue.get(value) ?? []
    place.byValue.set(value, list)
    return list
  })
}

/** Each rule goes where the fewest others could be. */
function chooseKeys(rules: readonly Rule[], places: readonly number[]): Key[] {
  const choices = rules.map(({ condition }) =>
    places.flatMap((index) => {
      const values = valuesOf(condition, index)
      return values === null ? [] : [{ index, values }]
    }),
  )
  const crowds = new Map<string, number>()
  const nameOf = (index: number, value: string) => `${index} ${value}`
  for (const { index, values } of choices.flat()) {
    for (const value of values) {
      const name = nameOf(index, value)
      crowds.set(name, (crowds.get(name) ?? 0) + 1)
    }
  }
  const crowdOf = ({ index, values }: NonNullable<Key>) =>
    Math.max(0, ...[...values].map((value) => crowds.get(nameOf(index, value))!))
  return choices.map((keys) => {
    let best: Key = null
    for (const key of keys) if (best === null || crowdOf(key) < crowdOf(best)) best = key
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

function conjunctsOf(condition: Test): readonly Test[] {
  return condition.op === 'and' ? condition.parts : [condition]
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
