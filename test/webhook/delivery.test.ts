import { describe, expect, it } from 'vitest'
import {
  afterAttempt,
  type EventDelivery,
  newDelivery,
  readRetryAfter,
  sentAgain,
} from '../../src/webhook/delivery.ts'

const hourMs = 3_600_000
const failed = { atMs: 1_000, status: 500, ms: 20, detail: '' }

/** How long each attempt waits for the next, when all fail; `random` is where in the jitter it lies. */
function pausesOf(random: number, retryAfterMs = 0): number[] {
  const pauses: number[] = []
  let delivery = newDelivery('whk', 0)
  for (;;) {
    delivery = afterAttempt(delivery, failed, retryAfterMs, random)
    if (delivery.state !== 'pending') break
    pauses.push(delivery.dueMs - failed.atMs - failed.ms)
  }
  expect(delivery).toMatchObject({ state: 'failed', tries: 10, dueMs: 0 })
  return pauses
}

describe('a delivery that fails', () => {
  const schedule = [5_000, 60_000, 300_000, 1_800_000].concat(
    [2, 6, 12, 24, 24].map((hours) => hours * hourMs),
  )

  it('is tried ten times by the schedule, a fifth sooner or later', () => {
    expect(pausesOf(0.5)).toEqual(schedule)
    expect(pausesOf(0)).toEqual(schedule.map((ms) => 0.8 * ms))
    expect(pausesOf(1)).toEqual(schedule.map((ms) => 1.2 * ms))
  })

  it('is tried no sooner than its receiver asks, which may ask for an hour', () => {
    expect(pausesOf(0.5, 10_000)[0]).toBe(10_000)
    expect(pausesOf(0.5, 10_000)[1]).toBe(60_000)
    expect(pausesOf(0.5, 24 * hourMs).slice(0, 4)).toEqual(Array(4).fill(hourMs))
    expect(pausesOf(0.5, 24 * hourMs)[4]).toBe(2 * hourMs)
  })

  it('keeps its last twenty attempts, however often it is sent again', () => {
    let delivery: EventDelivery = newDelivery('whk', 0)
    for (let i = 0; i < 30; i++) {
      const attempt = { ...failed, atMs: i }
      delivery = afterAttempt(sentAgain(delivery, i), attempt, 0, 0.5)
    }
    expect(delivery.attempts.map(({ atMs }) => atMs)).toEqual(
      Array.from({ length: 20 }, (_, i) => i + 10),
    )
  })
})

it('Retry-After is read in seconds or as a date', () => {
  const nowMs = Date.UTC(2026, 10, 15, 10)
  expect(readRetryAfter('120', nowMs)).toBe(120_000)
  expect(readRetryAfter('Sun, 15 Nov 2026 10:05:00 GMT', nowMs)).toBe(300_000)
  expect(readRetryAfter('Sun, 15 Nov 2026 09:00:00 GMT', nowMs)).toBe(0)
  for (const nothing of ['', 'soon', '-5']) expect(readRetryAfter(nothing, nowMs)).toBe(0)
})
