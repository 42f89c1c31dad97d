import { type Logger, pino } from 'pino'

export type { Logger }

export interface LogSink {
  readonly logger: Logger
  /** Writes out what is still in memory; nothing logged before is lost after it. */
  flush(): void
}

const bufferBytes = 4096
const flushMs = 200

/**
 * Lines are collected and written outside the turn that made them: a line costs the gate its text and
 * no system call. A crash can lose the last fraction of a second; the audit is in the store's log.
 */
export function createLogSink(level: string): LogSink {
  const destination = pino.destination({ dest: 1, sync: false, minLength: bufferBytes })
  const logger = pino(
    {
      level,
      // Process id and host are the platform's to add.
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  )
  const timer = setInterval(() => destination.flush(), flushMs)
  timer.unref()
  return {
    logger,
    flush() {
      clearInterval(timer)
      try {
        destination.flushSync()
      } catch {
        // Standard output is gone or was never ready: there is nobody to tell.
      }
    },
  }
}
