import type { NowShown } from '../../shape/now.ts'
import { countedText, spanText } from '../format.ts'
import { browserMs, who } from '../live.ts'
import { Panel } from '../parts.tsx'

export function Instances({ shown }: { shown: NowShown }) {
  const { instances, rulesVersion } = shown
  const all =
    instances.length > 0
      ? instances
      : [
          {
            name: 'this server',
            rulesVersion,
            release: who.value?.version ?? '',
            heardAtMs: browserMs(),
            self: true,
          },
        ]
  return (
    <Panel title="Instances" aside={`${all.length} on this store`}>
      <table>
        <thead>
          <tr>
            <th>Instance</th>
            <th>Pack</th>
            <th>Release</th>
            <th>Heard</th>
          </tr>
        </thead>
        <tbody>
          {all.map((one) => (
            <tr>
              <td class="id">
                {one.name}
                {one.self && one.name !== 'this server' && <span class="tag">this one</span>}
              </td>
              <td class={`id ${one.rulesVersion === rulesVersion ? '' : 'warn'}`}>
                {one.rulesVersion}
              </td>
              <td class="num">{one.release}</td>
              <td class="num">
                {one.self ? 'now' : `${spanText(browserMs() - one.heardAtMs)} ago`}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  )
}

export function BackOfficePanel({ shown: { backOffice } }: { shown: NowShown }) {
  if (backOffice === null) return null
  const { webhooks, oldestWebhookMs, transfers, oldestTransferMs, kycs } = backOffice
  const rows = [
    ['Webhooks to send', { webhooks }, oldestWebhookMs],
    ['Transfers on their way', { transfers }, oldestTransferMs],
    ['Verifications not decided', { kycs }, null],
  ] as const
  return (
    <Panel title="Back office" aside="of all instances">
      <dl class="rows">
        {rows.map(([label, counts, oldestMs]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd class="num">
              {countedText(counts)}
              {oldestMs !== null && (
                <span class="faint">, oldest {spanText(browserMs() - oldestMs)}</span>
              )}
            </dd>
          </div>
        ))}
      </dl>
    </Panel>
  )
}
