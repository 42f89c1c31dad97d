import { useEffect, useRef, useState } from 'preact/hooks'
import type { RuleShown, RulesShown } from '../../shape/rules.ts'
import { type Act, ActButton } from '../act.tsx'
import { useData } from '../ask.ts'
import { countText, dayTimeText, plainText } from '../format.ts'
import { browserMs } from '../live.ts'
import { State } from '../parts.tsx'
import { BlocksPanel, PackLists, ReportsPanel } from './rule-panels.tsx'

export function RulesPage() {
  const asked = useData<RulesShown>('/data/rules')
  return (
    <>
      {asked.data === null && <h1 class="hidden">Rules</h1>}
      <State asked={asked} />
      {asked.data !== null && <Shown shown={asked.data} again={asked.again} />}
    </>
  )
}

function Shown({ shown, again }: { shown: RulesShown; again: () => void }) {
  const { tests } = shown
  return (
    <>
      <div class="page-head">
        <h1>
          Rules of {plainText(shown.name)} <span class="id faint">{shown.version}</span>
        </h1>
        <p class={tests.failed > 0 ? 'warn' : 'faint'}>
          {tests.passed} tests passed, {tests.failed} failed, coverage {tests.covered} %
        </p>
      </div>
      {shown.problem !== '' && <p class="note">{shown.problem}</p>}
      <div class="wide">
        <table class="list rules">
          <thead>
            <tr>
              <th>Rule</th>
              <th>Mode</th>
              <th>Does</th>
              <th>Last 24 hours</th>
              <th class="right">Matched</th>
              <th class="right">Declined</th>
              <th class="right">Shadow</th>
              <th>Owner</th>
            </tr>
          </thead>
          <tbody>
            {shown.rules.map((rule) => (
              <RuleRow key={rule.id} rule={rule} again={again} />
            ))}
          </tbody>
        </table>
      </div>
      <div class="columns two below">
        <BlocksPanel shown={shown} again={again} />
        <PackLists lists={shown.lists} />
      </div>
      <ReportsPanel reports={shown.reports} />
    </>
  )
}

function RuleRow({ rule, again }: { rule: RuleShown; again: () => void }) {
  const isNamed = location.hash === `#${rule.id}`
  const [open, setOpen] = useState(isNamed)
  const line = useRef<HTMLTableRowElement>(null)
  useEffect(() => {
    if (isNamed) line.current?.scrollIntoView({ block: 'center' })
  }, [])
  const sum = (field: 'matched' | 'declined' | 'shadow') =>
    countText(rule.spans.reduce((all, span) => all + span[field], 0))
  const arm = (): Act => ({
    title: 'Arm',
    says: `Enforces ${rule.id} again; its breaker counts on.`,
    url: '/act/arm',
    body: (_, reason) => ({ ruleId: rule.id, reason }),
    onDone: again,
  })
  return (
    <>
      <tr id={rule.id} ref={line}>
        <td>
          <button
            type="button"
            class="quiet id"
            data-row
            aria-expanded={open}
            onClick={() => setOpen(!open)}
          >
            {rule.id}
          </button>
        </td>
        <td>
          {rule.tripped === '' ? (
            <>
              {rule.seedingUntilMs === null ? rule.mode : <span class="warn">seeding</span>}
              {rule.rollout !== '' && <span class="tag">{rule.rollout}</span>}
            </>
          ) : (
            <>
              <span class="warn">tripped</span> <ActButton label="Arm" act={arm} />
            </>
          )}
        </td>
        <td>
          {rule.code !== '' && <span class="code num">{rule.code}</span>}{' '}
          <span class="faint">{rule.reason}</span>
        </td>
        <td>
          <Spark rule={rule} />
        </td>
        <td class="right num">{sum('matched')}</td>
        <td class="right num">{sum('declined')}</td>
        <td class="right num">{sum('shadow')}</td>
        <td>{rule.owner}</td>
      </tr>
      {open && (
        <tr class="detail">
          <td colSpan={8}>
            <RuleDetail rule={rule} />
          </td>
        </tr>
      )}
    </>
  )
}

const hourMs = 3_600_000
const hours = 24

/** One path for all columns of a kind: with an element for each, a thousand rules took seconds to show. */
function Spark({ rule }: { rule: RuleShown }) {
  const lastMs = browserMs() - (browserMs() % hourMs)
  const columns = Array.from({ length: hours }, (_, i) => {
    const startMs = lastMs - (hours - 1 - i) * hourMs
    return rule.spans.find((span) => span.startMs === startMs) ?? { matched: 0, shadow: 0 }
  })
  const most = Math.max(1, ...columns.map(({ matched, shadow }) => matched + shadow))
  const heights = columns.map(({ matched, shadow }) => ({
    enforced: (matched / most) * sparkHeight,
    shadow: (shadow / most) * sparkHeight,
  }))
  const enforced = heights.map(({ enforced }, i) => columnPath(i, 0, enforced))
  const shadow = heights.map(({ enforced, shadow }, i) => columnPath(i, enforced, shadow))
  return (
    <svg class="spark" viewBox="0 0 96 20" width="96" height="20" aria-hidden="true">
      <path d={baseLine} class="base" />
      <path d={enforced.join('')} class="enforced" />
      <path d={shadow.join('')} class="shadow" />
    </svg>
  )
}

const sparkHeight = 19
const baseLine = Array.from({ length: hours }, (_, i) => columnPath(i, 0, 0.5)).join('')

/** The column of an hour, which stands on what is below it. */
function columnPath(hour: number, below: number, height: number): string {
  return height === 0 ? '' : `M${4 * hour} ${20 - below - height}h3v${height}h-3z`
}

function RuleDetail({ rule }: { rule: RuleShown }) {
  const rows = [
    ['Does', rule.does],
    ['Looks at', rule.on.join(', ')],
    ['Only for', rule.scopes],
    ['Breaker', rule.breaker],
    ['Expires', rule.expires],
    ['Tripped', rule.tripped],
    ['Seeding', seedingText(rule.seedingUntilMs)],
    ['In tests', rule.covered],
    ['Source', rule.place],
  ].filter(([, value]) => value !== '')
  return (
    <div class="rule-detail">
      <p>{rule.why}</p>
      <pre>
        when {rule.when}
        {rule.unless !== '' && `\nunless ${rule.unless}`}
      </pre>
      <dl class="rows">
        {rows.map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <p>
        <a href={`/decisions?rule=${encodeURIComponent(rule.id)}`}>Decisions that it matched</a>
      </p>
    </div>
  )
}

function seedingText(untilMs: number | null): string {
  if (untilMs === null) return ''
  return `it only records until ${dayTimeText(untilMs)}, when what it looks at is full`
}
