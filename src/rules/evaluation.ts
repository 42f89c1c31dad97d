import type { RequestType } from '../domain/event.ts'
import { type AskFacts, noVerdict, type RuleVerdict } from '../domain/pack.ts'
import { compileTest, type TestClosure } from './closure.ts'
import type { Test } from './expression.ts'
import { askTypes, type Fact, type FactTable } from './fact.ts'
import type { FactSlots } from './fact-slots.ts'
import type { Rule } from './rule.ts'

/** Rules that one ask has to look at, with their numbers in file order. */
interface Bucket {
  readonly numbers: number[]
  readonly tests: TestClosure[]
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
const maxKeys = 1000
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

  function look({ tests, numbers }: Bucket): void {
    for (let i = 0; i < tests.length; i++) if (tests[i]!(facts)) hits.push(numbers[i]!)
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
  const tests = rules.map(({ condition }) => compileTest(condition))
  const shelves = new Map<RequestType, Shelf>()
  for (const type of askTypes) {
    const fields = places.map((index): Field => ({ index, buckets: new Map() }))
    const others: Bucket = { numbers: [], tests: [] }
    rules.forEach(({ on, condition }, number) => {
      if (!on.includes(type)) return
      if (indexed && valuesOf(condition, typePlace)?.has(type) === false) return
      for (const bucket of bucketsOf(keys[number]!, fields, others)) {
        bucket.numbers.push(number)
        bucket.tests.push(tests[number]!)
      }
    })
    shelves.set(type, { fields: fields.filter(({ buckets }) => buckets.size > 0), others })
  }
  return shelves
}

/** The value that a rule is found by: where, and which; null to look at it always. */
type Key = { readonly index: number; readonly values: ReadonlySet<string> } | null

function bucketsOf(key: Key, fields: readonly Field[], others: Bucket): Bucket[] {
  const field = fields.find(({ index }) => index === key?.index)
  if (key === null || field === undefined) return [others]
  return [...key.values].map((value) => {
    const bucket = field.buckets.get(value) ?? { numbers: [], tests: [] }
    field.buckets.set(value, bucket)
    return bucket
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
  const parts = condition.op === 'and' ? condition.parts : [condition]
  for (const part of parts) {
    if (part.op === 'compareText' && part.by === '==') {
      const { left, right } = part
      if (left.op === 'fact' && left.index === index && right.op === 'text') {
        return new Set([right.value])
      }
    }
    if (part.op === 'among' && part.text.op === 'fact' && part.text.index === index) {
      if (part.values.size <= maxKeys) return part.values
    }
  }
  return null
}
