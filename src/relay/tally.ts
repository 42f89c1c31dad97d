import { createHistogram } from 'node:perf_hooks'
import type { CardEvent } from '../domain/event.ts'
import { type Answered, contractLimitMs } from './client.ts'

export interface Figures {
  readonly deliveries: number
  readonly approved: number
  readonly declined: number
  /** Answers that the server gave by default. */
  readonly byDefault: number
  /** Nothing came within the contract limit. */
  readonly unanswered: number
  readonly lateApprovals: number
  readonly codes: Readonly<Record<string, number>>
  readonly statuses: Readonly<Record<string, number>>
  readonly ms: {
    readonly p50: number
    readonly p90: number
    readonly p99: number
    readonly max: number
  }
}

/** Counts what came back. */
export interface Tally {
  delivered(event: CardEvent, answer: Answered | null): void
  lateApproval(): void
  figures(): Figures
}

export function createTally(): Tally {
  const codes = new Map<string, number>()
  const statuses = new Map<string, number>()
  // Microseconds: the histogram takes whole numbers above zero.
  const micros = createHistogram()
  const counts = {
    deliveries: 0,
    approved: 0,
    declined: 0,
    byDefault: 0,
    unanswered: 0,
    lateApprovals: 0,
  }

  function add(to: Map<string, number>, key: string): void {
    to.set(key, (to.get(key) ?? 0) + 1)
  }

  return {
    delivered(_event, answer) {
      counts.deliveries++
      if (answer === null) {
        counts.unanswered++
        micros.record(contractLimitMs * 1000)
        return
      }
      micros.record(Math.max(1, Math.round(answer.ms * 1000)))
      add(statuses, String(answer.status))
      const code = /"responseCode":"(\d{3})"/.exec(answer.text)?.[1] ?? 'none'
      add(codes, code)
      if (code === '000') counts.approved++
      else counts.declined++
      if (answer.text.includes('"decidedBy":"default"')) counts.byDefault++
    },
    lateApproval() {
      counts.lateApprovals++
    },
    figures() {
      const ms = (percentile: number) => micros.percentile(percentile) / 1000
      return {
        ...counts,
        codes: Object.fromEntries([...codes].sort()),
        statuses: Object.fromEntries([...statuses].sort()),
        ms: { p50: ms(50), p90: ms(90), p99: ms(99), max: micros.max / 1000 },
      }
    },
  }
}
