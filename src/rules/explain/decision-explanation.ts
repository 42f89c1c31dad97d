import { arrivalMs } from '../../domain/change/draft.ts'
import type { View } from '../../domain/change/view.ts'
import { passChecks } from '../../domain/decide/allowance.ts'
import { openAsk } from '../../domain/decide/ask.ts'
import { checkId, checks, fundsCheck } from '../../domain/decide/check.ts'
import { decide } from '../../domain/decide/decide.ts'
import { inShadow, withBlocks } from '../../domain/decide/pack.ts'
import { noStandIns, standInMinor } from '../../domain/decide/stand-in.ts'
import { availableMinor } from '../../domain/record/account.ts'
import { type Block, blockId } from '../../domain/record/block.ts'
import { type CardEvent, isAsk } from '../../domain/record/event.ts'
import { formatMinor } from '../../domain/record/money.ts'
import type { ResponseCode } from '../../domain/record/response-code.ts'
import type { CompiledPack } from '../pack/compiled-pack.ts'
import { type ExplainedRule, explainRules } from './explanation.ts'

interface ExplainedCheck {
  readonly name: string
  readonly code: ResponseCode
  /** Not asked: checks after a failed one, and checks of money for a zero amount. */
  readonly outcome: 'passed' | 'failed' | 'allowed' | 'not asked'
}

/** What counts beside the pack: the rules that only record, each with why, and the emergency list. */
export interface Surroundings {
  readonly spared: ReadonlyMap<string, string>
  readonly blocks: readonly Block[]
  /** The rules that did not match, whatever what is still known says, with why; absent for none. */
  readonly unmatched?: ReadonlyMap<string, string>
}

const nobody: ReadonlyMap<string, string> = new Map()
const calm: Surroundings = { spared: nobody, blocks: [] }

export interface ExplainedDecision {
  readonly code: ResponseCode
  /** The check or the rule that declined; both '' for an approval. */
  readonly check: string
  readonly ruleId: string
  readonly approvedAmount: string
  readonly shadowRules: readonly string[]
  readonly atMs: number
  /** In order, funds last; none for an advice, which is always acknowledged. */
  readonly checks: readonly ExplainedCheck[]
  readonly rules: readonly ExplainedRule[]
  /** The emergency blocks that the ask meets, which come before the rules. */
  readonly blocks: readonly Block[]
  /** Whether it is approved from memory while the store is away; null where the pack allows none. */
  readonly standsIn: boolean | null
  readonly funds: { readonly holds: string; readonly available: string } | null
}

/** Decides as a server would, without changing anything, and explains every check and rule. */
export function explainDecision(
  event: CardEvent,
  view: View,
  pack: CompiledPack,
  receivedAtMs: number,
  { spared, blocks, unmatched = nobody }: Surroundings = calm,
): ExplainedDecision {
  const armed = inShadow(pack, new Set([...spared.keys(), ...unmatched.keys()]))
  const used = withBlocks(armed, blocks)
  const decided = decide(event, view, used, receivedAtMs)
  const { code, ruleId, matchedRules, approvedAmountMinor } = decided
  const shadowRules = decided.shadowRules.filter((id) => !unmatched.has(id))
  const approvedAmount =
    approvedAmountMinor === null ? '' : formatMinor(approvedAmountMinor, event.currency)
  const atMs = arrivalMs(view, receivedAtMs)
  const told = { code, ruleId, shadowRules, approvedAmount, atMs }
  const nothing = { check: '', checks: [], rules: [], blocks: [], standsIn: null, funds: null }
  if (!isAsk(event)) return { ...told, ...nothing }
  const ask = openAsk(event, view, used, atMs)
  const zero = ask.amountMinor === 0
  const { failed, taken } = passChecks(ask)
  const asked = [...checks, fundsCheck]
  // The funds are looked at last, and not when a rule has declined.
  const last = failed ?? (code === fundsCheck.code && ruleId === '' ? fundsCheck : undefined)
  const outcomeOf = (at: number): ExplainedCheck['outcome'] => {
    const one = asked[at]!
    if (one === last) return 'failed'
    if (taken.includes(one) || shadowRules.includes(checkId(one))) return 'allowed'
    const reached = last === undefined || at < asked.indexOf(last)
    const declined = one === fundsCheck && ruleId !== ''
    return reached && !declined && (one.ofZero || !zero) ? 'passed' : 'not asked'
  }
  const { account, sums } = ask
  return {
    ...told,
    check: last?.name ?? '',
    checks: asked.map(({ name, code }, at) => ({ name, code, outcome: outcomeOf(at) })),
    rules: explainRules(pack, ask, spared).map((one) => {
      const why = one.matched ? unmatched.get(one.rule.id) : undefined
      if (why !== undefined) {
        return { ...one, asleep: why, matched: false, spared: '', parts: [], unless: null }
      }
      const allowed = one.matched && one.spared === '' && shadowRules.includes(one.rule.id)
      return allowed ? { ...one, spared: 'another rule allows it' } : one
    }),
    blocks: blocks.filter(
      (block) =>
        matchedRules.includes(blockId(block)) &&
        (block.kind !== 'card' || block.value === event.cardId),
    ),
    standsIn:
      pack.switches.standIn === null
        ? null
        : standInMinor(event, view, used, receivedAtMs, noStandIns, null) !== null,
    funds: {
      holds: formatMinor(Math.max(0, sums.openRise), event.currency),
      available: formatMinor(availableMinor(account), account.currency || event.currency),
    },
  }
}
