import { isCurrency } from '../domain/record/currency.ts'
import { requestTypes } from '../domain/record/event.ts'
import { createCodec, RecordUnreadable } from '../engine/format/row-codec.ts'

/** What rows of the transactions list tell of: events of the relay, and movements of money. */
export const transactionTypes = [
  ...(Object.keys(requestTypes) as (keyof typeof requestTypes)[]),
  'Expiry',
  'TopUp',
  'Withdrawal',
  'TransferIn',
  'TransferOut',
  'InitialFunding',
  'Regularization',
  'CrossBorderCharge',
  'Adjustment',
] as const
export type TransactionType = (typeof transactionTypes)[number]

/** Asks are approved or declined; an advice is booked, or kept for people. */
export const rowStatuses = ['Approved', 'Declined', 'Booked', 'Unmatched'] as const
export type RowStatus = (typeof rowStatuses)[number]

/** One row of the transactions list. It follows from the log: an absent text is '', an absent time 0. */
export interface TransactionRow {
  readonly accountId: string
  /** The number of the entry that made it, within its account. */
  readonly n: number
  /** Tells several rows of one entry apart. */
  readonly part: number
  /** The number of the entry that changed it last. */
  readonly revision: number
  readonly bookedAtMs: number
  readonly organizationId: string
  readonly type: TransactionType
  readonly status: RowStatus
  readonly cardId: string
  readonly customerId: string
  readonly amountMinor: number | null
  readonly currency: string
  readonly transactionId: string
  readonly eventId: string
  /** What its event is kept under; '' when that is the event's id. */
  readonly eventKey: string
  readonly occurredAtMs: number
  readonly code: string
  readonly mid: string
  readonly mcc: string
  readonly merchantName: string
  readonly merchantCity: string
  readonly merchantCountry: string
  readonly decidedBy: string
  readonly cause: string
  readonly ruleId: string
  readonly approvedAmountMinor: number | null
  readonly merchantAmountMinor: number
  readonly merchantCurrency: string
  readonly transferId: string
  readonly relatedCardId: string
  readonly reference: string
}

export const blankRow: TransactionRow = {
  accountId: '',
  n: 0,
  part: 0,
  revision: 0,
  bookedAtMs: 0,
  organizationId: '',
  type: 'Adjustment',
  status: 'Booked',
  cardId: '',
  customerId: '',
  amountMinor: null,
  currency: '',
  transactionId: '',
  eventId: '',
  eventKey: '',
  occurredAtMs: 0,
  code: '000',
  mid: '',
  mcc: '',
  merchantName: '',
  merchantCity: '',
  merchantCountry: '',
  decidedBy: 'engine',
  cause: '',
  ruleId: '',
  approvedAmountMinor: null,
  merchantAmountMinor: 0,
  merchantCurrency: '',
  transferId: '',
  relatedCardId: '',
  reference: '',
}

/** Nobody can show an amount of one that is none: a single row would keep all lists that it is in from being shown. */
function readCurrency(json: unknown): string {
  if (json === '' || (typeof json === 'string' && isCurrency(json))) return json
  throw new RecordUnreadable('it is no currency')
}

const cells = (r: TransactionRow): [number, ...unknown[]] => [
  1,
  r.accountId,
  r.n,
  r.part,
  r.revision,
  r.bookedAtMs,
  r.organizationId,
  r.type,
  r.status,
  r.cardId,
  r.customerId,
  r.amountMinor,
  r.currency,
  r.transactionId,
  r.eventId,
  r.eventKey,
  r.occurredAtMs,
  r.code,
  r.mid,
  r.mcc,
  r.merchantName,
  r.merchantCity,
  r.merchantCountry,
  r.decidedBy,
  r.cause,
  r.ruleId,
  r.approvedAmountMinor,
  r.merchantAmountMinor,
  r.merchantCurrency,
  r.transferId,
  r.relatedCardId,
  r.reference,
]

export const transactionRowCodec = createCodec<TransactionRow>(blankRow, cells, {
  currency: readCurrency,
  merchantCurrency: readCurrency,
})
