import { majorOf } from '../../domain/record/money.ts'
import type { Transfer } from './transfer.ts'

/** The `data` of the answer to a transfer that has arrived: the same, whoever closes it. */
export function answerOf(transfer: Transfer, toAfter: unknown, closedAtMs: number): object {
  const { id: transferId, type, currency, amountMinor, from, to, fromAfter, data } = transfer
  if (data !== null) {
    return { ...data, balances: toAfter, ...(amountMinor === 0 ? {} : { transferId }) }
  }
  const amount = majorOf(amountMinor, currency)
  const moved = { transferId, type, amount, currency }
  const completedAt = new Date(closedAtMs).toISOString()
  if (from.kind === 'wallet') {
    const cardId = to.kind === 'card' ? to.cardId : ''
    return { ...moved, cardId, balances: toAfter, wallet: fromAfter, completedAt }
  }
  const { cardId } = from
  if (to.kind === 'wallet') {
    return { ...moved, cardId, balances: fromAfter, wallet: toAfter, completedAt }
  }
  const beneficiary = { beneficiaryCardId: to.cardId, beneficiaryBalances: toAfter }
  return { ...moved, cardId, balances: fromAfter, ...beneficiary, completedAt }
}
