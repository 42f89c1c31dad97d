import type { Clock } from '../clock.ts'

/** Tells since when what is read now may have waited in the kernel. */
export interface LoopWatch {
  /** Of what is read in this turn of the loop; now, unless the process had stopped. */
  readSinceMonoMs(): number
  /** Of a connection that is accepted in this turn, for its first request; null: no longer than any other. */
  acceptedSinceMonoMs(): number | null
  stop(): void
}

interface Look {
  readonly monoMs: number
  readonly atMs: number
}

const lookMs = 5
/** A shorter gap is covered by what the contract limit leaves above the budget. */
const gapMs = 50
/** As many connections may wait to be accepted; see `backlog` of the server. */
const maxWaitingConnections = 4_096

/**
 * Watches for gaps in which nothing of this process ran: stopped, swapped out, or on a machine that was
 * suspended or moved. What came meanwhile waited in the kernel, and the relay's time ran. Between two looks
 * of the timer the loop has read all sockets once, so whatever is read now came after the look before the
 * last one. `clock` is the machine's own: while it is suspended its monotonic clock stands, and only the
 * wall clock tells.
 */
export function createLoopWatch(clock: Clock): LoopWatch {
  const now = (): Look => ({ monoMs: clock.monoMs(), atMs: clock.nowMs() })
  let last = now()
  let beforeLast = last
  const timer = setInterval(() => {
    beforeLast = last
    last = now()
  }, lookMs)
  timer.unref()

  /** Connections that waited are accepted one a turn: those of all turns without a break are of the gap. */
  let queue: { readonly sinceMonoMs: number; left: number; moved: boolean } | null = null

  function readSinceMonoMs(): number {
    const { monoMs, atMs } = now()
    const gap = Math.max(monoMs - beforeLast.monoMs, atMs - beforeLast.atMs)
    return gap > gapMs ? monoMs - gap : monoMs
  }

  function acceptedSinceMonoMs(): number | null {
    if (queue === null) {
      const sinceMonoMs = readSinceMonoMs()
      if (clock.monoMs() - sinceMonoMs < gapMs) return null
      queue = { sinceMonoMs, left: maxWaitingConnections, moved: true }
      setImmediate(endTurn)
    }
    const { sinceMonoMs } = queue
    queue.moved = true
    if (--queue.left === 0) queue = null
    return sinceMonoMs
  }

  function endTurn(): void {
    if (queue === null) return
    if (!queue.moved) {
      queue = null
      return
    }
    queue.moved = false
    setImmediate(endTurn)
  }

  return { readSinceMonoMs, acceptedSinceMonoMs, stop: () => clearInterval(timer) }
}
