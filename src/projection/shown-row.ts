import { majorOf } from '../domain/record/money.ts'
import { isResponseCode, reasonOf } from '../domain/record/response-code.ts'
import type { TransactionRow } from './row.ts'

/** A row for people, the API and webhooks; amounts in major units. */
export function shownRow(row: TransactionRow) {
  const { currency, merchantCurrency, approvedAmountMinor, cause, ruleId, code } = row
  return {
    transactionType: row.type,
    status: row.status,
    transactionId: row.transactionId || null,
    relayEventId: row.eventId || null,
    transferId: row.transferId || null,
    cardId: row.cardId || null,
    customerId: row.customerId || null,
    accountId: row.accountId,
    relatedCardId: row.relatedCardId || null,
    amount: row.amountMinor === null ? null : majorOf(row.amountMinor, currency),
    currency,
    ...(approvedAmountMinor !== null && { approvedAmount: majorOf(approvedAmountMinor, currency) }),
    ...(merchantCurrency !== '' && {
      merchantAmount: majorOf(row.merchantAmountMinor, merchantCurrency),
      merchantCurrency,
    }),
    responseCode: code || null,
    reason: isResponseCode(code) ? reasonOf(code) : null,
    decidedBy: row.decidedBy || null,
    ...(cause !== '' && { cause }),
    ...(ruleId !== '' && { ruleId }),
    merchant: row.eventId === '' ? null : merchantOf(row),
    reference: row.reference || null,
    occurredAt: row.occurredAtMs === 0 ? null : new Date(row.occurredAtMs).toISOString(),
    bookedAt: new Date(row.bookedAtMs).toISOString(),
  }
}

function merchantOf({ mid, mcc, merchantName, merchantCity, merchantCountry }: TransactionRow) {
  return {
    mid: mid || null,
    mcc: mcc || null,
    name: merchantName || null,
    city: merchantCity || null,
    country: merchantCountry || null,
  }
}
