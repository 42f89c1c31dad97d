import type { AnsweredCall } from '../api/server.ts'
import type { LogSink } from './logger.ts'
import { maskPan } from './mask.ts'

/** One line for each call of the management API: who, what and how it ended; never what was in it. */
export function logApiCall({ logger }: LogSink, call: AnsweredCall): void {
  const { operation, status, code, clientId, requestId } = call
  const ms = Math.round(call.ms * 10) / 10
  const reference = maskPan(call.reference)
  const card = call.cardId === '' ? {} : { cardId: maskPan(call.cardId) }
  logger.info({ operation, status, code, clientId, reference, ...card, ms, requestId }, 'api')
}
