import { readFileSync } from 'node:fs'
import type { Readiness } from '../admin/server.ts'
import { releaseFolder } from '../installation.ts'
import type { Gauges, Health, Minute, Second } from './shape/now.ts'

/** What can be wrong, the gravest first: a sentence, and the entry of the runbook that says what to do. */
interface Trouble {
  readonly entry: string
  readonly sentence: (seen: Seen) => string
}

interface Seen {
  readonly readiness: Readiness
  readonly minute: Minute
  readonly recent: readonly Second[]
  readonly gauges: Gauges
}

const slowMs = 200
const nearLimitMs = 350

const troubles: readonly Trouble[] = [
  {
    entry: 'ArbiterEngineDown',
    sentence: ({ gauges, readiness }) =>
      gauges.engineRunning || readiness.status === 'starting' ? '' : 'No engine takes events.',
  },
  {
    entry: 'ArbiterStoreUnavailable',
    sentence: ({ gauges, readiness }) =>
      gauges.storeAvailable || readiness.status === 'starting' ? '' : 'The store takes no commits.',
  },
  {
    entry: 'ArbiterDataGone',
    sentence: ({ gauges }) => (gauges.journalInPlace ? '' : 'The journal is not in its place.'),
  },
  {
    entry: 'ArbiterDamaged',
    sentence: ({ readiness }) => {
      const { damaged } = readiness.detail
      return Array.isArray(damaged) ? `${damaged.length} records cannot be read.` : ''
    },
  },
  {
    entry: 'ArbiterDefaultDecisions',
    sentence({ recent }) {
      const causes = new Map<string, number>()
      for (const { defaults } of recent) {
        for (const [cause, count] of Object.entries(defaults)) {
          causes.set(cause, (causes.get(cause) ?? 0) + count)
        }
      }
      const [first] = [...causes].sort(([, a], [, b]) => b - a)
      if (first === undefined) return ''
      const all = [...causes.values()].reduce((sum, count) => sum + count, 0)
      const few = all === 1 ? 'answer was' : 'answers were'
      const why = causes.size === 1 ? first[0] : `most by ${first[0]}`
      return `${all} ${few} given by default in the last minute: ${why}.`
    },
  },
  {
    entry: 'ArbiterClock',
    sentence: ({ readiness }) => (readiness.detail.clockProblem ? 'The clocks disagree.' : ''),
  },
  {
    entry: 'ArbiterRulesRefused',
    sentence: ({ readiness }) =>
      readiness.detail.rulesProblem
        ? 'The pack in the folder is refused; the last one decides.'
        : '',
  },
  {
    entry: 'ArbiterRuleTripped',
    sentence: ({ gauges: { trippedRules: count } }) =>
      count === 0
        ? ''
        : `${count} ${count === 1 ? 'rule has' : 'rules have'} tripped their breaker.`,
  },
  {
    entry: 'ArbiterNearLimit',
    sentence: ({ minute }) =>
      minute.p999Ms > nearLimitMs ? 'Answers leave close to the 400 ms limit.' : '',
  },
  {
    entry: 'ArbiterSlow',
    sentence: ({ minute }) =>
      minute.p99Ms > slowMs ? `One answer in a hundred takes more than ${slowMs} ms.` : '',
  },
  {
    entry: 'ArbiterUnbooked',
    sentence: ({ gauges: { unbooked } }) =>
      unbooked > 0 ? `${unbooked} default answers are not in the ledger yet.` : '',
  },
  {
    entry: 'ArbiterDegraded',
    sentence: ({ readiness }) =>
      readiness.status === 'degraded' ? 'Something is not as it should be.' : '',
  },
]

export function healthOf(
  readiness: Readiness,
  minute: Minute,
  recent: readonly Second[],
  gauges: Gauges,
): Health {
  const { status } = readiness
  const seen = { readiness, minute, recent, gauges }
  for (const trouble of troubles) {
    const sentence = trouble.sentence(seen)
    if (sentence === '') continue
    return { status, sentence, entry: trouble.entry, advice: adviceOf(trouble.entry) }
  }
  return { status, sentence: '', entry: '', advice: '' }
}

const advices = readRunbook()

function adviceOf(entry: string): string {
  return advices.get(entry) ?? ''
}

/** The paragraphs of the runbook by their headings; none where it is not installed. */
function readRunbook(): ReadonlyMap<string, string> {
  try {
    const text = readFileSync(new URL('deploy/RUNBOOK.md', releaseFolder), 'utf8')
    const [, ...entries] = text.split(/^## /m)
    return new Map(
      entries.map((entry) => {
        const end = entry.indexOf('\n')
        return [entry.slice(0, end).trim(), entry.slice(end).replace(/\s+/g, ' ').trim()]
      }),
    )
  } catch {
    return new Map()
  }
}
