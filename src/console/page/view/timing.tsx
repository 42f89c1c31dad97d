import type { DecisionShown, ShownTiming } from '../../shape/decision.ts'
import { msText } from '../format.ts'
import { who } from '../live.ts'
import { Panel } from '../parts.tsx'

const timingParts = [
  ['arrival', 'arrivalMs', 'part1'],
  ['queue', 'queueMs', 'part2'],
  ['decide', 'decideMs', 'part3'],
  ['commit', 'commitMs', 'part4'],
] as const

export function TimingPanel({ shown: { timing, deliveries, row } }: { shown: DecisionShown }) {
  const contractMs = who.value?.contractMs ?? 400
  return (
    <Panel
      title="Milliseconds"
      aside={timing === null ? '' : `${msText(timing.totalMs)} of ${contractMs}`}
    >
      {timing === null ? (
        <p class="faint">
          {row.repeated ? 'Told again.' : ''} The times of the newest 50,000 deliveries of this
          server are kept; this one is not among them.
        </p>
      ) : (
        <TimingBar timing={timing} />
      )}
      {deliveries.length > 1 && (
        <details>
          <summary>{deliveries.length} deliveries of this event</summary>
          {deliveries.map((one) => (
            <TimingBar timing={one} />
          ))}
        </details>
      )}
    </Panel>
  )
}

function TimingBar({ timing }: { timing: ShownTiming }) {
  const contractMs = who.value?.contractMs ?? 400
  const budgetMs = who.value?.budgetMs ?? 250
  const wholeMs = Math.max(contractMs, timing.totalMs)
  const share = (ms: number) => `${(ms / wholeMs) * 100}%`
  const known = timingParts.map(
    ([name, field, colour]) => [name, timing[field] ?? 0, colour] as const,
  )
  const restMs = Math.max(0, timing.totalMs - known.reduce((sum, [, ms]) => sum + ms, 0))
  const parts = [...known, ['other', restMs, 'part5'] as const]
  return (
    <div class="timing">
      <div class="bar" aria-hidden="true">
        {parts.map(([, ms, colour]) => (
          <span class={colour} style={{ width: share(ms) }} />
        ))}
        <i class="budget" style={{ left: share(budgetMs) }} />
        <i class="limit" style={{ left: share(contractMs) }} />
      </div>
      <ul class="legend">
        {parts.map(([name, ms, colour]) => (
          <li>
            <span class={`key ${colour}`} aria-hidden="true" /> {name}{' '}
            <span class="num strong">{msText(ms)}</span>
          </li>
        ))}
        <li class="faint">
          budget {budgetMs} ms, limit {contractMs} ms{timing.duplicate ? ', a duplicate' : ''}
        </li>
      </ul>
    </div>
  )
}
