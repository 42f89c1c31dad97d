import { quantile } from '../support/rounds.mjs'
import { judge } from '../support/traffic.mjs'

const contractMs = 400
const bucketMs = 100

/** What came back, how late, and how much money it promised. */
export function createTally() {
  const counts = { sent: 0, answered: 0, approved: 0, declined: 0, defaults: 0, wrong: 0, lost: 0 }
  const latencies = []
  const lateness = []
  const timeline = []
  const causes = {}
  let approvedMinor = 0
  let past = 0
  let pastSending = 0
  let firstWrong = ''
  let lastMs = 0

  function note(intendedMs, startedMs, nowMs) {
    const ms = nowMs - intendedMs
    latencies.push(ms)
    if (ms > contractMs) past++
    const bucket = Math.floor((intendedMs - startedMs) / bucketMs)
    timeline[bucket] = Math.max(timeline[bucket] ?? 0, ms)
    lastMs = Math.max(lastMs, nowMs - startedMs)
  }

  return {
    sent(lateMs) {
      counts.sent++
      lateness.push(lateMs)
    },
    answered({ expected, intendedMs, startedMs, writtenMs }, status, body, nowMs) {
      counts.answered++
      note(intendedMs, startedMs, nowMs)
      if (nowMs - writtenMs > contractMs) pastSending++
      const verdict = judge(expected, status, body)
      if (verdict === '' && expected.code === '000') {
        counts.approved++
        approvedMinor += expected.event.amountMinor
      } else if (verdict === '') counts.declined++
      else if (verdict === 'default') {
        counts.defaults++
        const { cause, decision } = JSON.parse(body)
        causes[cause] = (causes[cause] ?? 0) + 1
        if (decision === 'approve') approvedMinor += expected.event.amountMinor
      } else {
        counts.wrong++
        firstWrong ||= verdict
      }
    },
    lost(_sending, message) {
      counts.lost++
      firstWrong ||= message
    },
    result(seconds) {
      const sorted = Float64Array.from(latencies).sort()
      const late = Float64Array.from(lateness).sort()
      const unanswered = counts.sent - counts.answered
      return {
        ...counts,
        unanswered,
        approvedMinor,
        firstWrong,
        causes,
        perSecond: counts.answered / Math.max(seconds, lastMs / 1_000),
        approvedPerSecond: counts.approved / Math.max(seconds, lastMs / 1_000),
        p50: quantile(sorted, 0.5),
        p99: quantile(sorted, 0.99),
        p999: quantile(sorted, 0.999),
        max: sorted.at(-1) ?? Number.NaN,
        pastShare: (past + unanswered) / counts.sent,
        past: past + unanswered,
        pastSending: pastSending + unanswered,
        defaultShare: counts.defaults / counts.sent,
        senderLate99: quantile(late, 0.99),
        senderLateMax: late.at(-1) ?? 0,
        timeline: Array.from(timeline, (ms) => ms ?? 0),
      }
    },
  }
}
