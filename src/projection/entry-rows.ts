import type { Change } from '../domain/change/change.ts'
import type { Entry } from '../domain/ledger/entry.ts'
import { isAsk } from '../domain/record/event.ts'
import type { Answer } from '../domain/record/event-record.ts'
import { blankRow, type RowStatus, type TransactionRow } from './row.ts'

/** Whose rows they are. */
export interface RowOwner {
  readonly organizationId: string
  readonly customerId: string
  readonly currency: string
}

/** What the rows of an entry are; they follow from it alone, so that a repetition makes the same ones. */
export function rowsOf(entry: Entry, owner: RowOwner): TransactionRow[] {
  const rows: TransactionRow[] = []
  const recorded = changeOf(entry, 'recorded')
  const told = entry.kind === 'event' || entry.kind === 'said' || entry.kind === 'booked'
  if (told && recorded !== undefined && entry.event !== null) {
    rows.push(eventRow(entry, owner, recorded.record.answer))
  }
  for (const change of entry.changes) {
    const row = movementOf(change, entry)
    if (row !== null)
      rows.push({ ...baseOf(entry, owner), ...unanswered, ...row, part: rows.length })
  }
  return rows
}

/** The row of an event as it is after a later word on its answer. */
export function rowAnsweredAgain(row: TransactionRow, entry: Entry): TransactionRow {
  const changed = changeOf(entry, 'answerChanged')!
  return { ...row, ...answered(entry, changed.answer), revision: entry.n }
}

export function changesAnswer(entry: Entry): boolean {
  return changeOf(entry, 'answerChanged') !== undefined && entry.event !== null
}

/** For an answer that was changed when nobody has the row of its event any more. */
export function rowOfChangedAnswer(entry: Entry, owner: RowOwner): TransactionRow {
  return eventRow(entry, owner, changeOf(entry, 'answerChanged')!.answer)
}

function changeOf<T extends Change['type']>(
  { changes }: Entry,
  type: T,
): Extract<Change, { type: T }> | undefined {
  return changes.find((change) => change.type === type) as Extract<Change, { type: T }> | undefined
}

function baseOf(entry: Entry, owner: RowOwner): TransactionRow {
  return {
    ...blankRow,
    ...owner,
    accountId: entry.accountId,
    n: entry.n,
    revision: entry.n,
    bookedAtMs: entry.atMs,
    cardId: entry.cardId,
    transactionId: entry.transaction[1],
  }
}

/** Written out, because most rows are made here and a literal with several spreads is slow. */
function eventRow(entry: Entry, owner: RowOwner, answer: Answer): TransactionRow {
  const event = entry.event!
  const { merchant } = event
  return {
    accountId: entry.accountId,
    n: entry.n,
    part: 0,
    revision: entry.n,
    bookedAtMs: entry.atMs,
    organizationId: owner.organizationId,
    type: event.requestType,
    status: statusOf(entry, answer.code),
    cardId: entry.cardId,
    customerId: owner.customerId,
    amountMinor: event.amountMinor,
    currency: event.currency,
    transactionId: entry.transaction[1],
    eventId: event.eventId,
    eventKey: entry.eventKey === event.eventId ? '' : entry.eventKey,
    occurredAtMs: event.occurredAtMs,
    code: answer.code,
    mid: merchant.mid,
    mcc: merchant.mcc,
    merchantName: merchant.name,
    merchantCity: merchant.city,
    merchantCountry: merchant.country,
    decidedBy: answer.decidedBy,
    cause: answer.cause,
    ruleId: answer.ruleId,
    approvedAmountMinor: answer.approvedAmountMinor,
    merchantAmountMinor: event.merchantAmountMinor,
    merchantCurrency: event.merchantCurrency,
    transferId: '',
    relatedCardId: '',
    reference: '',
  }
}

function answered(entry: Entry, answer: Answer) {
  const { code, decidedBy, cause, ruleId, approvedAmountMinor } = answer
  return { status: statusOf(entry, code), code, decidedBy, cause, ruleId, approvedAmountMinor }
}

function statusOf({ event, unmatched }: Entry, code: string): RowStatus {
  if (isAsk(event!)) return code === '000' ? 'Approved' : 'Declined'
  return unmatched === '' ? 'Booked' : 'Unmatched'
}

/** Nobody asked for it. */
const unanswered = { code: '', decidedBy: '' }

const adjustmentKey = 'adjust·'

/** A change that is a row of its own, whatever else its entry says. */
function movementOf(change: Change, entry: Entry): Partial<TransactionRow> | null {
  const { eventKey } = entry
  switch (change.type) {
    case 'expired':
      return { type: 'Expiry', amountMinor: change.releasedMinor ?? null }
    case 'chargeDue':
      return chargeOf(change.takenMinor)
    case 'chargeReturned':
      return chargeOf(-change.takenMinor)
    case 'chargeTaken':
      return chargeOf(change.amountMinor, callOf(entry))
    case 'moved': {
      const { type, transferId, relatedCardId, reference, takesBack } = change.movement
      const moved = Math.abs(change.amountMinor)
      // What was taken back stands beside what was taken, with the other sign.
      const amountMinor = takesBack ? -moved : moved
      return { type, amountMinor, transactionId: '', transferId, relatedCardId, reference }
    }
    case 'transferred':
      return {
        type: 'Adjustment',
        amountMinor: change.amountMinor,
        transactionId: '',
        reference: eventKey.startsWith(adjustmentKey) ? eventKey.slice(adjustmentKey.length) : '',
      }
    default:
      return null
  }
}

/** What is only due so far moves nothing. */
function chargeOf(amountMinor: number, reference = ''): Partial<TransactionRow> | null {
  return amountMinor === 0 ? null : { type: 'CrossBorderCharge', amountMinor, reference }
}

/** The Reference of the call of the management API that an entry is from; '' for any other. */
function callOf({ origin = '' }: Entry): string {
  const [by, , reference = ''] = origin.split(' ')
  return by === 'api' ? reference : ''
}
