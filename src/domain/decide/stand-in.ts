import type { View } from '../change/view.ts'
import type { CardEvent } from '../record/event.ts'
import type { Answer } from '../record/event-record.ts'
import { decide } from './decide.ts'
import type { Pack } from './pack.ts'

/** The approvals from memory since the store went away, which are in no record yet. */
export interface StandIns {
  readonly cardCount: number
  readonly cardTotalMinor: number
  readonly accountTotalMinor: number
}

export const noStandIns: StandIns = { cardCount: 0, cardTotalMinor: 0, accountTotalMinor: 0 }

/**
 * Whether a small purchase is approved from memory, within the bounds of the policy. All checks and rules
 * are asked as always, with earlier approvals from memory taken from the funds. Cash is never approved so,
 * because what is dispensed does not come back.
 */
export function mayStandIn(
  event: CardEvent,
  view: View,
  pack: Pack,
  receivedAtMs: number,
  before: StandIns,
  /** Its answer, where the view has what it did already: asked again, it would count twice. */
  decided: Answer | null,
): boolean {
  const policy = pack.switches.standIn
  const amountMinor = event.amountMinor ?? 0
  const { currency } = view.account
  if (policy === null || event.requestType === 'CashWithdrawal' || amountMinor === 0) return false
  if (view.card.cardId === '' || amountMinor > (policy.maxMinor[currency] ?? 0)) return false
  if (before.cardCount >= policy.perCardCount) return false
  const totalMinor = before.cardTotalMinor + amountMinor
  if (totalMinor > (policy.perCardTotalMinor[currency] ?? 0)) return false
  const heldMinor = view.account.heldMinor + before.accountTotalMinor
  const account = { ...view.account, heldMinor }
  const { code, approvedAmountMinor } =
    decided ?? view.event?.answer ?? decide(event, { ...view, account }, pack, receivedAtMs)
  return code === '000' && approvedAmountMinor === null
}
