import { type Logger, pino } from 'pino'
import { systemClock } from '../clock.ts'

export type { Logger }

export interface LogSink {
  readonly logger: Logger
  /** Lines that were given up because nobody read those before them. */
  readonly dropped: number
  /** Whether lines at level info are written: else nobody need make them. */
  readonly tellsInfo: boolean
  /** A line at level info, of which the fields are JSON text already. */
  write(fields: string, message: string): void
  /** Writes out what is in memory, for a process that ends at once; a write under way may be lost. */
  flush(): void
  /** Resolves when everything logged so far is written. */
  end(): Promise<void>
}

const bufferBytes = 12_288
const flushMs = 200
/** What waits for a reader that has stopped reading: some 20,000 decisions. */
const maxWaitingBytes = 8 * 1024 * 1024
/** A reader that takes nothing must not keep us from ending. */
const endMs = 2000

/**
 * Lines are collected and written outside the turn that made them: a line costs the gate its text and
 * no system call. A crash can lose the last fraction of a second; the audit is in the store's log.
 */
export function createLogSink(level: string): LogSink {
  const isoTime = createIsoTime()
  const destination = pino.destination({
    dest: 1,
    sync: false,
    minLength: bufferBytes,
    maxLength: maxWaitingBytes,
  })
  let dropped = 0
  let told = 0
  destination.on('drop', () => dropped++)
  const logger = pino(
    {
      level,
      // Process id and host are the platform's to add.
      base: null,
      timestamp: () => `,"time":"${isoTime()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  )
  const timer = setInterval(() => {
    if (dropped > told) tellDropped()
    destination.flush()
  }, flushMs)
  timer.unref()

  function tellDropped(): void {
    const before = dropped
    logger.warn({ lines: dropped - told }, 'log lines were dropped, because nobody read them')
    // The line may have been dropped itself; then there is still no room.
    if (dropped === before) told = before
  }

  const tellsInfo = logger.isLevelEnabled('info')
  return {
    logger,
    tellsInfo,
    get dropped() {
      return dropped
    },
    write(fields, message) {
      if (!tellsInfo) return
      destination.write(
        `{"level":"info","time":"${isoTime()}",${fields},"msg":${JSON.stringify(message)}}\n`,
      )
    },
    end() {
      clearInterval(timer)
      return new Promise((resolve) => {
        const giveUp = setTimeout(resolve, endMs)
        destination.once('finish', () => {
          clearTimeout(giveUp)
          resolve()
        })
        destination.end()
      })
    },
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

/** Answers come in groups, and a text of the time costs about a tenth of their line. */
function createIsoTime(): () => string {
  let textMs = -1
  let text = ''
  return () => {
    const nowMs = systemClock.nowMs()
    if (nowMs !== textMs) {
      textMs = nowMs
      text = new Date(nowMs).toISOString()
    }
    return text
  }
}
