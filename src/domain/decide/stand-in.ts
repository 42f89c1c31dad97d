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
 * What a small purchase takes from the funds when it is approved from memory, within the bounds of the policy; null when
 * it is not. All checks and rules are asked as always, with what earlier approvals from memory took gone from the funds.
 * Cash is never approved so, because what is dispensed does not come back.
 */
export function standInMinor(
  event: CardEvent,
  view: View,
  pack: Pack,
  receivedAtMs: number,
  before: StandIns,
  /** Its answer, where the view has what it did already: asked again, it would count twice. */
  decided: Answer | null,
): number | null {
  const policy = pack.switches.standIn
  const amountMinor = event.amountMinor ?? 0
  const { currency } = view.account
  if (policy === null || event.requestType === 'CashWithdrawal' || amountMinor === 0) return null
  if (view.card.cardId === '' || amountMinor > (policy.maxMinor[currency] ?? 0)) return null
  if (before.cardCount >= policy.perCardCount) return null
  const totalMinor = before.cardTotalMinor + amountMinor
  if (totalMinor > (policy.perCardTotalMinor[currency] ?? 0)) return null
  const known = decided ?? view.event?.answer
  if (known) return isWhole(known) ? amountMinor : null
  const heldMinor = view.account.heldMinor + before.accountTotalMinor
  const account = { ...view.account, heldMinor }
  const fresh = decide(event, { ...view, account }, pack, receivedAtMs)
  // The hold of an adjusted one is larger; of one that joins others not yet booked it may look smaller.
  return isWhole(fresh) ? Math.max(amountMinor, fresh.after.account.heldMinor - heldMinor) : null
}

function isWhole({ code, approvedAmountMinor }: Pick<Answer, 'code' | 'approvedAmountMinor'>) {
  return code === '000' && approvedAmountMinor === null
}
