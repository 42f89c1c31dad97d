import type { Entry } from '../../domain/ledger/entry.ts'
import { type ResponseCode, reasonOf } from '../../domain/record/response-code.ts'
import type { Delivered } from '../flow.ts'
import { packCursor } from '../office.ts'
import type { DecisionRow, ShownTiming } from '../shape/decision.ts'

/** Names of merchants come from anybody; no page needs more of one. */
const maxNameChars = 200

export function isDecision(entry: Entry): boolean {
  return (entry.kind === 'event' || entry.kind === 'said') && entry.event !== null
}

export function decisionRow(
  cursor: string,
  entry: Entry,
  delivered: Delivered | null,
): DecisionRow {
  const { event, answer } = entry
  const { mid = '', mcc = '', name = '', city = '', country = '' } = event?.merchant ?? {}
  return {
    cursor: packCursor(cursor),
    atMs: entry.atMs,
    kind: entry.kind,
    requestType: event?.requestType ?? '',
    eventId: event?.eventId ?? '',
    cardId: event?.cardId || entry.cardId,
    accountId: entry.accountId,
    transactionId: event?.transactionId || entry.transaction[1],
    amountMinor: event?.amountMinor ?? null,
    currency: event?.currency ?? '',
    merchant: { mid, mcc, name: shortened(name), city: shortened(city), country },
    code: answer?.code ?? '',
    reason: answer === null ? '' : reasonOf(answer.code as ResponseCode),
    decidedBy: answer?.decidedBy ?? '',
    cause: answer?.cause ?? '',
    ruleId: answer?.ruleId ?? '',
    shadowRules: entry.shadowRules,
    unmatched: entry.unmatched,
    anomalies: entry.anomalies,
    repeated: entry.kind === 'event' && !entry.changes.some(({ type }) => type === 'recorded'),
    totalMs: delivered?.totalMs ?? null,
  }
}

function shortened(text: string): string {
  return text.length <= maxNameChars ? text : `${text.slice(0, maxNameChars)}…`
}

export function timingOf(delivered: Delivered): ShownTiming {
  const { arrivalMs, queueMs, decideMs, commitMs, totalMs, duplicate } = delivered
  return { arrivalMs, queueMs, decideMs, commitMs, totalMs, duplicate }
}
