import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { createRuleMetrics } from '../../src/telemetry/decision-metrics.ts'

it('200 rules have series of their own, and all others share one', async () => {
  const registry = new Registry()
  const count = createRuleMetrics([registry])
  for (let i = 0; i < 203; i++) {
    const asks = { currency: 'USD', matched: 1, declined: 1, shadow: 0, amountMinor: 100 }
    count([{ ruleId: `rule-${i}`, ...asks }])
  }
  const text = await registry.metrics()
  const declines = text.split('\n').filter((line) => line.startsWith('arbiter_rule_declines'))
  expect(declines).toHaveLength(201)
  expect(declines.at(-2)).toBe('arbiter_rule_declines_total{rule="rule-199"} 1')
  expect(declines.at(-1)).toBe('arbiter_rule_declines_total{rule="other"} 3')
})
