import type { Logger } from './logger.ts'

/** A request that never became an event. */
export interface RefusedCall {
  readonly status: number
  /** Why, in our own words; nothing of the request is in it. */
  readonly reason: string
  readonly peer: string
}

const everyMs = 1_000

interface Kind {
  /** Since the last line. */
  count: number
  last: RefusedCall
}

/** One line a second for each status, however many are refused: the first at once, then their number. */
export function createRefusalLog(logger: Pick<Logger, 'warn'>): (call: RefusedCall) => void {
  const kinds = new Map<number, Kind>()

  function tell(count: number, { status, reason, peer }: RefusedCall): void {
    logger.warn({ status, count, reason, peer }, 'refused')
    setTimeout(() => tellRest(status), everyMs).unref()
  }

  function tellRest(status: number): void {
    const kind = kinds.get(status)
    kinds.delete(status)
    if (kind === undefined || kind.count === 0) return
    kinds.set(status, { count: 0, last: kind.last })
    tell(kind.count, kind.last)
  }

  return (call) => {
    const kind = kinds.get(call.status)
    if (kind === undefined) {
      kinds.set(call.status, { count: 0, last: call })
      tell(1, call)
    } else {
      kind.count++
      kind.last = call
    }
  }
}
