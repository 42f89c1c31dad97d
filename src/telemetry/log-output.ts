import { writeSync } from 'node:fs'
import { systemClock } from '../clock.ts'
import { openLogOutlet } from './log-outlet.ts'

/** Lines on their way to standard output, bounded, and written outside the turn that made them. */
export interface LogOutput {
  /** Lines that were given up because those before them could not be written. */
  readonly dropped: number
  write(line: string): void
  /** Begins to write what waits, unless a write is under way. */
  flush(): void
  /** Writes what waits in this turn, as far as there is room; a write under way may be lost. */
  flushNow(): void
  /** Calls back once, when nothing waits any more. */
  whenEmpty(listener: () => void): void
}

/** A line is written with those of the next moment; a part is what one write takes. */
const partBytes = 12_288
/** What waits for a reader that has stopped reading, or a disk that is full: some 20,000 decisions. */
const maxWaitingBytes = 8 * 1024 * 1024
/** A process that ends at once leaves a reader that is only slow this long. */
const flushNowMs = 200
const pauseMs = 10

export function openLogOutput(fd: number): LogOutput {
  const outlet = openLogOutlet(fd)
  const parts: Buffer[] = []
  let text = ''
  let textBytes = 0
  let waitingBytes = 0
  let dropped = 0
  let writing = false
  let onEmpty = () => {}

  function closePart(): void {
    if (textBytes === 0) return
    parts.push(Buffer.from(text))
    text = ''
    textBytes = 0
  }

  function take(writtenBytes: number): void {
    const [part] = parts
    waitingBytes -= writtenBytes
    if (writtenBytes === part!.length) parts.shift()
    else parts[0] = part!.subarray(writtenBytes)
  }

  function writeNext(): void {
    const [part] = parts
    if (writing || part === undefined) return
    writing = true
    outlet(part, (writtenBytes) => {
      writing = false
      take(writtenBytes)
      // What failed is tried again with the next flush: a disk gets room, a pipe another reader.
      if (writtenBytes > 0) writeNext()
      if (waitingBytes === 0) onEmpty()
    })
  }

  return {
    get dropped() {
      return dropped
    },
    write(line) {
      const bytes = Buffer.byteLength(line)
      if (waitingBytes + bytes > maxWaitingBytes) {
        dropped++
        return
      }
      text += line
      textBytes += bytes
      waitingBytes += bytes
      if (textBytes < partBytes) return
      closePart()
      writeNext()
    },
    flush() {
      closePart()
      writeNext()
    },
    flushNow() {
      closePart()
      const untilMonoMs = systemClock.monoMs() + flushNowMs
      for (const part of writing ? parts.slice(1) : parts) {
        if (!writeWhole(fd, part, untilMonoMs)) return
      }
    },
    whenEmpty(listener) {
      if (waitingBytes === 0) listener()
      else onEmpty = listener
    },
  }
}

/** Whether all of it was written; a full pipe is waited for, any other failure is the end. */
function writeWhole(fd: number, part: Buffer, untilMonoMs: number): boolean {
  let left = part
  while (left.length > 0) {
    try {
      left = left.subarray(writeSync(fd, left))
    } catch (error) {
      const isFull = (error as NodeJS.ErrnoException).code === 'EAGAIN'
      if (!isFull || systemClock.monoMs() >= untilMonoMs) return false
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs)
    }
  }
  return true
}
