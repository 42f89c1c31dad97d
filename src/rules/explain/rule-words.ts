import { reasonOf } from '../../domain/record/response-code.ts'
import { declineCodeOf } from '../pack/action.ts'
import type { Rule } from '../pack/rule.ts'
import type { ExplainedRule } from './explanation.ts'

type Look = Pick<ExplainedRule, 'rule' | 'asleep' | 'matched' | 'spared'>

/** What a rule does to the ask that it was explained for. */
export function ruleWords({ rule, asleep, matched, spared }: Look): string {
  if (!matched) return asleep || 'does not match'
  const but = spared === '' || rule.mode === 'shadow' ? '' : `, but ${spared}`
  return `${actionText(rule, spared === '')}${but}`
}

export function declinesAsk({ rule, matched, spared }: Look): boolean {
  return matched && spared === '' && declineCodeOf(rule.action) !== '000'
}

/** What a rule does, or would do where it does not count. */
export function actionText({ action }: Pick<Rule, 'action'>, enforced: boolean): string {
  const would = enforced ? '' : 'would '
  const s = enforced ? 's' : ''
  switch (action.does) {
    case 'decline':
      return `${would}decline${s} ${action.code} (${reasonOf(action.code)})`
    case 'review': {
      const code = action.code === '000' ? '' : ` and decline${s} ${action.code}`
      return `${would}ask${s} people to look${code}`
    }
    case 'allow': {
      const over = action.over === 'all' ? ['all rules'] : action.over
      return `${would}allow${s} it over ${[...over, ...action.above].join(', ')}`
    }
    case 'tag':
      return `${would}tag${s} it ${action.tag}`
  }
}
