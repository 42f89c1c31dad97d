import {
  type Allowance,
  type AskFacts,
  noVerdict,
  type RuleVerdict,
} from '../../domain/decide/pack.ts'
import type { FactTable } from '../condition/fact.ts'
import type { FactSlots } from '../condition/fact-slots.ts'
import { declineCodeOf, tagPrefix } from '../pack/action.ts'
import { isRolledOut } from '../pack/rollout.ts'
import type { Steps } from '../pack/step.ts'
import type { EvaluatedRule, EvaluationPlan } from './plan.ts'
import { buildIndexes, type Candidates, type GuardTable } from './rule-index.ts'

/** Evaluates an ask; the rules named in `shadowed` only record. */
type Evaluate = (ask: AskFacts, shadowed?: ReadonlySet<string>) => RuleVerdict

/** More than this many matches of one ask are not recorded, nor tags of one; the decline is always the first. */
export const maxRecordedMatches = 100

const noRules: ReadonlySet<string> = new Set()

export function* buildEvaluation(
  plan: EvaluationPlan,
  factTable: FactTable,
  slots: FactSlots,
): Steps<Evaluate> {
  const { rules } = plan
  if (rules.length === 0) return () => noVerdict
  const indexes = yield* buildIndexes(plan, factTable, slots)
  const { facts, fill } = slots.createFacts()
  // Reused for every ask; evaluating is synchronous and never inside itself.
  const hits: number[] = []

  function tryCandidates({ tables, reads }: Candidates): void {
    const values = facts.numbers
    for (const { index, compute } of reads) {
      if (Number.isNaN(values[index])) values[index] = compute!(facts.ask)
    }
    for (let i = 0; i < tables.length; i++) tryTable(tables[i]!, values[tables[i]!.factIndex]!)
  }

  function tryTable({ falling, least, most, rest, numbers }: GuardTable, value: number): void {
    for (let i = 0; i < numbers.length; i++) {
      if (falling ? !(most[i]! >= value) : !(least[i]! <= value)) return
      if (value > most[i]!) continue
      const test = rest[i]!
      if (test === null || test(facts)) hits.push(numbers[i]!)
    }
  }

  return (ask, shadowed = noRules) => {
    const index = indexes.get(ask.event.requestType)
    if (index === undefined) return noVerdict
    fill(ask)
    hits.length = 0
    for (const { textIndex, byValue } of index.keyed) {
      const candidates = byValue.get(facts.texts[textIndex]!)
      if (candidates !== undefined) tryCandidates(candidates)
    }
    tryCandidates(index.others)
    return hits.length === 0 ? noVerdict : verdictOf(hits, rules, ask, shadowed)
  }
}

function verdictOf(
  hits: number[],
  rules: readonly EvaluatedRule[],
  { card }: AskFacts,
  shadowed: ReadonlySet<string>,
): RuleVerdict {
  if (hits.length > 1) hits.sort((a, b) => a - b)
  const isEnforced = ({ id, mode, rollout }: EvaluatedRule) =>
    mode === 'enforce' &&
    (rollout === null || isRolledOut(rollout, card.cardId)) &&
    !shadowed.has(id)
  const isAllowed = allowancesOf(hits.map((number) => rules[number]!).filter(isEnforced))
  const verdict = createVerdict()
  let last = -1
  for (const number of hits) {
    if (number === last) continue
    last = number
    const rule = rules[number]!
    verdict.add(rule, isEnforced(rule) && !isAllowed(rule))
  }
  return verdict.said()
}

/** An allowed rule records as one in shadow does; what declines nothing stays, a review that approves too. */
function allowancesOf(enforced: readonly EvaluatedRule[]): (rule: EvaluatedRule) => boolean {
  let all = false
  // One set for all of them: thousands of rules may match, and thousands of others allow.
  const ids = new Set<string>()
  for (const { action } of enforced) {
    if (action.does !== 'allow') continue
    if (action.over === 'all') all = true
    else for (const id of action.over) ids.add(id)
  }
  return ({ id, action }) => declineCodeOf(action) !== '000' && (all || ids.has(id))
}

function createVerdict() {
  const matched: string[] = []
  const shadow: string[] = []
  const tags = new Set<string>()
  let decline: RuleVerdict['decline'] = null
  const allowances: Allowance[] = []
  let review = false
  return {
    add({ id, action }: EvaluatedRule, enforced: boolean): void {
      const recorded = enforced ? matched.length - tags.size : shadow.length
      if (recorded < maxRecordedMatches) (enforced ? matched : shadow).push(id)
      if (action.does === 'allow' && action.above.length > 0) {
        allowances.push({ ruleId: id, above: action.above, enforced })
      }
      if (!enforced) return
      if (action.does === 'tag' && !tags.has(action.tag) && tags.size < maxRecordedMatches) {
        tags.add(action.tag)
        matched.push(`${tagPrefix}${action.tag}`)
      }
      if (action.does === 'review') review = true
      const code = declineCodeOf(action)
      if (code !== '000' && decline === null) decline = { ruleId: id, code }
    },
    said: (): RuleVerdict => {
      const verdict = { matched, shadow, decline, ...(review && { review }) }
      return allowances.length > 0 ? { ...verdict, allowances } : verdict
    },
  }
}
