import type { Above } from '../../domain/decide/pack.ts'
import type { ResponseCode } from '../../domain/record/response-code.ts'
import type { RuleFile } from './rule-file.ts'

/** What a rule does where it matches. */
export type RuleAction =
  | { readonly does: 'decline'; readonly code: ResponseCode }
  /** Puts the ask on the list for people; 000 approves it for all that the rule says. */
  | { readonly does: 'review'; readonly code: ResponseCode }
  /** Takes away the declines of these rules, or of all, and those of the checks that it names. */
  | {
      readonly does: 'allow'
      readonly over: readonly string[] | 'all'
      readonly above: readonly Above[]
    }
  /** Only records the tag. */
  | { readonly does: 'tag'; readonly tag: string }

export function actionOf({ decline, review, allow, tag }: RuleFile): RuleAction {
  if (review !== undefined) {
    return { does: 'review', code: (review === 'approve' ? '000' : review) as ResponseCode }
  }
  if (allow !== undefined) {
    const plain = allow === 'all' || Array.isArray(allow)
    const { rules, above } = plain ? { rules: allow, above: [] } : allow
    return { does: 'allow', over: rules, above }
  }
  if (tag !== undefined) return { does: 'tag', tag }
  return { does: 'decline', code: decline as ResponseCode }
}

/** The code that the action declines with; 000 when it declines nothing. */
export function declineCodeOf(action: RuleAction): ResponseCode {
  return 'code' in action ? action.code : '000'
}

/** Tags stand among the rules that matched, told apart by this. */
export const tagPrefix = 'tag:'

/** The checks that some rule may allow above; undefined when there is none. */
export function abovesOf(
  rules: readonly { readonly action: RuleAction }[],
): { readonly above: ReadonlySet<Above> } | undefined {
  const above = new Set(rules.flatMap(({ action }) => ('above' in action ? action.above : [])))
  return above.size === 0 ? undefined : { above }
}
