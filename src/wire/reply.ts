import { formatMinor } from '../domain/record/money.ts'
import { type ResponseCode, reasonOf } from '../domain/record/response-code.ts'
import { quote } from './quote.ts'
import type { Refusal } from './refusal.ts'

/** What was decided. An absent text is ''. */
export interface Reply {
  readonly eventId: string
  readonly transactionId: string
  readonly decision: 'approve' | 'decline'
  readonly responseCode: ResponseCode
  readonly decidedBy: 'engine' | 'default'
  readonly rulesVersion: string
  readonly ruleId: string
  /** Null unless the approval is partial. */
  readonly approvedAmountMinor: number | null
  readonly currency: string
  readonly cause: string
}

/** Written once and kept: the same event again gets the same bytes, so the order is fixed. */
export function renderReply(reply: Reply): string {
  let json = `{"eventId":${quote(reply.eventId)},"transactionId":${quote(reply.transactionId)},"decision":"${reply.decision}","responseCode":"${reply.responseCode}","reason":${quote(reasonOf(reply.responseCode))},"decidedBy":"${reply.decidedBy}","rulesVersion":${quote(reply.rulesVersion)}`
  if (reply.ruleId !== '') json += `,"ruleId":${quote(reply.ruleId)}`
  if (reply.approvedAmountMinor !== null) {
    json += `,"approvedAmount":${formatMinor(reply.approvedAmountMinor, reply.currency)}`
  }
  if (reply.cause !== '') json += `,"cause":${quote(reply.cause)}`
  return `${json}}`
}

export function renderRefusal(refusal: Refusal): string {
  const field = refusal.field === '' ? '' : `,"field":${quote(refusal.field)}`
  return `{"eventId":${quote(refusal.eventId)},"transactionId":${quote(refusal.transactionId)},"decision":"decline","responseCode":"${refusal.responseCode}","reason":${quote(reasonOf(refusal.responseCode))},"decidedBy":"gate"${field},"message":${quote(refusal.message)}}`
}
