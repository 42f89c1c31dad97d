import type { Logger } from './logger.ts'
import { createPacedLog } from './paced-log.ts'

/** A request that never became an event. */
export interface RefusedCall {
  readonly status: number
  /** Why, in our own words; nothing of the request is in it. */
  readonly reason: string
  readonly peer: string
}

export function createRefusalLog(logger: Pick<Logger, 'warn'>): (call: RefusedCall) => void {
  return createPacedLog(
    ({ status }) => status,
    (count, { status, reason, peer }) => logger.warn({ status, count, reason, peer }, 'refused'),
  )
}
