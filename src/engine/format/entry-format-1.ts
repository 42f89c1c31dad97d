import type { Entry } from '../../domain/ledger/entry.ts'
import type { CardEvent } from '../../domain/record/event.ts'

/** Log entries as they were first kept: objects with names, without the fields at their default. */
const blankEntry: Entry = {
  kind: 'event',
  n: 0,
  atMs: 0,
  accountId: '',
  cardId: '',
  transaction: ['', ''],
  linked: null,
  eventKey: '',
  event: null,
  slot: '',
  answer: null,
  anomalies: [],
  unmatched: '',
  matchedRules: [],
  shadowRules: [],
  reason: '',
  changes: [],
}

const blankEvent: CardEvent = {
  eventId: '',
  requestType: 'Authorization',
  transactionId: '',
  originalTransactionId: '',
  cardId: '',
  amountMinor: null,
  currency: '',
  final: null,
  partialApprovalSupported: false,
  merchant: { mid: '', mcc: '', name: '', city: '', country: '' },
  channel: '',
  entryMode: '',
  merchantAmountMinor: 0,
  merchantCurrency: '',
  occurredAtMs: 0,
}

export function readNamedEntry(json: Partial<Entry>): Entry {
  const { event } = json
  return {
    ...blankEntry,
    ...json,
    event: event
      ? { ...blankEvent, ...event, merchant: { ...blankEvent.merchant, ...event.merchant } }
      : null,
  }
}
