import type { Entry } from '../domain/entry.ts'
import type { CardEvent } from '../domain/event.ts'

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
  reason: '',
  changes: [],
}

/** Log entries keep their names, because people read them; fields at their default are left out. */
export function encodeEntry(entry: Entry): string {
  const { event } = entry
  const row = differing(entry, blankEntry)
  if (event !== null) {
    const merchant = differing(event.merchant, blankEvent.merchant)
    row.event = { ...differing(event, blankEvent), requestType: event.requestType, merchant }
  }
  return JSON.stringify(row)
}

/** What a list for people keeps of an entry: enough to handle it when the log no longer has it. */
export function encodeWork(entry: Entry): string {
  return encodeEntry({ ...entry, slot: '', changes: [] })
}

function differing<T extends object>(value: T, blank: T): Record<string, unknown> {
  const row: Record<string, unknown> = {}
  for (const name in value) {
    const field = value[name]
    if (field === blank[name] || (Array.isArray(field) && field.length === 0)) continue
    row[name] = field
  }
  return row
}

export function decodeEntry(text: string): Entry {
  const json = JSON.parse(text) as Partial<Entry>
  const { event } = json
  return {
    ...blankEntry,
    ...json,
    event: event
      ? { ...blankEvent, ...event, merchant: { ...blankEvent.merchant, ...event.merchant } }
      : null,
  }
}
