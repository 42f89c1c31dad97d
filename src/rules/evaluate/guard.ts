import { conjunctsOf, join, type Test } from '../condition/expression.ts'
import type { FactSlots, NumberSlot } from '../condition/fact-slots.ts'

/**
 * The cheapest part of a condition: a fact between two bounds, both included. Most rules fail by it,
 * and a loop over bounds is several times faster than a call for each rule.
 */
export interface Guard {
  readonly slot: NumberSlot
  readonly least: number
  readonly most: number
}

/** One alternative of a condition: its guard, and the test that is left; null when nothing is. */
interface GuardedTest {
  readonly guard: Guard
  readonly rest: Test | null
}

/** The facts that a guard can be made of. */
interface GuardFacts {
  readonly slots: FactSlots
  /** Where the facts have the currency: nearly all asks have the same, so it makes a poor guard. */
  readonly currencyIndex: number
  /** Costly facts that are read for every ask anyway; other costly facts make no guard. */
  readonly alwaysRead: ReadonlySet<NumberSlot>
}

/** A condition with more alternatives than this is tested as a whole. */
const maxAlternatives = 4

/** Splits a condition into guarded alternatives, of which several may hold at once. */
export function guardCondition(condition: Test, facts: GuardFacts): GuardedTest[] {
  if (condition.op === 'or' && condition.parts.length <= maxAlternatives) {
    const guarded = condition.parts.map((part) => guardAlternative(part, facts))
    if (guarded.every((one) => one !== null)) return guarded
  }
  const guarded = guardAlternative(condition, facts)
  return [guarded ?? { guard: { slot: facts.slots.zero(), least: 0, most: 0 }, rest: condition }]
}

/** An equal text is rarer than a costly fact beyond a limit, and that is rarer than an amount. */
function guardAlternative(condition: Test, facts: GuardFacts): GuardedTest | null {
  const parts = conjunctsOf(condition)
  let best: Guard | null = null
  let bestPart: Test | null = null
  let bestRank = 0
  for (const part of parts) {
    const guard = guardOf(part, facts.slots)
    if (guard === null || (guard.slot.compute !== null && !facts.alwaysRead.has(guard.slot))) {
      continue
    }
    const rank = rankOf(part, guard, facts.currencyIndex)
    if (rank > bestRank) [best, bestPart, bestRank] = [guard, part, rank]
  }
  if (best === null) return null
  const others = parts.filter((part) => part !== bestPart)
  return { guard: best, rest: others.length === 0 ? null : join('and', others) }
}

function rankOf(test: Test, { slot }: Guard, currencyIndex: number): number {
  if (test.op !== 'compareText') return slot.compute === null ? 2 : 3
  return test.left.op === 'fact' && test.left.index === currencyIndex ? 1 : 4
}

/** With this many rules that limit a costly fact, nearly every ask has to read it. */
const manyRules = 8

/** Counts the rules that limit each costly fact. */
export function createCostlyFactCount(slots: FactSlots) {
  const counts = new Map<NumberSlot, number>()
  return {
    add(condition: Test): void {
      const alternatives = condition.op === 'or' ? condition.parts : [condition]
      const limited = new Set<NumberSlot>()
      for (const part of alternatives.flatMap(conjunctsOf)) {
        const slot = guardOf(part, slots)?.slot
        if (slot !== undefined && slot.compute !== null) limited.add(slot)
      }
      for (const slot of limited) counts.set(slot, (counts.get(slot) ?? 0) + 1)
    },
    limitedByMany: () =>
      new Set([...counts].flatMap(([slot, count]) => (count >= manyRules ? [slot] : []))),
  }
}

function guardOf(test: Test, slots: FactSlots): Guard | null {
  if (test.op === 'flag') return { slot: test.slot, least: 1, most: 1 }
  if (test.op === 'compareText') {
    const { by, left, right } = test
    if (by !== '==' || left.op !== 'fact' || right.op !== 'text') return null
    const { slot, code } = slots.codeOf(left.index, right.value)
    return { slot, least: code, most: code }
  }
  if (test.op !== 'compare') return null
  const { by, left, right } = test
  if (left.op !== 'fact' || right.op !== 'number') return null
  const { slot } = left
  const { value } = right
  switch (by) {
    case '==':
      return { slot, least: value, most: value }
    case '>=':
      return { slot, least: value, most: Infinity }
    case '<=':
      return { slot, least: -Infinity, most: value }
    case '>':
      return { slot, least: nearest(value, 1), most: Infinity }
    case '<':
      return { slot, least: -Infinity, most: nearest(value, -1) }
    case '!=':
      return null
  }
}

/** The nearest double above or below: bounds are included, so `>` and `<` move theirs. */
function nearest(value: number, direction: 1 | -1): number {
  if (value === 0) return direction * Number.MIN_VALUE
  const bits = new BigInt64Array(new Float64Array([value]).buffer)
  bits[0]! += BigInt(value > 0 ? direction : -direction)
  return new Float64Array(bits.buffer)[0]!
}
