import { isAsk } from '../domain/record/event.ts'
import type { RuleCount } from '../engine/notice/rule-counts.ts'
import type { AnsweredEvent } from '../telemetry/decision-log.ts'
import { bucketOfMs, latencyBuckets } from './latency.ts'

/** One delivery and where its milliseconds went; the engine's are null where the watchdog spoke. */
export interface Delivered {
  readonly slot: string
  readonly cardId: string
  readonly eventId: string
  readonly arrivalMs: number
  readonly queueMs: number | null
  readonly decideMs: number | null
  readonly commitMs: number | null
  readonly totalMs: number
  readonly duplicate: boolean
}

/** What was answered since it was taken last. */
export interface FlowTaken {
  readonly approved: number
  readonly declined: number
  readonly acknowledged: number
  readonly defaults: Readonly<Record<string, number>>
  readonly latency: Uint32Array
  readonly maxMs: number
  /** Sums of those that the engine answered. */
  readonly parts: PartSums
  /** The first ones. */
  readonly delivered: readonly Delivered[]
  readonly ruleCounts: readonly RuleCount[]
}

interface PartSums {
  readonly count: number
  readonly arrivalMs: number
  readonly queueMs: number
  readonly decideMs: number
  readonly commitMs: number
}

export interface Flow {
  answered(answered: AnsweredEvent): void
  ruleCounts(counts: readonly RuleCount[]): void
  take(): FlowTaken
}

/** Between two takes; all are counted, so many are kept one by one. */
const maxDelivered = 1_000
const maxRuleCounts = 2_000

/** Counts in the gate's thread what the console shows; an answer costs it a few additions. */
export function createFlow(): Flow {
  let now = newTally()

  return {
    answered({ event, answer, trace, arrivalMs, origin, totalMs }) {
      if (answer.decidedBy === 'default') {
        now.defaults[answer.cause] = (now.defaults[answer.cause] ?? 0) + 1
      } else if (!isAsk(event)) now.acknowledged++
      else if (answer.code === '000') now.approved++
      else now.declined++
      now.latency[bucketOfMs(totalMs)]!++
      if (totalMs > now.maxMs) now.maxMs = totalMs
      if (origin !== null) {
        const { parts } = now
        parts.count++
        parts.arrivalMs += arrivalMs
        parts.queueMs += origin.queueMs
        parts.decideMs += origin.decideMs
        parts.commitMs += origin.commitMs
      }
      if (now.delivered.length >= maxDelivered) return
      now.delivered.push({
        slot: trace,
        cardId: event.cardId,
        eventId: event.eventId,
        arrivalMs,
        queueMs: origin?.queueMs ?? null,
        decideMs: origin?.decideMs ?? null,
        commitMs: origin?.commitMs ?? null,
        totalMs,
        duplicate: origin?.duplicate ?? false,
      })
    },
    ruleCounts(counts) {
      if (now.ruleCounts.length < maxRuleCounts) now.ruleCounts.push(...counts)
    },
    take() {
      const taken = now
      now = newTally()
      return taken
    },
  }
}

function newTally() {
  return {
    approved: 0,
    declined: 0,
    acknowledged: 0,
    defaults: {} as Record<string, number>,
    latency: new Uint32Array(latencyBuckets),
    maxMs: 0,
    parts: { count: 0, arrivalMs: 0, queueMs: 0, decideMs: 0, commitMs: 0 },
    delivered: [] as Delivered[],
    ruleCounts: [] as RuleCount[],
  }
}
