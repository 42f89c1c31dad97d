import { noAccount } from '../../dist/domain/record/account.js'
import { noCard } from '../../dist/domain/record/card.js'
import { newTransaction } from '../../dist/domain/record/transaction.js'

/** What the rules of one decision are asked about. */
export function askOf(given) {
  const event = {
    eventId: 'e',
    requestType: 'Authorization',
    transactionId: 't',
    originalTransactionId: '',
    cardId: 'C1',
    amountMinor: 0,
    currency: 'USD',
    final: null,
    partialApprovalSupported: false,
    merchant: { mid: '', mcc: '', name: 'Shop', city: 'Lagos', country: '' },
    channel: '',
    entryMode: '',
    merchantAmountMinor: 0,
    merchantCurrency: '',
    occurredAtMs: 0,
    ...given,
  }
  const account = { ...noAccount, country: 'US', currency: 'USD', postedMinor: 1_000_000 }
  return { event, account, card: noCard, transaction: newTransaction('C1', 't'), atMs: Date.now() }
}
