import { join, type Test } from './expression.ts'
import type { FactSlots } from './fact-slots.ts'

/**
 * The cheapest part of a condition: a fact between two bounds, both included. Most rules fail by it,
 * and a loop over bounds is several times faster than a call for each rule.
 */
export interface Gate {
  readonly index: number
  readonly least: number
  readonly most: number
}

/**
 * Splits a condition into a gate and what is left to ask; null when the gate says it all. Of two, an
 * equal text is rarer than an amount in a range; `dull` is a text that is nearly always the same.
 */
export function splitGate(
  condition: Test,
  slots: FactSlots,
  dull: number,
): { gate: Gate; rest: Test | null } {
  const parts = condition.op === 'and' ? condition.parts : [condition]
  let best: Gate | null = null
  let bestPart: Test | null = null
  let bestRank = 0
  for (const part of parts) {
    const gate = gateOf(part, slots)
    const rank = rankOf(part, dull)
    if (gate !== null && rank > bestRank) [best, bestPart, bestRank] = [gate, part, rank]
  }
  if (best === null)
    return { gate: { index: slots.zero().index, least: 0, most: 0 }, rest: condition }
  const others = parts.filter((part) => part !== bestPart)
  return { gate: best, rest: others.length === 0 ? null : join('and', others) }
}

function rankOf(test: Test, dull: number): number {
  if (test.op !== 'compareText') return 2
  return test.left.op === 'fact' && test.left.index === dull ? 1 : 3
}

function gateOf(test: Test, slots: FactSlots): Gate | null {
  if (test.op === 'flag' && test.slot.compute === null) {
    return { index: test.slot.index, least: 1, most: 1 }
  }
  if (test.op === 'compareText') {
    const { by, left, right } = test
    if (by !== '==' || left.op !== 'fact' || right.op !== 'text') return null
    const { index, code } = slots.codeOf(left.index, right.value)
    return { index, least: code, most: code }
  }
  if (test.op !== 'compare') return null
  const { by, left, right } = test
  if (left.op !== 'fact' || left.slot.compute !== null || right.op !== 'number') return null
  const { index } = left.slot
  const { value } = right
  switch (by) {
    case '==':
      return { index, least: value, most: value }
    case '>=':
      return { index, least: value, most: Infinity }
    case '<=':
      return { index, least: -Infinity, most: value }
    case '>':
      return { index, least: next(value, 1), most: Infinity }
    case '<':
      return { index, least: -Infinity, most: next(value, -1) }
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
