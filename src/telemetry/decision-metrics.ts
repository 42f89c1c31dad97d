import { Counter, type Registry } from 'prom-client'
import { anomalies } from '../domain/decide/anomaly.ts'
import { unmatchedCauses } from '../domain/record/event-record.ts'
import type { FindingCounts } from '../engine/notice/finding-counts.ts'
import type { RuleCount } from '../engine/notice/rule-counts.ts'
import { maskPan } from './mask.ts'

/** Rules with series of their own, for as long as the process runs; all others share one. */
const maxRules = 200
const otherRules = 'other'

export function createRuleMetrics(registers: Registry[]): (counts: readonly RuleCount[]) => void {
  const matches = new Counter({
    name: 'arbiter_rule_matches_total',
    help: `Asks that a rule matched, by rule and mode; beyond ${maxRules} rules: ${otherRules}`,
    labelNames: ['rule', 'mode'],
    registers,
  })
  const declines = new Counter({
    name: 'arbiter_rule_declines_total',
    help: 'Asks that a rule declined, being the first that matched',
    labelNames: ['rule'],
    registers,
  })
  const amounts = new Counter({
    name: 'arbiter_rule_amount_minor_total',
    help: 'Minor units of the asks that a rule matched, by currency',
    labelNames: ['rule', 'currency'],
    registers,
  })
  const known = new Set<string>()
  return (counts) => {
    for (const { ruleId, currency, matched, declined, shadow, amountMinor } of counts) {
      if (known.size < maxRules) known.add(ruleId)
      // Ids of blocks have what was blocked.
      const rule = known.has(ruleId) ? maskPan(ruleId) : otherRules
      if (matched > 0) matches.inc({ rule, mode: 'enforce' }, matched)
      if (shadow > 0) matches.inc({ rule, mode: 'shadow' }, shadow)
      if (declined > 0) declines.inc({ rule }, declined)
      amounts.inc({ rule, currency }, amountMinor)
    }
  }
}

export function createFindingMetrics(registers: Registry[]): (counts: FindingCounts) => void {
  const anomalous = new Counter({
    name: 'arbiter_anomalies_total',
    help: 'Events that were booked and that somebody should look at, by what is odd',
    labelNames: ['anomaly'],
    registers,
  })
  const unbookable = new Counter({
    name: 'arbiter_unmatched_total',
    help: 'Advices that could not be booked, by why',
    labelNames: ['cause'],
    registers,
  })
  // From nothing to one is no rise that Prometheus sees; from 0 to 1 is.
  for (const anomaly of anomalies) anomalous.inc({ anomaly }, 0)
  for (const cause of unmatchedCauses) unbookable.inc({ cause }, 0)
  return (counts) => {
    for (const [anomaly, count] of Object.entries(counts.anomalies))
      anomalous.inc({ anomaly }, count)
    for (const [cause, count] of Object.entries(counts.unmatched)) unbookable.inc({ cause }, count)
  }
}
