import type { CardEvent } from '../domain/record/event.ts'
import type { Answer } from '../domain/record/event-record.ts'
import type { Origin } from '../engine/item.ts'
import { quote } from '../wire/quote.ts'
import type { LogSink } from './logger.ts'
import { maskPan } from './mask.ts'

/** One answer as it is told to logs and metrics. */
export interface AnsweredEvent {
  readonly event: CardEvent
  readonly answer: Answer
  readonly trace: string
  /** From the arrival of the head of the request to the event's being understood. */
  readonly arrivalMs: number
  /** null when the watchdog spoke. */
  readonly origin: Origin | null
  readonly totalMs: number
}

/**
 * The line of a decision, as text: a logger that is handed an object looks at each of its fields, and this
 * is the one line that every event has. Fields by allowlist: what is not named here is never logged.
 */
export function logDecision({ write }: Pick<LogSink, 'write'>, answered: AnsweredEvent): void {
  const { event, answer, trace, arrivalMs, origin, totalMs } = answered
  let fields = `"trace":${quote(trace)},"eventId":${masked(event.eventId)},"requestType":"${event.requestType}","transactionId":${masked(event.transactionId)},"cardId":${masked(event.cardId)},"amountMinor":${event.amountMinor},"currency":${quote(event.currency)},"mcc":${quote(event.merchant.mcc)},"code":"${answer.code}","decidedBy":"${answer.decidedBy}"`
  if (answer.cause !== '') fields += `,"cause":"${answer.cause}"`
  if (answer.ruleId !== '') fields += `,"ruleId":${masked(answer.ruleId)}`
  if (origin !== null) {
    if (origin.duplicate) fields += ',"duplicate":true'
    fields += listed('matched', origin.matchedRules) + listed('shadow', origin.shadowRules)
  }
  fields += `,"rulesVersion":${quote(answer.rulesVersion)},"ms":{"arrival":${rounded(arrivalMs)}`
  if (origin !== null) {
    const { queueMs, decideMs, commitMs } = origin
    fields += `,"queue":${rounded(queueMs)},"decide":${rounded(decideMs)},"commit":${rounded(commitMs)}`
  }
  write(`${fields},"total":${rounded(totalMs)}}`, 'decided')
}

/** More are in the log of decisions. */
const maxListed = 20

function listed(name: string, ids: readonly string[]): string {
  if (ids.length === 0) return ''
  return `,"${name}":[${ids.slice(0, maxListed).map(masked).join(',')}]`
}

function masked(id: string): string {
  return quote(maskPan(id))
}

function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000
}
