import { Histogram, Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { causes } from '../../src/domain/record/event-record.ts'
import { createAnswerCounts } from '../../src/telemetry/answer-counts.ts'

function answered(totalMs: number, code: string, cause = '') {
  const decidedBy = cause === '' ? 'engine' : 'default'
  return {
    event: { requestType: 'Authorization' },
    answer: { code, decidedBy, cause },
    totalMs,
  } as never
}

it('counts as the library would', async () => {
  const registry = new Registry()
  const answers = createAnswerCounts(registry)
  const theirs = new Registry()
  const histogram = new Histogram({
    name: 'arbiter_decision_seconds',
    help: 'Time from arrival to answer; the contract limit is 0.4',
    buckets: [
      0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35,
      0.4,
    ],
    registers: [theirs],
  })
  for (const ms of [0, 0.5, 1, 1.5, 4, 7.5, 399, 400, 401, 5_000]) {
    answers.count(answered(ms, '000'))
    histogram.observe(ms / 1000)
  }
  expect(await registry.getSingleMetricAsString('arbiter_decision_seconds')).toBe(
    await theirs.metrics().then((text) => text.trimEnd()),
  )
})

it('shows every cause of a default decision before there is one', async () => {
  const registry = new Registry()
  createAnswerCounts(registry)
  const text = await registry.getSingleMetricAsString('arbiter_default_decisions_total')
  for (const cause of causes) expect(text).toContain(`{cause="${cause}"} 0`)
})

it('shows each answer once, by what was said and why', async () => {
  const registry = new Registry()
  const answers = createAnswerCounts(registry)
  answers.count(answered(1, '000'))
  answers.count(answered(1, '116'))
  answers.show()
  answers.count(answered(1, '000'))
  answers.count(answered(1, '000', 'deadline'))
  answers.show()
  answers.show()
  const text = await registry.metrics()
  const labels = (decision: string, code: string, by: string) =>
    `arbiter_decisions_total{request_type="Authorization",decision="${decision}",code="${code}",decided_by="${by}"}`
  expect(text).toContain(`${labels('approve', '000', 'engine')} 2\n`)
  expect(text).toContain(`${labels('decline', '116', 'engine')} 1\n`)
  expect(text).toContain(`${labels('approve', '000', 'default')} 1\n`)
  expect(text).toContain('arbiter_default_decisions_total{cause="deadline"} 1\n')
})
