import type { AnsweredCall } from '../api/server.ts'
import { quote } from '../wire/quote.ts'
import type { LogSink } from './logger.ts'
import { maskPan } from './mask.ts'

/**
 * One line for each call of the management API: who, what and how it ended; never what was in it. As text: the gate
 * writes it, beside decisions.
 */
export function logApiCall({ write }: Pick<LogSink, 'write'>, call: AnsweredCall): void {
  const { operation, status, code, clientId, requestId } = call
  const card = call.cardId === '' ? '' : `,"cardId":${masked(call.cardId)}`
  const who = `"clientId":${quote(clientId)},"reference":${masked(call.reference)}${card}`
  const ms = Math.round(call.ms * 10) / 10
  write(
    `"operation":"${operation}","status":${status},"code":"${code}",${who},"ms":${ms},"requestId":"${requestId}"`,
    'api',
  )
}

function masked(id: string): string {
  return quote(maskPan(id))
}
