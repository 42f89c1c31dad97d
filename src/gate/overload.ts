/** What has been read and not been looked at. */
export interface Backlog {
  readonly waiting: number
  /** When the oldest of them was read; with none, never. */
  readonly sinceMonoMs: number
}

export const noBacklog: Backlog = { waiting: 0, sinceMonoMs: Number.POSITIVE_INFINITY }

/** With fewer waiting than this, waiting for the engine is always worth it. */
const crowd = 256
/** The parts of the budget that the oldest has left when the first are turned away, and when all are. */
const firstTurnedAway = 0.8
const allTurnedAway = 0.5
/** With less of its own budget left, an event does not go to the engine any more. */
const tooLate = 0.2

/** How much is open, and how long it has waited. */
export interface Load {
  readonly open: number
  readonly nowMonoMs: number
  readonly oldestDeadlineMonoMs: number
  readonly backlog: Backlog
}

/**
 * Answered, not queued: what comes too late for the engine is answered by default at once. In a crowd
 * some are turned away before, the more the longer the oldest waits: else all would get to the engine
 * just before it is too late, and few be answered by it. An advice is booked in any case.
 */
export function createOverload(
  budgetMs: number,
  maxOpen: number,
): (deadlineMonoMs: number, ask: boolean, load: Load) => boolean {
  // Grows by the part of the events to turn away; each whole is one of them.
  let turnedAway = 0
  return (deadlineMonoMs, ask, { open, nowMonoMs, oldestDeadlineMonoMs, backlog }) => {
    if (open > maxOpen) return true
    const leftMs = deadlineMonoMs - nowMonoMs
    if (leftMs < budgetMs * tooLate) return true
    if (open + backlog.waiting < crowd || !ask) return false
    const oldestLeftMs = oldestDeadlineMonoMs - nowMonoMs
    const backlogLeftMs = backlog.sinceMonoMs + budgetMs - nowMonoMs
    const left = Math.min(leftMs, oldestLeftMs, backlogLeftMs) / budgetMs
    const part = (firstTurnedAway - left) / (firstTurnedAway - allTurnedAway)
    turnedAway += Math.min(1, Math.max(0, part))
    if (turnedAway < 1) return false
    turnedAway--
    return true
  }
}
