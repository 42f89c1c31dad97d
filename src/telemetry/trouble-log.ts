import type { Logger } from './logger.ts'
import { createPacedLog } from './paced-log.ts'

/** What threads say of themselves: one that cannot start is started again many times a second. */
export function createTroubleLog(logger: Pick<Logger, 'error'>): (message: string) => void {
  return createPacedLog<string>(
    (message) => message,
    (count, message) => {
      if (count === 1) logger.error(message)
      else logger.error({ count }, message)
    },
  )
}
