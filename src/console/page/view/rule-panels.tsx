import { useState } from 'preact/hooks'
import type { ListShown, RulesShown } from '../../shape/rules.ts'
import { type Act, ActButton } from '../act.tsx'
import { useData } from '../ask.ts'
import { countText, plainText, spanText } from '../format.ts'
import { browserMs } from '../live.ts'
import { Empty, Panel, State, Time } from '../parts.tsx'

const durations = [
  ['1800000', '30 minutes'],
  ['7200000', '2 hours'],
  ['86400000', '1 day'],
  ['604800000', '7 days'],
] as const

export function BlocksPanel({
  shown: { blocks },
  again,
}: {
  shown: RulesShown
  again: () => void
}) {
  const add = (): Act => ({
    title: 'Block',
    says: 'Declines such asks within a second on every server of the store. It ends by itself.',
    url: '/act/block',
    fields: [
      {
        name: 'kind',
        label: 'What',
        value: 'mid',
        choices: ['mid', 'mcc', 'country', 'card'].map((kind) => [kind, kind] as const),
      },
      { name: 'value', label: 'Value' },
      { name: 'forMs', label: 'For', value: '7200000', choices: durations },
    ],
    danger: true,
    body: ({ kind, value, forMs }, reason) => ({ kind, value, forMs: Number(forMs), reason }),
    onDone: again,
  })
  const end = (block: RulesShown['blocks'][number]) => (): Act => ({
    title: 'End block',
    says: `Asks of ${block.kind} ${block.value} are decided as usual again.`,
    url: '/act/block',
    body: (_, reason) => ({ kind: block.kind, value: block.value, forMs: 0, reason }),
    onDone: again,
  })
  return (
    <Panel title="Emergency blocks" aside={<ActButton label="Block…" act={add} />}>
      {blocks.length === 0 && <Empty>Nothing is blocked.</Empty>}
      {blocks.length > 0 && (
        <table>
          <tbody>
            {blocks.map((block) => (
              <tr key={`${block.kind} ${block.value}`}>
                <td>
                  {block.kind} <span class="id strong">{plainText(block.value)}</span>
                </td>
                <td>
                  until <Time atMs={block.untilMs} day />{' '}
                  <span class="faint">in {spanText(block.untilMs - browserMs())}</span>
                </td>
                <td>{plainText(block.reason)}</td>
                <td class="right">
                  <ActButton label="End" act={end(block)} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  )
}

export function PackLists({ lists }: { lists: RulesShown['lists'] }) {
  const [name, setName] = useState(lists[0]?.name ?? '')
  const [q, setQ] = useState('')
  const asked = useData<ListShown>(
    name === '' ? null : `/data/list?name=${encodeURIComponent(name)}&q=${encodeURIComponent(q)}`,
  )
  if (lists.length === 0) return null
  return (
    <Panel title="Lists">
      <div class="filters">
        <label>
          List
          <select value={name} onChange={(event) => setName(event.currentTarget.value)}>
            {lists.map((list) => (
              <option key={list.name} value={list.name}>
                {list.name} ({countText(list.size)})
              </option>
            ))}
          </select>
        </label>
        <label>
          Search
          <input value={q} onInput={(event) => setQ(event.currentTarget.value)} />
        </label>
      </div>
      <State asked={asked} />
      {asked.data !== null && (
        <p class="id values">
          {asked.data.values.length === 0
            ? 'Nothing of it.'
            : asked.data.values.map(plainText).join('  ')}
          {asked.data.values.length === 200 && ' …'}
        </p>
      )}
    </Panel>
  )
}

export function ReportsPanel({ reports }: { reports: RulesShown['reports'] }) {
  return (
    <Panel title="Backtests">
      {reports.length === 0 ? (
        <p class="faint">
          Reports of <code>arbiter rules backtest --html FILE</code> in the folder that
          CONSOLE_REPORTS_DIR names are listed here.
        </p>
      ) : (
        <ul class="found">
          {reports.map(({ name, atMs }) => (
            <li key={name}>
              <a
                class="line"
                href={`/reports/${encodeURIComponent(name)}`}
                target="_blank"
                rel="noreferrer"
              >
                {name} <Time atMs={atMs} day />
              </a>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}
