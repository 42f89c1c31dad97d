import type { JournalError } from './error.ts'
import { encodeLine, type JournalLine, type LineRecord } from './record.ts'

/** A line until its flush. */
export interface WaitingLine extends LineRecord {
  /** What its writer waits for. */
  readonly written: Promise<void>
  /** Nobody counts on it any more: when it gets to the disk, it is dropped there. */
  dropped: boolean
  /** Its writer is told once; null when the line is on the disk. */
  answer(error: JournalError | null): void
}

export function createWaitingLine(
  line: JournalLine,
  timeoutMs: number,
  giveUp: (line: WaitingLine) => void,
): WaitingLine {
  let tell: (error: JournalError | null) => void = () => {}
  let answered = false
  const written = new Promise<void>((resolve, reject) => {
    tell = (error) => (error === null ? resolve() : reject(error))
  })
  // After a loop that stood timers come first: a flush that is done gets a turn to be noticed.
  const timer = setTimeout(() => {
    setImmediate(() => {
      if (!answered) giveUp(entry)
    })
  }, timeoutMs)
  const entry: WaitingLine = {
    line,
    record: encodeLine(line),
    written,
    dropped: false,
    answer(error) {
      answered = true
      clearTimeout(timer)
      tell(error)
    },
  }
  return entry
}
