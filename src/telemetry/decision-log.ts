import type { CardEvent } from '../domain/event.ts'
import type { Answer } from '../domain/event-record.ts'
import type { Origin } from '../engine/item.ts'
import type { Logger } from './logger.ts'
import { maskPan } from './mask.ts'

/** One decision as it is told to logs and metrics. */
export interface Decided {
  readonly event: CardEvent
  readonly answer: Answer
  readonly trace: string
  /** From the arrival of the head of the request to the event's being understood. */
  readonly arrivalMs: number
  /** null when the watchdog spoke. */
  readonly origin: Origin | null
  readonly totalMs: number
}

/** Fields by allowlist: what is not named here is never logged. */
export function logDecision(logger: Logger, decided: Decided): void {
  const { event, answer, trace, arrivalMs, origin, totalMs } = decided
  logger.info(
    {
      trace,
      eventId: maskPan(event.eventId),
      requestType: event.requestType,
      transactionId: maskPan(event.transactionId),
      cardId: maskPan(event.cardId),
      amountMinor: event.amountMinor,
      currency: event.currency,
      mcc: event.merchant.mcc,
      code: answer.code,
      decidedBy: answer.decidedBy,
      ...(answer.cause === '' ? {} : { cause: answer.cause }),
      ...(answer.ruleId === '' ? {} : { ruleId: maskPan(answer.ruleId) }),
      ...listed('matched', origin?.matchedRules),
      ...listed('shadow', origin?.shadowRules),
      rulesVersion: answer.rulesVersion,
      ms: {
        arrival: rounded(arrivalMs),
        ...(origin === null
          ? {}
          : {
              queue: rounded(origin.queueMs),
              decide: rounded(origin.decideMs),
              commit: rounded(origin.commitMs),
            }),
        total: rounded(totalMs),
      },
    },
    'decided',
  )
}

/** More are in the log of decisions. */
const maxListed = 20

function listed(name: string, ids: readonly string[] = []): Record<string, readonly string[]> {
  return ids.length === 0 ? {} : { [name]: ids.slice(0, maxListed).map(maskPan) }
}

function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000
}
