import { conjunctsOf, join, type Test } from '../condition/expression.ts'
import type { Fact, FactTable } from '../condition/fact.ts'
import type { FactSlots } from '../condition/fact-slots.ts'

/** The texts that rules can be found by; on a tie the first is chosen. */
const keyFacts = ['merchant.mid', 'merchant.mcc', 'merchant.country', 'currency'] as const
/** A rule for more values than this is looked at always: an entry for each would cost more memory. */
const maxKeyValues = 100

export const noKey = -1

export function textIndexOf(name: string, facts: FactTable, slots: FactSlots): number {
  return slots.textOf(facts.get(name) as Extract<Fact, { type: 'text' }>)
}

/** The text that each condition is found by: the one whose values the fewest others share. */
export function chooseKeys(
  conditions: readonly Test[],
  facts: FactTable,
  slots: FactSlots,
): number[] {
  const indexes = keyFacts.map((name) => textIndexOf(name, facts, slots))
  const choices = conditions.map((condition) =>
    indexes.flatMap((index) => {
      const values = keyValues(condition, index)
      return values === null ? [] : [{ index, values }]
    }),
  )
  const crowds = new Map(indexes.map((index) => [index, new Map<string, number>()]))
  for (const { index, values } of choices.flat()) {
    const crowd = crowds.get(index)!
    for (const value of values) crowd.set(value, (crowd.get(value) ?? 0) + 1)
  }
  return choices.map((keys) => {
    let [best, bestCrowd] = [noKey, Infinity]
    for (const { index, values } of keys) {
      let largest = 0
      for (const value of values) largest = Math.max(largest, crowds.get(index)!.get(value)!)
      if (largest < bestCrowd) [best, bestCrowd] = [index, largest]
    }
    return best
  })
}

/** The only values of this text that the condition can hold for; null when it does not limit them. */
export function keyValues(condition: Test, index: number): ReadonlySet<string> | null {
  const part = conjunctsOf(condition).find((one) => limits(one, index))
  if (part?.op === 'among') return part.values
  return part?.op === 'compareText' && part.right.op === 'text' ? new Set([part.right.value]) : null
}

/** What is left to test of a condition once the ask is known to have one of `keyValues` it. */
export function withoutKey(condition: Test, index: number): Test {
  const parts = conjunctsOf(condition)
  const known = parts.find((one) => limits(one, index))
  if (known === undefined) return condition
  const others = parts.filter((part) => part !== known)
  return join('and', others)
}

function limits(test: Test, index: number): boolean {
  if (test.op === 'compareText' && test.by === '==') {
    return test.left.op === 'fact' && test.left.index === index && test.right.op === 'text'
  }
  if (test.op !== 'among' || test.values.size > maxKeyValues) return false
  return test.text.op === 'fact' && test.text.index === index
}
