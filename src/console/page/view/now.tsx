import { useMemo } from 'preact/hooks'
import type { Gauges, NowShown, Second } from '../../shape/now.ts'
import { bytesText, countedText, countText, msText } from '../format.ts'
import { now, seconds, who } from '../live.ts'
import { Empty, Panel } from '../parts.tsx'
import { Legend, Plot } from '../plot.tsx'
import { BackOfficePanel, Instances } from './instances.tsx'

export function NowPage() {
  const shown = now.value
  if (shown === null) return <Empty>Waiting for the first second…</Empty>
  return (
    <>
      <h1 class="hidden">Now</h1>
      <HealthLine shown={shown} />
      <Tiles shown={shown} />
      <div class="columns two">
        <Answers points={seconds.value} />
        <Latency points={seconds.value} />
      </div>
      <div class="columns three">
        <Parts points={seconds.value} />
        <StateRows gauges={shown.gauges} />
        <div>
          <Instances shown={shown} />
          <BackOfficePanel shown={shown} />
        </div>
      </div>
    </>
  )
}

function HealthLine({ shown }: { shown: NowShown }) {
  const { health, minute } = shown
  if (health.sentence === '') {
    const inTime =
      minute.answers === 0
        ? 'Nothing was asked in the last minute.'
        : minute.inTime === 1
          ? `All ${countText(minute.answers)} answers of the last minute left within 400 ms.`
          : `${countText(minute.answers)} answers in the last minute.`
    return (
      <p class="health well" role="status">
        <span class="mark" aria-hidden="true">
          ●
        </span>{' '}
        <strong>All is well.</strong> {inTime}
      </p>
    )
  }
  return (
    <div class="health ill" role="alert">
      <p>
        <span class="mark" aria-hidden="true">
          ▲
        </span>{' '}
        <strong>{health.sentence}</strong>
      </p>
      {health.advice !== '' && (
        <p class="advice">
          <span class="id">{health.entry}</span> {health.advice.replaceAll(/[*`]/g, '')}
        </p>
      )}
    </div>
  )
}

function Tiles({ shown: { second, minute, gauges } }: { shown: NowShown }) {
  const defaults = Object.values(second.defaults).reduce((sum, count) => sum + count, 0)
  const answers = second.approved + second.declined + second.acknowledged + defaults
  const inTime =
    minute.inTime === null
      ? '–'
      : `${(Math.floor(minute.inTime * 1e5) / 1e3).toFixed(minute.inTime === 1 ? 0 : 3)} %`
  const { unmatched, anomalies } = gauges
  const within = (ms: number) => (minute.answers === 0 ? '–' : msText(ms))
  const tiles = [
    ['Answers a second', countText(answers), `${countText(minute.answers)} in the last minute`],
    ['Within 400 ms', inTime, 'of the last minute'],
    ['Half within', within(minute.p50Ms), 'p50 of the last minute'],
    ['99 of 100 within', within(minute.p99Ms), `p99.9 ${within(minute.p999Ms)}`],
    ['Slowest', within(minute.maxMs), 'of the last minute'],
    [
      'Waiting for people',
      countedText({ unmatched, anomalies }),
      `${countedText({ unmatched })} unmatched, ${countedText({ anomalies })} anomalies`,
    ],
  ] as const
  return (
    <dl class="tiles">
      {tiles.map(([label, value, below]) => (
        <div class="tile">
          <dt>{label}</dt>
          <dd class="num">{value}</dd>
          <dd class="below">{below}</dd>
        </div>
      ))}
    </dl>
  )
}

const causes = ['deadline', 'overload', 'storeUnavailable', 'engineDown', 'starting', 'damaged']
const causeColours = [
  '--default',
  '--default2',
  '--default3',
  '--default4',
  '--default5',
  '--default5',
]

function Answers({ points }: { points: readonly Second[] }) {
  const last = points.at(-1)
  const seen = useMemo(
    () => causes.filter((cause) => points.some(({ defaults }) => (defaults[cause] ?? 0) > 0)),
    [points],
  )
  const parts = [
    { label: 'approved', colour: '--approved', of: (s: Second) => s.approved },
    { label: 'acknowledged', colour: '--acknowledged', of: (s: Second) => s.acknowledged },
    { label: 'declined', colour: '--declined', of: (s: Second) => s.declined },
    ...seen.map((cause) => ({
      label: `default: ${cause}`,
      colour: causeColours[causes.indexOf(cause)]!,
      of: (s: Second) => s.defaults[cause] ?? 0,
    })),
  ]
  const series = parts.map(({ label, colour, of }) => ({ label, colour, values: points.map(of) }))
  return (
    <Panel title="Answers a second" aside="last 15 minutes">
      <Plot
        key={seen.join()}
        label={`Answers a second; now ${last === undefined ? 0 : last.approved + last.declined}`}
        times={points.map(({ atMs }) => atMs)}
        series={series}
        stacked
      />
      <Legend
        entries={parts.map(({ label, colour, of }) => [
          label,
          colour,
          last === undefined ? '' : countText(of(last)),
        ])}
      />
    </Panel>
  )
}

const latencyScale = [0.1, 1000] as const

/** A second in which nothing was answered has no milliseconds. */
function newestMs(second: Second | undefined, of: (second: Second) => number): string {
  return second === undefined || second.maxMs === 0 ? '–' : msText(of(second))
}

function Latency({ points }: { points: readonly Second[] }) {
  const last = points.at(-1)
  const budgetMs = who.value?.budgetMs ?? 250
  const shownMs = (ms: number) => (ms === 0 ? null : Math.max(latencyScale[0], ms))
  const parts = [
    { label: 'p50', colour: '--p50', of: (s: Second) => s.p50Ms },
    { label: 'p99', colour: '--p99', of: (s: Second) => s.p99Ms },
    { label: 'p99.9', colour: '--p999', of: (s: Second) => s.p999Ms },
    { label: 'max', colour: '--max', of: (s: Second) => s.maxMs },
  ]
  return (
    <Panel title="Time to answer" aside="each second, against the limit">
      <Plot
        label={`Time to answer against the limit of 400 milliseconds; p99 now ${newestMs(last, (s) => s.p99Ms)}`}
        times={points.map(({ atMs }) => atMs)}
        series={parts.toReversed().map(({ label, colour, of }) => ({
          label,
          colour,
          values: points.map((one) => shownMs(of(one))),
        }))}
        logarithmic={latencyScale}
        unit=" ms"
        lines={[
          { at: 400, label: '400 ms limit', colour: '--limit' },
          { at: budgetMs, label: `budget ${budgetMs} ms`, colour: '--budget' },
        ]}
      />
      <Legend entries={parts.map(({ label, colour, of }) => [label, colour, newestMs(last, of)])} />
    </Panel>
  )
}

const partColours = ['--part1', '--part2', '--part3', '--part4']

function Parts({ points }: { points: readonly Second[] }) {
  const last = points.at(-1)
  const parts = [
    ['arrival', (s: Second) => s.arrivalMs],
    ['queue', (s: Second) => s.queueMs],
    ['decide', (s: Second) => s.decideMs],
    ['commit', (s: Second) => s.commitMs],
  ] as const
  return (
    <Panel title="Where the time goes" aside="mean, ms">
      <Plot
        label="Mean milliseconds of arrival, queue, decision and commit"
        times={points.map(({ atMs }) => atMs)}
        series={parts.map(([label, of], i) => ({
          label,
          colour: partColours[i]!,
          values: points.map(of),
        }))}
        stacked
        height={170}
      />
      <Legend
        entries={parts.map(([label, of], i) => [label, partColours[i]!, newestMs(last, of)])}
      />
    </Panel>
  )
}

function StateRows({ gauges }: { gauges: Gauges }) {
  const rows = [
    ['Engine', gauges.engineRunning ? 'running' : 'down', gauges.engineRunning],
    ['Store', gauges.storeAvailable ? 'takes commits' : 'unavailable', gauges.storeAvailable],
    [
      'Journal',
      gauges.journalInPlace ? bytesText(gauges.journalBytes) : 'gone',
      gauges.journalInPlace,
    ],
    ['Not booked yet', countText(gauges.unbooked), gauges.unbooked === 0],
    ['Open slots', countText(gauges.slotsOpen), true],
    ['In the engine', countText(gauges.queued), true],
    ['Connections', countText(gauges.connections), true],
    ['Emergency blocks', countText(gauges.blocks), true],
    ['Tripped rules', countText(gauges.trippedRules), gauges.trippedRules === 0],
    ['Engine restarts', countText(gauges.engineRestarts), true],
  ] as const
  return (
    <Panel title="State">
      <dl class="rows">
        {rows.map(([label, value, well]) => (
          <div class={well ? '' : 'ill'}>
            <dt>{label}</dt>
            <dd class="num">{value}</dd>
          </div>
        ))}
      </dl>
    </Panel>
  )
}
