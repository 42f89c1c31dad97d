import type { Ask } from './ask.ts'
import { type Check, checkId, checks, fundsCheck } from './check.ts'
import { noVerdict, type RuleVerdict } from './pack.ts'

/** What checks and rules say of an ask together. */
export interface Passage {
  /** The check that declines it; undefined when all passed or were allowed. */
  readonly failed: Check | undefined
  /** What the rules say; of an ask that a check declines, only the allowances that do not count. */
  readonly rules: RuleVerdict
  /** The checks before it that would have declined and that a rule allows. */
  readonly taken: readonly Check[]
}

/**
 * Finds the first check that declines. The rules are asked early only where one of them may allow what
 * a check would decline, so that a pack without such rules decides as before.
 */
export function passChecks(ask: Ask): Passage {
  const { pack } = ask
  const zero = ask.amountMinor === 0
  let rules: RuleVerdict | null = null
  const taken: Check[] = []
  for (const check of checks) {
    if ((zero && !check.ofZero) || !check.fails(ask)) continue
    if (check.above === undefined || pack.above?.has(check.above) !== true) {
      return { failed: check, rules: noVerdict, taken }
    }
    rules ??= pack.evaluate(ask)
    if (!isAllowed(check, rules)) return { failed: check, rules: wouldAllow(check, rules), taken }
    taken.push(check)
  }
  rules ??= pack.evaluate(ask)
  return { failed: undefined, rules: withTaken(rules, taken), taken }
}

/** The verdict on an ask that funds do not cover, when a rule allows it whole; else null. */
export function allowedFunds(rules: RuleVerdict): RuleVerdict | null {
  return isAllowed(fundsCheck, rules) ? withTaken(rules, [fundsCheck]) : null
}

function isAllowed({ above }: Check, { allowances = [] }: RuleVerdict): boolean {
  return allowances.some((one) => one.enforced && one.above.includes(above!))
}

/** An allowance in shadow is recorded where it would have counted. */
function wouldAllow({ above }: Check, { allowances = [] }: RuleVerdict): RuleVerdict {
  const shadow = allowances.flatMap((one) => (one.above.includes(above!) ? [one.ruleId] : []))
  return shadow.length === 0 ? noVerdict : { ...noVerdict, shadow }
}

/** A check that was taken away is recorded as a rule that was is. */
function withTaken(rules: RuleVerdict, taken: readonly Check[]): RuleVerdict {
  if (taken.length === 0) return rules
  return { ...rules, shadow: [...rules.shadow, ...taken.map(checkId)] }
}
