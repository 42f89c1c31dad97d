import { type Logger, pino } from 'pino'
import { systemClock } from '../clock.ts'
import { openLogOutput } from './log-output.ts'
import { maskPan } from './mask.ts'

export type { Logger }

export interface LogSink {
  readonly logger: Logger
  /** Lines that were given up because those before them could not be written. */
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

const flushMs = 200
/** A reader that takes nothing must not keep us from ending. */
const endMs = 2000

/**
 * Lines are collected and written outside the turn that made them: a line costs the gate its text and
 * no system call. A crash can lose the last fraction of a second; the audit is in the store's log.
 */
export function createLogSink(level: string): LogSink {
  const isoTime = createIsoTime()
  const output = openLogOutput(1)
  let told = 0
  const logger = pino(
    {
      level,
      // Process id and host are the platform's to add.
      base: null,
      timestamp: () => `,"time":"${isoTime()}"`,
      formatters: { level: (label) => ({ level: label }) },
      // Ids are in what went wrong with them, and in what a pack is refused for.
      hooks: {
        logMethod(words, method) {
          method.apply(this, words.map(withoutCardNumbers) as typeof words)
        },
      },
    },
    output,
  )
  const timer = setInterval(() => {
    if (output.dropped > told) tellDropped()
    output.flush()
  }, flushMs)
  timer.unref()
  process.on('exit', flush)

  function flush(): void {
    clearInterval(timer)
    process.off('exit', flush)
    output.flushNow()
  }

  function tellDropped(): void {
    const { dropped } = output
    logger.warn(
      { lines: dropped - told },
      'log lines were dropped, because they could not be written',
    )
    // The line may have been dropped itself; then there is still no room.
    if (output.dropped === dropped) told = dropped
  }

  const tellsInfo = logger.isLevelEnabled('info')
  return {
    logger,
    tellsInfo,
    get dropped() {
      return output.dropped
    },
    write(fields, message) {
      if (!tellsInfo) return
      output.write(
        `{"level":"info","time":"${isoTime()}",${fields},"msg":${JSON.stringify(message)}}\n`,
      )
    },
    end() {
      clearInterval(timer)
      process.off('exit', flush)
      return new Promise((resolve) => {
        const giveUp = setTimeout(resolve, endMs)
        output.whenEmpty(() => {
          clearTimeout(giveUp)
          resolve()
        })
        output.flush()
      })
    },
    flush,
  }
}

/** Some look like a card number with their port, and are what a line is read for. */
const ipAddress = /((?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?(?![\d.]))/

function masked(text: string): string {
  const parts = text.split(ipAddress)
  return parts.map((part, i) => (i % 2 === 1 ? part : maskPan(part))).join('')
}

/** A message, or fields of which each is a text or none. */
function withoutCardNumbers(word: unknown): unknown {
  if (typeof word === 'string') return masked(word)
  if (typeof word !== 'object' || word === null || word instanceof Error) return word
  return Object.fromEntries(
    Object.entries(word).map(([name, value]) => [
      name,
      typeof value === 'string' ? masked(value) : value,
    ]),
  )
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
