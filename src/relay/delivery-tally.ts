import { createHistogram } from 'node:perf_hooks'
import type { Clock } from '../clock.ts'
import { contractMs } from '../contract-limit.ts'
import type { CardEvent } from '../domain/record/event.ts'
import type { RelayAnswer } from './answer.ts'

/** Upper bounds of the latency bars; what is above the last one came too late. */
export const latencyBoundsMs = [1, 2, 5, 10, 20, 50, 100, 200, 300, contractMs] as const

export interface Figures {
  readonly seconds: number
  readonly deliveries: number
  /** Deliveries a second over the last few seconds. */
  readonly ratePerSecond: number
  readonly approved: number
  readonly declined: number
  /** Answers that are no decision on the event: not understood (HTTP 4xx), or nothing done (5xx). */
  readonly refused: number
  /** Answers that the server gave by default. */
  readonly byDefault: number
  /** Nothing came within the contract limit. */
  readonly unanswered: number
  readonly lateApprovals: number
  readonly codes: Readonly<Record<string, number>>
  readonly causes: Readonly<Record<string, number>>
  readonly statuses: Readonly<Record<string, number>>
  readonly ms: {
    readonly p50: number
    readonly p90: number
    readonly p99: number
    readonly max: number
  }
  /** How many answers came within each of `latencyBoundsMs`, and not within the one before. */
  readonly latencies: readonly number[]
}

/** Counts what came back. */
export interface DeliveryTally {
  delivered(event: CardEvent, answer: RelayAnswer | null): void
  lateApproval(): void
  figures(): Figures
}

const rateSeconds = 3

export function createDeliveryTally(clock: Clock): DeliveryTally {
  const codes = new Map<string, number>()
  const causes = new Map<string, number>()
  const statuses = new Map<string, number>()
  const startedMonoMs = clock.monoMs()
  const perSecond = new Map<number, number>()
  const latencies = latencyBoundsMs.map(() => 0)
  // Microseconds: the histogram takes whole numbers above zero.
  const micros = createHistogram()
  const counts = {
    deliveries: 0,
    approved: 0,
    declined: 0,
    refused: 0,
    byDefault: 0,
    unanswered: 0,
    lateApprovals: 0,
  }

  function elapsedSeconds(): number {
    return (clock.monoMs() - startedMonoMs) / 1000
  }

  function countNow(): void {
    const second = Math.floor(elapsedSeconds())
    add(perSecond, second)
    perSecond.delete(second - rateSeconds - 1)
  }

  function rate(): number {
    const now = Math.floor(elapsedSeconds())
    const seconds = Array.from({ length: Math.min(rateSeconds, now) }, (_, i) => now - 1 - i)
    if (seconds.length === 0) return perSecond.get(now) ?? 0
    return seconds.reduce((sum, second) => sum + (perSecond.get(second) ?? 0), 0) / seconds.length
  }

  return {
    delivered(_event, answer) {
      counts.deliveries++
      countNow()
      if (answer === null) {
        counts.unanswered++
        micros.record(contractMs * 1000)
        return
      }
      micros.record(Math.max(1, Math.round(answer.ms * 1000)))
      const bar = latencyBoundsMs.findIndex((boundMs) => answer.ms <= boundMs)
      latencies[bar < 0 ? latencies.length - 1 : bar]!++
      add(statuses, String(answer.status))
      const code = /"responseCode":"(\d{3})"/.exec(answer.text)?.[1] ?? 'none'
      add(codes, code)
      if (answer.status >= 400) counts.refused++
      else if (code === '000') counts.approved++
      else counts.declined++
      if (!answer.text.includes('"decidedBy":"default"')) return
      counts.byDefault++
      add(causes, /"cause":"(\w+)"/.exec(answer.text)?.[1] ?? 'none')
    },
    lateApproval() {
      counts.lateApprovals++
    },
    figures() {
      const ms = (percentile: number) => micros.percentile(percentile) / 1000
      return {
        seconds: elapsedSeconds(),
        ...counts,
        ratePerSecond: rate(),
        codes: Object.fromEntries([...codes].sort()),
        causes: Object.fromEntries([...causes].sort()),
        statuses: Object.fromEntries([...statuses].sort()),
        ms: { p50: ms(50), p90: ms(90), p99: ms(99), max: micros.max / 1000 },
        latencies: [...latencies],
      }
    },
  }
}

function add<Key>(to: Map<Key, number>, key: Key): void {
  to.set(key, (to.get(key) ?? 0) + 1)
}
