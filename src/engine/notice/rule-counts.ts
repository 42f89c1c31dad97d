import type { Step } from '../../domain/decide/answer.ts'
import type { CardEvent } from '../../domain/record/event.ts'

/** What one rule has done since it was asked last, for asks in one currency. */
export interface RuleCount {
  readonly ruleId: string
  readonly currency: string
  /** Enforced, and it matched. */
  matched: number
  /** It gave the answer. */
  declined: number
  /** It only recorded. */
  shadow: number
  /** Of the asks that it matched. */
  amountMinor: number
}

export interface RuleCounts {
  note(event: CardEvent, step: Step): void
  /** Since the last call. */
  take(): readonly RuleCount[]
}

/** Between two calls; what is beyond is counted under `otherRules`. */
const maxRows = 200
const otherRules = 'other'

/** Counts in the engine, so that a decision sends nothing for it. */
export function createRuleCounts(): RuleCounts {
  let rows = new Map<string, RuleCount>()

  function rowOf(ruleId: string, currency: string): RuleCount {
    const key = `${ruleId} ${currency}`
    const found = rows.get(key)
    if (found !== undefined) return found
    if (rows.size >= maxRows && ruleId !== otherRules) return rowOf(otherRules, currency)
    const row = { ruleId, currency, matched: 0, declined: 0, shadow: 0, amountMinor: 0 }
    rows.set(key, row)
    return row
  }

  return {
    note({ currency, amountMinor }, { matchedRules, shadowRules, answer }) {
      for (const ruleId of matchedRules) {
        const row = rowOf(ruleId, currency)
        row.matched++
        if (ruleId === answer.ruleId) row.declined++
        row.amountMinor += amountMinor ?? 0
      }
      for (const ruleId of shadowRules) {
        const row = rowOf(ruleId, currency)
        row.shadow++
        row.amountMinor += amountMinor ?? 0
      }
    },
    take() {
      const taken = [...rows.values()]
      if (taken.length > 0) rows = new Map()
      return taken
    },
  }
}
