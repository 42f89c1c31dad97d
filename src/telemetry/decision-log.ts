import type { CardEvent } from '../domain/event.ts'
import type { Answer } from '../domain/event-record.ts'
import type { Timing } from '../engine/item.ts'
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
  readonly timing: Timing | null
  readonly totalMs: number
}

/** Fields by allowlist: what is not named here is never logged. */
export function logDecision(logger: Logger, decided: Decided): void {
  const { event, answer, trace, arrivalMs, timing, totalMs } = decided
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
      ...(answer.ruleId === '' ? {} : { ruleId: answer.ruleId }),
      rulesVersion: answer.rulesVersion,
      ms: {
        arrival: rounded(arrivalMs),
        ...(timing === null
          ? {}
          : {
              queue: rounded(timing.queueMs),
              decide: rounded(timing.decideMs),
              commit: rounded(timing.commitMs),
            }),
        total: rounded(totalMs),
      },
    },
    'decided',
  )
}

function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000
}
