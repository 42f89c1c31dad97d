import type { Readiness } from '../admin/server.ts'
import { contractMs } from '../contract-limit.ts'
import type { Instance } from '../engine/notice/presence.ts'
import type { RuleCount } from '../engine/notice/rule-counts.ts'
import type { Delivered, FlowTaken } from './flow.ts'
import { healthOf } from './health.ts'
import { latencyBuckets, quantileMs } from './latency.ts'
import type { BackOfficeShown, Gauges, Minute, NowHistory, NowShown, Second } from './shape/now.ts'

/** What the gate's thread gives the console's each second. */
export interface Given {
  readonly atMs: number
  readonly flow: FlowTaken
  readonly gauges: Gauges
  readonly readiness: Readiness
  readonly rulesVersion: string
}

/** What one rule did in one span of time. */
interface RuleSpan {
  readonly startMs: number
  matched: number
  declined: number
  shadow: number
}

/** What all instances of a store have together. */
interface SharedFigures {
  readonly instances: readonly Instance[]
  /** The name of this one. */
  readonly self: string
  readonly backOffice: BackOfficeShown | null
}

export interface ConsoleFigures {
  readonly rulesVersion: string
  add(given: Given): NowShown
  setShared(shared: SharedFigures): void
  history(): NowHistory
  /** The delivery in this slot, while it is remembered. */
  delivered(slot: string): Delivered | null
  /** All remembered deliveries of one event. */
  deliveriesOf(cardId: string, eventId: string): readonly Delivered[]
  /** Spans of the last day, oldest first. */
  ruleSpans(ruleId: string): readonly RuleSpan[]
}

const keptSeconds = 900
const minuteSeconds = 60
const keptDelivered = 50_000
const ruleSpanMs = 3_600_000
const keptSpans = 24
const maxRules = 1_100

/** Keeps what the pages show of this process's last minutes; all of it is bounded. */
export function createFigures(): ConsoleFigures {
  const seconds: Second[] = []
  const latencies: Uint32Array[] = []
  const bySlot = new Map<string, Delivered>()
  const byEvent = new Map<string, string[]>()
  const rules = new Map<string, RuleSpan[]>()
  let shared: SharedFigures = { instances: [], self: '', backOffice: null }
  let now: NowShown | null = null

  function remember(one: Delivered): void {
    bySlot.set(one.slot, one)
    const key = eventKey(one.cardId, one.eventId)
    byEvent.set(key, [...(byEvent.get(key) ?? []), one.slot].slice(-20))
    if (bySlot.size <= keptDelivered) return
    const [oldest] = bySlot.values()
    bySlot.delete(oldest!.slot)
    const others = byEvent.get(eventKey(oldest!.cardId, oldest!.eventId)) ?? []
    const left = others.filter((slot) => slot !== oldest!.slot)
    if (left.length > 0) byEvent.set(eventKey(oldest!.cardId, oldest!.eventId), left)
    else byEvent.delete(eventKey(oldest!.cardId, oldest!.eventId))
  }

  function countRules(counts: readonly RuleCount[], atMs: number): void {
    const startMs = atMs - (atMs % ruleSpanMs)
    for (const { ruleId, matched, declined, shadow } of counts) {
      if (!rules.has(ruleId) && rules.size >= maxRules) continue
      const spans = rules.get(ruleId) ?? []
      if (spans.at(-1)?.startMs !== startMs) {
        spans.push({ startMs, matched: 0, declined: 0, shadow: 0 })
      }
      const span = spans.at(-1)!
      span.matched += matched
      span.declined += declined
      span.shadow += shadow
      rules.set(ruleId, spans.slice(-keptSpans))
    }
  }

  function minute(): Minute {
    const sum = new Uint32Array(latencyBuckets)
    for (const one of latencies.slice(-minuteSeconds)) {
      for (let i = 0; i < sum.length; i++) sum[i]! += one[i]!
    }
    const recent = seconds.slice(-minuteSeconds)
    const maxMs = Math.max(0, ...recent.map((second) => second.maxMs))
    const answers = sum.reduce((all, count) => all + count, 0)
    let late = 0
    for (let i = 0; i < sum.length; i++) if (isLate(i)) late += sum[i]!
    return {
      answers,
      p50Ms: Math.min(maxMs, quantileMs(sum, 0.5)),
      p99Ms: Math.min(maxMs, quantileMs(sum, 0.99)),
      p999Ms: Math.min(maxMs, quantileMs(sum, 0.999)),
      maxMs,
      inTime: answers === 0 ? null : (answers - late) / answers,
    }
  }

  return {
    get rulesVersion() {
      return now?.rulesVersion ?? ''
    },
    add({ atMs, flow, gauges, readiness, rulesVersion }) {
      const second = secondOf(flow, atMs)
      seconds.push(second)
      latencies.push(flow.latency)
      if (seconds.length > keptSeconds) {
        seconds.shift()
        latencies.shift()
      }
      for (const one of flow.delivered) remember(one)
      countRules(flow.ruleCounts, atMs)
      const { self, backOffice } = shared
      const instances = shared.instances.map((one) => ({ ...one, self: one.name === self }))
      const last = minute()
      const health = healthOf(readiness, last, seconds.slice(-minuteSeconds), gauges)
      now = { second, minute: last, gauges, health, rulesVersion, instances, backOffice }
      return now
    },
    setShared(next) {
      shared = next
    },
    history: () => ({ seconds, now }),
    delivered: (slot) => bySlot.get(slot) ?? null,
    deliveriesOf: (cardId, eventId) =>
      (byEvent.get(eventKey(cardId, eventId)) ?? []).flatMap((slot) => bySlot.get(slot) ?? []),
    ruleSpans: (ruleId) => rules.get(ruleId) ?? [],
  }
}

function eventKey(cardId: string, eventId: string): string {
  return `${cardId}\n${eventId}`
}

const lateFrom = quantileBucketAbove(contractMs)

function isLate(bucket: number): boolean {
  return bucket >= lateFrom
}

/** The first bucket that has only times above. */
function quantileBucketAbove(ms: number): number {
  const probe = new Uint32Array(latencyBuckets)
  for (let i = 0; i < latencyBuckets; i++) {
    probe.fill(0)
    probe[i] = 1
    if (quantileMs(probe, 1) / 1.05 >= ms) return i
  }
  return latencyBuckets
}

function secondOf(flow: FlowTaken, atMs: number): Second {
  const { approved, declined, acknowledged, defaults, latency, maxMs, parts } = flow
  const mean = (sum: number) => (parts.count === 0 ? 0 : sum / parts.count)
  return {
    atMs,
    approved,
    declined,
    acknowledged,
    defaults,
    p50Ms: Math.min(maxMs, quantileMs(latency, 0.5)),
    p99Ms: Math.min(maxMs, quantileMs(latency, 0.99)),
    p999Ms: Math.min(maxMs, quantileMs(latency, 0.999)),
    maxMs,
    arrivalMs: mean(parts.arrivalMs),
    queueMs: mean(parts.queueMs),
    decideMs: mean(parts.decideMs),
    commitMs: mean(parts.commitMs),
  }
}
