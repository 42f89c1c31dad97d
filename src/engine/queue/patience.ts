import type { Queue, Queues } from './queue.ts'

/** Lets queues stand back, so that instances which write to the same account all get their turn. */
export interface Patience {
  /** After a commit that beat another instance. */
  giveWay(queue: Queue, commitMs: number): void
  /** After a try that did not commit. */
  backOff(queue: Queue, storeFails: boolean): void
}

export interface PatienceOptions {
  readonly queues: Queues
  readonly random: () => number
  readonly schedule: () => void
}

const maxBackOffMs = 200
/** How long a writer that just won stands back, so that the one it beat can commit. */
const minGiveWayMs = 2
const maxGiveWayMs = 40

export function createPatience({ queues, random, schedule }: PatienceOptions): Patience {
  /**
   * Who has just committed knows the newest version and would win again and again. What arrives while we
   * stand back goes into one larger batch.
   */
  function giveWay(queue: Queue, commitMs: number): void {
    queue.crowded = false
    queues.rest(queue)
    const tripMs = Math.min(maxGiveWayMs, minGiveWayMs + 2 * commitMs)
    setTimeout(wakeUp, tripMs * (0.5 + random()), queue)
  }

  function wakeUp(queue: Queue): void {
    queues.wake(queue)
    schedule()
  }

  /** A little random patience lets the slowest of several writers through. */
  function backOff(queue: Queue, storeFails: boolean): void {
    queue.failures++
    queues.rest(queue)
    // Who won gives way: see there. A long pause here would let it win again.
    const longestMs = storeFails
      ? Math.min(maxBackOffMs, 4 * 2 ** Math.min(queue.failures, 10))
      : Math.min(maxGiveWayMs / 4, queue.failures)
    if (!storeFails && queue.failures < 2) wakeUp(queue)
    else setTimeout(wakeUp, random() * longestMs, queue)
  }

  return { giveWay, backOff }
}
