import type { WindowDefinition } from '../../domain/decide/window.ts'
import { maxCountedMerchants } from '../../domain/record/merchant-counts.ts'
import { maxWindowMerchants } from '../../domain/record/window-state.ts'
import { stepsOf } from '../condition/pattern.ts'
import type { EvaluatedRule } from '../evaluate/plan.ts'

/** A decision keeps all others waiting: five that take this long use up the budget. */
export const maxDecisionMs = 50

/**
 * Upper figures for a slow core, in microseconds, from twice what was measured: reading, counting and
 * writing one bucket of a window, one merchant of it, its sketch and the window itself, one part of a
 * condition, one rule that another allows, and over the longest text one regular expression and each further step of it, with those that
 * have too many steps for any of several characters apart.
 */
const costs = {
  decision: 200,
  window: 20,
  merchant: 1,
  sketch: 20,
  bucket: 0.5,
  part: 0.05,
  allowedRule: 0.1,
  pattern: 20,
  repeatedStep: 30,
  widePattern: 500,
  wideStep: 40,
} as const

/** A pattern with 15 such steps took 18 µs over varied texts of 200 characters, one with 16 took 312. */
const maxNarrow = 12

/** The estimated time of one decision, at most, on the card that has the most to count. */
export interface PackCost {
  readonly windowsMs: number
  readonly rulesMs: number
  readonly decisionMs: number
}

/** What a window or a hold adjustment has is a condition without an action. */
type CostedRule = Pick<EvaluatedRule, 'condition'> & Partial<Pick<EvaluatedRule, 'action'>>

export function costOf(
  windows: readonly WindowDefinition[],
  rules: readonly CostedRule[],
): PackCost {
  const named = windows.some(({ scope }) => scope === 'card-and-merchant') ? maxCountedMerchants : 0
  const windowsMs = (named * costs.merchant + sum(windows.map(windowCost))) / 1000
  const rulesMs = sum(rules.map(ruleCost)) / 1000
  return { windowsMs, rulesMs, decisionMs: costs.decision / 1000 + windowsMs + rulesMs }
}

function windowCost({ scope, over, distinct, span }: WindowDefinition): number {
  // Per card and merchant, one merchant's buckets are read and written, and the others only named.
  const merchants = distinct && scope !== 'card-and-merchant' ? maxWindowMerchants : 0
  const sketch = merchants > 0 ? costs.sketch : 0
  // Distinct merchants of attempts keep their newest bucket only.
  const attempts = over === 'asks' || over === 'declines'
  const each = distinct && attempts ? 1 : span
  const buckets = (span + merchants * each) * costs.bucket
  return costs.window + merchants * costs.merchant + sketch + buckets
}

function ruleCost({ condition, action }: CostedRule): number {
  const allowed = action?.does === 'allow' && action.over !== 'all' ? action.over.length : 0
  return conditionCost(condition) + allowed * costs.allowedRule
}

/** By the operations and values that a condition has. */
function conditionCost(node: object): number {
  let cost: number = 'pattern' in node ? patternCost(String(node.pattern)) : costs.part
  for (const part of Object.values(node)) {
    if (Array.isArray(part)) for (const one of part) cost += conditionCost(one)
    else if (typeof part === 'object' && part !== null && 'op' in part) cost += conditionCost(part)
  }
  return cost
}

/** A counted repetition, such as .{0,40}, is as many steps, and may be tried from each character on. */
function patternCost(source: string): number {
  const { repeated, wide } = stepsOf(source)
  const varied = wide > maxNarrow ? costs.widePattern + wide * costs.wideStep : 0
  return costs.pattern + Math.max(varied, repeated * costs.repeatedStep)
}

function sum(costs: readonly number[]): number {
  return costs.reduce((all, cost) => all + cost, 0)
}

/** The fault of a pack whose decisions may take too long; null for all others. */
export function costFault(cost: PackCost): { file: string; message: string } | null {
  const { windowsMs, rulesMs, decisionMs } = cost
  if (decisionMs <= maxDecisionMs) return null
  const whole = `a decision may take ${Math.ceil(decisionMs)} ms, which is more than ${maxDecisionMs}`
  if (windowsMs < rulesMs) {
    const message = `has too much in its conditions: ${whole}; a pattern with many steps for any character, such as .{0,99}, costs the most, then long lists of allow, which may say all`
    return { file: 'pack.yaml', message }
  }
  const message = `counts too much: ${whole}; a trailing window with distinct costs the most, a calendar one far less`
  return { file: 'windows.yaml', message }
}

/** The estimate rounded up, so that a person never reads less than was computed. */
export function costText({ decisionMs }: PackCost): string {
  return `${(Math.ceil(decisionMs * 10) / 10).toFixed(1)} ms`
}
