/** One event on its way to one endpoint. */
export interface EventDelivery {
  readonly webhookId: string
  readonly state: 'pending' | 'delivered' | 'failed'
  /** When to try, while it is pending. */
  readonly dueMs: number
  /** Attempts since it was sent first, or again. */
  readonly tries: number
  /** The newest last. */
  readonly attempts: readonly DeliveryAttempt[]
}

export interface DeliveryAttempt {
  readonly atMs: number
  /** 0 when there was no answer. */
  readonly status: number
  readonly ms: number
  /** Why there was none; '' when there was. */
  readonly detail: string
}

const secondMs = 1_000
const minuteMs = 60 * secondMs
const hourMs = 60 * minuteMs

/** After the first attempt, the second and so on: ten attempts in about 2.9 days. */
const pausesMs = [
  5 * secondMs,
  minuteMs,
  5 * minuteMs,
  30 * minuteMs,
  2 * hourMs,
  6 * hourMs,
  12 * hourMs,
  24 * hourMs,
  24 * hourMs,
]
/** So that what failed together does not come back together. */
const jitter = 0.2
const maxRetryAfterMs = hourMs
/** Of one delivery, sent again and again. */
const maxAttemptsKept = 20

export function newDelivery(webhookId: string, dueMs: number): EventDelivery {
  return { webhookId, state: 'pending', dueMs, tries: 0, attempts: [] }
}

/** What its endpoint would have got while it was disabled. */
export function missedDelivery(webhookId: string): EventDelivery {
  return { ...newDelivery(webhookId, 0), state: 'failed' }
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}

/** What becomes of a delivery by an attempt; `random` is from 0 to 1. */
export function afterAttempt(
  delivery: EventDelivery,
  attempt: DeliveryAttempt,
  retryAfterMs: number,
  random: number,
): EventDelivery {
  const tries = delivery.tries + 1
  const attempts = [...delivery.attempts, attempt].slice(-maxAttemptsKept)
  const tried = { ...delivery, tries, attempts }
  if (isSuccess(attempt.status)) return { ...tried, state: 'delivered', dueMs: 0 }
  const pauseMs = pausesMs[tries - 1]
  if (pauseMs === undefined) return { ...tried, state: 'failed', dueMs: 0 }
  const jitteredMs = pauseMs * (1 - jitter + 2 * jitter * random)
  const waitMs = Math.max(jitteredMs, Math.min(retryAfterMs, maxRetryAfterMs))
  return { ...tried, dueMs: attempt.atMs + attempt.ms + Math.round(waitMs) }
}

/** Sends it again, from the beginning of the schedule. */
export function sentAgain(delivery: EventDelivery, dueMs: number): EventDelivery {
  return { ...delivery, state: 'pending', dueMs, tries: 0 }
}

/** Whether it has been sent since then, or is about to be. */
export function isSentSince(delivery: EventDelivery, sinceMs: number): boolean {
  const { state, tries, dueMs, attempts } = delivery
  if (state === 'pending' && tries === 0) return dueMs >= sinceMs
  return (attempts.at(-1)?.atMs ?? 0) >= sinceMs
}

/** What the header says, in seconds or as a date; 0 when it says nothing. */
export function readRetryAfter(header: string, nowMs: number): number {
  if (/^[0-9]{1,9}$/.test(header)) return Number(header) * secondMs
  const atMs = Date.parse(header)
  return Number.isNaN(atMs) ? 0 : Math.max(0, atMs - nowMs)
}
