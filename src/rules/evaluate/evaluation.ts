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

/** More than this many matches of one ask are not recorded; the decline is always the first. */
const maxRecordedMatches = 100

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
  const allows: Over[] = []
  for (const number of hits) {
    const rule = rules[number]!
    if (rule.action.does === 'allow' && isEnforced(rule)) allows.push(rule.action.over)
  }
  const verdict = createVerdict()
  let last = -1
  for (const number of hits) {
    if (number === last) continue
    last = number
    const rule = rules[number]!
    const enforced = isEnforced(rule) && !allows.some((over) => isOver(over, rule))
    verdict.add(rule, enforced)
  }
  return verdict.said()
}

type Over = readonly string[] | 'all'

/** An allowed rule records as one in shadow does; what declines nothing stays, a review that approves too. */
function isOver(over: Over, { id, action }: EvaluatedRule): boolean {
  if (declineCodeOf(action) === '000') return false
  return over === 'all' || over.includes(id)
}

function createVerdict() {
  const matched: string[] = []
  const shadow: string[] = []
  let decline: RuleVerdict['decline'] = null
  const allowances: Allowance[] = []
  let review = false
  return {
    add({ id, action }: EvaluatedRule, enforced: boolean): void {
      const ids = enforced ? matched : shadow
      if (ids.length < maxRecordedMatches) ids.push(id)
      if (action.does === 'allow' && action.above.length > 0) {
        allowances.push({ ruleId: id, above: action.above, enforced })
      }
      if (!enforced) return
      if (action.does === 'tag') {
        const tag = `${tagPrefix}${action.tag}`
        if (!matched.includes(tag)) matched.push(tag)
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
