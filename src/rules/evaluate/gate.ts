import { join, type Test } from '../condition/expression.ts'
import type { FactSlots, NumberSlot } from '../condition/fact-slots.ts'

/**
 * The cheapest part of a condition: a fact between two bounds, both included. Most rules fail by it,
 * and a loop over bounds is several times faster than a call for each rule.
 */
export interface Gate {
  readonly slot: NumberSlot
  readonly least: number
  readonly most: number
}

/** One way for a condition to hold: a gate and what is left to ask; null when the gate says it all. */
export interface Way {
  readonly gate: Gate
  readonly rest: Test | null
}

/** What gates may be made of. */
export interface GateFacts {
  readonly slots: FactSlots
  /** A text that is nearly always the same. */
  readonly dull: number
  /** Costly facts that are read for every ask anyway. */
  readonly read: ReadonlySet<NumberSlot>
}

/** Beyond this many alternatives a condition is asked as a whole. */
const maxWays = 4

/** The ways for a condition to hold, of which several may be open at once. */
export function waysOf(condition: Test, facts: GateFacts): Way[] {
  if (condition.op === 'or' && condition.parts.length <= maxWays) {
    const ways = condition.parts.map((part) => wayOf(part, facts))
    if (ways.every((way) => way !== null)) return ways
  }
  const way = wayOf(condition, facts)
  return [way ?? { gate: { slot: facts.slots.zero(), least: 0, most: 0 }, rest: condition }]
}

/** Of two gates, an equal text is rarer than a costly fact beyond a limit, and that than an amount. */
function wayOf(condition: Test, facts: GateFacts): Way | null {
  const parts = conjunctsOf(condition)
  let best: Gate | null = null
  let bestPart: Test | null = null
  let bestRank = 0
  for (const part of parts) {
    const gate = gateOf(part, facts.slots)
    if (gate === null || (gate.slot.compute !== null && !facts.read.has(gate.slot))) continue
    const rank = rankOf(part, gate, facts.dull)
    if (rank > bestRank) [best, bestPart, bestRank] = [gate, part, rank]
  }
  if (best === null) return null
  const others = parts.filter((part) => part !== bestPart)
  return { gate: best, rest: others.length === 0 ? null : join('and', others) }
}

function rankOf(test: Test, { slot }: Gate, dull: number): number {
  if (test.op !== 'compareText') return slot.compute === null ? 2 : 3
  return test.left.op === 'fact' && test.left.index === dull ? 1 : 4
}

/** So many rules that are always looked at come to a costly fact in most asks. */
const commonFrom = 8

/** Finds the costly facts that many conditions have a limit for. */
export function createCensus(slots: FactSlots) {
  const counts = new Map<NumberSlot, number>()
  return {
    add(condition: Test): void {
      const ways = condition.op === 'or' ? condition.parts : [condition]
      const limited = new Set<NumberSlot>()
      for (const part of ways.flatMap(conjunctsOf)) {
        const slot = gateOf(part, slots)?.slot
        if (slot !== undefined && slot.compute !== null) limited.add(slot)
      }
      for (const slot of limited) counts.set(slot, (counts.get(slot) ?? 0) + 1)
    },
    common: () =>
      new Set([...counts].flatMap(([slot, count]) => (count >= commonFrom ? [slot] : []))),
  }
}

export function conjunctsOf(condition: Test): readonly Test[] {
  return condition.op === 'and' ? condition.parts : [condition]
}

function gateOf(test: Test, slots: FactSlots): Gate | null {
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
      return { slot, least: next(value, 1), most: Infinity }
    case '<':
      return { slot, least: -Infinity, most: next(value, -1) }
    case '!=':
      return null
  }
}

/** The nearest number above or below. */
function next(value: number, way: 1 | -1): number {
  if (value === 0) return way * Number.MIN_VALUE
  const bits = new BigInt64Array(new Float64Array([value]).buffer)
  bits[0]! += BigInt(value > 0 ? way : -way)
  return new Float64Array(bits.buffer)[0]!
}
