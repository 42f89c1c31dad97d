import { isNever } from '../condition/expression.ts'
import type { FactTable } from '../condition/fact.ts'
import type { FactSlots } from '../condition/fact-slots.ts'
import { declineCodeOf } from '../pack/action.ts'
import type { Rule } from '../pack/rule.ts'
import { chooseKeys, noKey } from './key.ts'

/** The fields of a rule that deciding needs. */
export type EvaluatedRule = Pick<
  Rule,
  'id' | 'mode' | 'action' | 'on' | 'condition' | 'rollout' | 'breaker'
>

/** The rules that can match, in file order, and the text that each is found by. */
export interface EvaluationPlan {
  readonly rules: readonly EvaluatedRule[]
  readonly keys: readonly number[]
  /** false looks at every rule: the same verdicts, slower. */
  readonly indexed: boolean
}

/** Makes the choices that are costly to make, so that every thread that builds from them agrees. */
export function planEvaluation(
  all: readonly Rule[],
  facts: FactTable,
  slots: FactSlots,
  indexed: boolean,
): EvaluationPlan {
  const rules = all.filter(({ mode, condition }) => mode !== 'off' && !isNever(condition))
  const conditions = rules.map(({ condition }) => condition)
  const keys = indexed ? chooseKeys(conditions, facts, slots) : rules.map(() => noKey)
  return { rules, keys, indexed }
}

/** What only rules that are enforced have: one in shadow has nothing to break, and declines nothing. */
export function enforcedOf(rules: readonly EvaluatedRule[]) {
  const enforced = rules.filter(({ mode }) => mode === 'enforce')
  const declining = enforced.filter(({ action }) => declineCodeOf(action) !== '000')
  return {
    breakers: enforced.flatMap(({ breaker }) => breaker ?? []),
    declines: declining.map(({ id }) => id),
  }
}
