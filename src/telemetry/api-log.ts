import type { AnsweredCall } from '../api/server.ts'
import { quote } from '../wire/quote.ts'
import type { LogSink } from './logger.ts'
import { maskPan } from './mask.ts'
import { createPacedLog } from './paced-log.ts'

/** One line for each call of a client; of those that nobody has proven to have sent, one a second for each status. */
export function createApiLog(sink: Pick<LogSink, 'write'>): (call: AnsweredCall) => void {
  const logStranger = createPacedLog<AnsweredCall>(
    ({ status }) => status,
    (count, call) => logApiCall(sink, call, count),
  )
  return (call) => (isProven(call) ? logApiCall(sink, call) : logStranger(call))
}

/** Who asks for a token has said a name, and proven it only when it gets one. */
function isProven({ operation, clientId, status }: AnsweredCall): boolean {
  return operation === 'token' ? status === 200 : clientId !== ''
}

/**
 * Who, what and how it ended; never what was in it. As text: the gate writes it, beside decisions. Of several calls
 * the last is shown.
 */
function logApiCall({ write }: Pick<LogSink, 'write'>, call: AnsweredCall, count = 1): void {
  const { operation, status, code, clientId, requestId } = call
  const card = call.cardId === '' ? '' : `,"cardId":${masked(call.cardId)}`
  const who = `"clientId":${quote(clientId)},"reference":${masked(call.reference)}${card}`
  const ms = Math.round(call.ms * 10) / 10
  const several = count === 1 ? '' : `,"count":${count}`
  write(
    `"operation":"${operation}","status":${status},"code":"${code}",${who},"ms":${ms},"requestId":"${requestId}"${several}`,
    'api',
  )
}

function masked(id: string): string {
  return quote(maskPan(id))
}
