import { Counter, type Metric, type Registry } from 'prom-client'
import { causes } from '../domain/record/event-record.ts'
import type { AnsweredEvent } from './decision-log.ts'

/** From 1 ms to the contract limit. */
const bucketsSeconds = [
  0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35,
  0.4,
]

interface Tally {
  readonly requestType: string
  readonly code: string
  readonly decidedBy: string
  readonly cause: string
  count: number
  /** What the metrics have of it. */
  shown: number
}

export interface AnswerCounts {
  count(answered: Pick<AnsweredEvent, 'event' | 'answer' | 'totalMs'>): void
  /** Hands over what was counted since the last time. */
  show(): void
}

/**
 * Metrics of answers, counted as plain numbers and handed to the library when somebody looks: its own
 * counting and the log line were 7 µs of each decision, by a profile (bench/README.md).
 */
export function createAnswerCounts(registry: Registry): AnswerCounts {
  // All combinations are few, and the first ones are nearly all answers.
  const tallies: Tally[] = []
  const registers = [registry]
  const defaults = new Counter({
    name: 'arbiter_default_decisions_total',
    help: 'Answers given by default, by cause',
    labelNames: ['cause'],
    registers,
  })
  // From nothing to fifty, in one short outage, is no rise that Prometheus sees; from 0 to 50 is.
  for (const cause of causes) defaults.inc({ cause }, 0)
  const decisions = new Counter({
    name: 'arbiter_decisions_total',
    help: 'Answers given, by request type, answer, response code and who decided',
    labelNames: ['request_type', 'decision', 'code', 'decided_by'],
    registers,
  })
  const seconds = createSeconds(registry)

  function show(): void {
    for (const tally of tallies) {
      const { requestType, code, decidedBy, cause, count, shown } = tally
      if (count === shown) continue
      const decision = code === '000' ? 'approve' : 'decline'
      decisions.labels(requestType, decision, code, decidedBy).inc(count - shown)
      if (cause !== '') defaults.labels(cause).inc(count - shown)
      tally.shown = count
    }
  }

  function count({ event, answer, totalMs }: Parameters<AnswerCounts['count']>[0]): void {
    const { requestType } = event
    const { code, decidedBy, cause } = answer
    seconds(totalMs / 1000)
    for (const tally of tallies) {
      const same = tally.code === code && tally.requestType === requestType
      if (same && tally.decidedBy === decidedBy && tally.cause === cause) {
        tally.count++
        return
      }
    }
    tallies.push({ requestType, code, decidedBy, cause, count: 1, shown: 0 })
  }

  return { count, show }
}

const secondsName = 'arbiter_decision_seconds'

/** A histogram of one series. */
function createSeconds(registry: Registry): (seconds: number) => void {
  const buckets = new Float64Array(bucketsSeconds.length + 1)
  let sum = 0

  async function get() {
    let count = 0
    const values = Array.from(buckets, (observed, i) => {
      count += observed
      const le = bucketsSeconds[i] ?? '+Inf'
      return { metricName: `${secondsName}_bucket`, labels: { le }, value: count }
    })
    const ends = [
      { metricName: `${secondsName}_sum`, labels: {}, value: sum },
      { metricName: `${secondsName}_count`, labels: {}, value: count },
    ]
    const help = 'Time from arrival to answer; the contract limit is 0.4'
    return { name: secondsName, help, type: 'histogram', values: [...values, ...ends] }
  }
  // The library asks a metric for its name and its values, and for nothing else.
  registry.registerMetric({ name: secondsName, get } as unknown as Metric)

  return (seconds) => {
    let at = 0
    while (at < bucketsSeconds.length && seconds > bucketsSeconds[at]!) at++
    buckets[at]!++
    sum += seconds
  }
}
