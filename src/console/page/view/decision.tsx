import { useState } from 'preact/hooks'
import type { Balances, DecisionShown, ShownWindow } from '../../shape/decision.ts'
import { pathParts } from '../address.ts'
import { getData, useData } from '../ask.ts'
import { moneyText, plainText } from '../format.ts'
import { pathOf } from '../page-path.ts'
import { Amount, CardLink, IdLink, OutcomeMark, Panel, State, Time } from '../parts.tsx'
import { isAskRow, outcomeWord } from './decision-table.tsx'
import { Explanation } from './explanation.tsx'
import { TimingPanel } from './timing.tsx'

export function DecisionPage() {
  const [cursor = ''] = pathParts()
  const asked = useData<DecisionShown>(`/data/decision?cursor=${cursor}`)
  const shown = asked.data
  return (
    <>
      {shown === null && <h1 class="hidden">Decision</h1>}
      <State asked={asked} />
      {shown !== null && <Shown shown={shown} cursor={cursor} />}
    </>
  )
}

function Shown({ shown, cursor }: { shown: DecisionShown; cursor: string }) {
  const { row, then, now } = shown
  return (
    <>
      <div class="page-head">
        <h1>
          <OutcomeMark code={row.code} decidedBy={row.decidedBy} reason={outcomeWord(row)} />
        </h1>
        <CopyTest cursor={cursor} />
      </div>
      <p class="summary">
        {row.requestType} of <Amount minor={row.amountMinor} currency={row.currency} /> at{' '}
        <bdi class="strong">
          {plainText(row.merchant.name || row.merchant.mid || 'no merchant')}
        </bdi>
        , card <CardLink id={row.cardId} />, transaction{' '}
        <IdLink to="transaction" ids={[row.cardId, row.transactionId]} />,{' '}
        <Time atMs={row.atMs} day />
        {row.ruleId !== '' && <DecidedBy ruleId={row.ruleId} />}
      </p>
      <TimingPanel shown={shown} />
      <div class="columns two">
        <Panel title="Why" aside={`pack ${then?.rulesVersion ?? shown.rulesVersion}`}>
          {shown.note !== '' && <p class="note">{shown.note}</p>}
          {then !== null ? (
            <Explanation explained={then} />
          ) : (
            now !== null && <Explanation explained={now} />
          )}
        </Panel>
        <div>
          <MoneyPanel before={shown.before} after={shown.after} />
          <WindowsPanel windows={shown.windows} currency={shown.before?.currency ?? row.currency} />
          {isAskRow(row) && <NowPanel shown={shown} />}
          <EventPanel shown={shown} />
        </div>
      </div>
    </>
  )
}

function DecidedBy({ ruleId }: { ruleId: string }) {
  // Emergency blocks are in no pack.
  if (ruleId.startsWith('block:')) {
    return (
      <>
        , by the emergency <span class="id">{plainText(ruleId)}</span>
      </>
    )
  }
  return (
    <>
      , by rule{' '}
      <a href={`/rules#${ruleId}`} class="id">
        {plainText(ruleId)}
      </a>
    </>
  )
}

function CopyTest({ cursor }: { cursor: string }) {
  const [said, setSaid] = useState('')
  async function copy(): Promise<void> {
    try {
      const { text } = await getData<{ text: string }>(`/data/test-case?cursor=${cursor}`)
      await navigator.clipboard.writeText(text)
      setSaid('Copied: paste it into a NAME.test.yaml of the pack')
    } catch (error) {
      setSaid((error as Error).message)
    }
  }
  return (
    <div>
      <span class="faint" role="status">
        {said}
      </span>{' '}
      <button type="button" onClick={copy}>
        Copy as a test case
      </button>
    </div>
  )
}

const moneyRows = [
  ['Posted', 'postedMinor'],
  ['Held', 'heldMinor'],
  ['Withheld', 'withheldMinor'],
  ['Available', 'availableMinor'],
] as const

function MoneyPanel({ before, after }: { before: Balances | null; after: Balances | null }) {
  if (before === null || after === null) return null
  const { currency } = after
  return (
    <Panel title="Money">
      <table class="sums">
        <thead>
          <tr>
            <th>
              <span class="hidden">Sum</span>
            </th>
            <th class="right">Before</th>
            <th class="right">After</th>
            <th class="right">Change</th>
          </tr>
        </thead>
        <tbody>
          {moneyRows.map(([label, field]) => {
            const moved = after[field] - before[field]
            return (
              <tr>
                <th scope="row">{label}</th>
                <td class="right" data-name="Before">
                  <Amount minor={before[field]} currency={currency} />
                </td>
                <td class="right" data-name="After">
                  <Amount minor={after[field]} currency={currency} />
                </td>
                <td class={`right num ${moved === 0 ? 'faint' : 'strong'}`} data-name="Change">
                  {moved > 0 ? '+' : ''}
                  {moneyText({ minor: moved, currency })}
                </td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </Panel>
  )
}

function WindowsPanel({
  windows,
  currency,
}: {
  windows: readonly ShownWindow[]
  currency: string
}) {
  if (windows.length === 0) return null
  return (
    <Panel title="Windows">
      <table class="sums">
        <thead>
          <tr>
            <th>Window</th>
            <th class="right">Before</th>
            <th class="right">After</th>
            <th class="right">Count</th>
          </tr>
        </thead>
        <tbody>
          {windows.map((one) => (
            <tr>
              <th scope="row">
                {one.name} <span class="faint">{one.scope}</span>
              </th>
              <td class="right" data-name="Before">
                <Amount minor={one.beforeMinor} currency={currency} />
              </td>
              <td class="right" data-name="After">
                <Amount minor={one.afterMinor} currency={currency} />
              </td>
              <td class="right num" data-name="Count">
                {one.beforeCount} → {one.afterCount}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  )
}

function NowPanel({ shown: { now, row } }: { shown: DecisionShown }) {
  return (
    <Panel
      title="What the pack of now would say"
      aside={now === null ? '' : `pack ${now.rulesVersion}`}
    >
      {now === null ? (
        <p class="faint">The card is not known.</p>
      ) : (
        <>
          <p>
            <OutcomeMark code={now.code} decidedBy="engine" reason={now.reason} />{' '}
            {now.code === row.code
              ? 'The same, on the card as it is now.'
              : 'Something else, on the card as it is now.'}
            {now.ruleId !== '' && (
              <>
                {' '}
                By rule <span class="id">{now.ruleId}</span>.
              </>
            )}
          </p>
          <details>
            <summary>Each check and rule</summary>
            <Explanation explained={now} />
          </details>
        </>
      )}
    </Panel>
  )
}

function EventPanel({ shown: { event, row, changes } }: { shown: DecisionShown }) {
  return (
    <Panel
      title="Event"
      aside={row.accountId === '' ? '' : <IdLink to="account" ids={[row.accountId]} />}
    >
      <dl class="rows">
        {Object.entries(event)
          .filter(([name, value]) => name !== 'currency' && value !== '' && value !== null)
          .filter(([name, value]) => name === 'amountMinor' || value !== 0)
          .map(([name, value]) => (
            <div>
              <dt>{name.replace(/(?:Minor|Ms)$/, '')}</dt>
              <dd class="id">
                <bdi>
                  {name === 'occurredAtMs' ? (
                    <Time atMs={Number(value)} day />
                  ) : name === 'amountMinor' ? (
                    <Amount minor={Number(value)} currency={row.currency} />
                  ) : name === 'merchantAmountMinor' ? (
                    <Amount minor={Number(value)} currency={String(event.merchantCurrency)} />
                  ) : (
                    plainText(String(value))
                  )}
                </bdi>
              </dd>
            </div>
          ))}
        <div>
          <dt>changes</dt>
          <dd>{changes.join(', ') || 'none'}</dd>
        </div>
      </dl>
      <p>
        <a href={`${pathOf('decisions')}?event=${encodeURIComponent(row.eventId)}`}>
          All entries of this event
        </a>
      </p>
    </Panel>
  )
}
