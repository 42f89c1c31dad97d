import type { Anomaly } from '../../domain/decide/anomaly.ts'
import type { Step } from '../../domain/decide/answer.ts'
import type { UnmatchedCause } from '../../domain/record/event-record.ts'

/** How often people were given something of a kind to look at, since it was asked last. */
export interface FindingCounts {
  readonly anomalies: Readonly<Partial<Record<Anomaly, number>>>
  readonly unmatched: Readonly<Partial<Record<UnmatchedCause, number>>>
}

/** Counts in the engine, so that a decision sends nothing for it. */
export function createFindingCounts(): { note(step: Step): void; take(): FindingCounts } {
  let anomalies: Partial<Record<Anomaly, number>> = {}
  let unmatched: Partial<Record<UnmatchedCause, number>> = {}
  return {
    note(step) {
      for (const anomaly of step.anomalies) anomalies[anomaly] = (anomalies[anomaly] ?? 0) + 1
      const cause = step.unmatched
      if (cause !== '') unmatched[cause] = (unmatched[cause] ?? 0) + 1
    },
    take() {
      const taken = { anomalies, unmatched }
      anomalies = {}
      unmatched = {}
      return taken
    },
  }
}
