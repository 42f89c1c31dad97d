import type { LifeStep, LifeSums, TransactionShown } from '../../shape/record.ts'
import { type Act, ActButton } from '../act.tsx'
import { pathParts } from '../address.ts'
import { useData } from '../ask.ts'
import { moneyText, plainText, spanText } from '../format.ts'
import { browserMs } from '../live.ts'
import { pathOf } from '../page-path.ts'
import { Amount, CardLink, IdLink, OutcomeMark, Panel, State, Time } from '../parts.tsx'
import { outcomeWord } from './decision-table.tsx'
import { releaseAct } from './holds.tsx'

export function TransactionPage() {
  const [card = '', id = ''] = pathParts()
  const asked = useData<TransactionShown>(
    `/data/transaction?card=${encodeURIComponent(card)}&id=${encodeURIComponent(id)}`,
  )
  return (
    <>
      {asked.data === null && <h1 class="hidden">Transaction</h1>}
      <State asked={asked} />
      {asked.data !== null && <Shown shown={asked.data} again={asked.again} />}
    </>
  )
}

const sumWords = [
  ['Authorized', 'authorizedMinor'],
  ['Held', 'heldMinor'],
  ['Settled', 'settledMinor'],
  ['Reversed', 'reversedMinor'],
  ['Refunded', 'refundedMinor'],
  ['Withheld', 'withheldMinor'],
] as const satisfies readonly (readonly [string, keyof LifeSums])[]

function Shown({ shown, again }: { shown: TransactionShown; again: () => void }) {
  const { currency, sums } = shown
  const open = sums.heldMinor > 0
  return (
    <>
      <div class="page-head">
        <h1>
          Transaction <span class="id">{plainText(shown.transactionId)}</span>{' '}
          <span class="status">{shown.state}</span>
        </h1>
        <div class="buttons">
          {open && <ActButton label="Release hold" act={() => releaseAct(shown, again)} />}
          {sums.withheldMinor > 0 && (
            <ActButton label="Grant refund" act={() => grantAct(shown, again)} />
          )}
        </div>
      </div>
      <p class="summary">
        Card <CardLink id={shown.cardId} />, account <IdLink to="account" ids={[shown.accountId]} />
        {open && (
          <>
            , its hold expires <Time atMs={shown.expiresAtMs} day /> (in{' '}
            {spanText(shown.expiresAtMs - browserMs())})
          </>
        )}
      </p>
      <Panel title="Sums now">
        <dl class="figures">
          {sumWords.map(([label, field]) => (
            <div key={field}>
              <dt>{label}</dt>
              <dd class="num">{moneyText({ minor: sums[field], currency })}</dd>
            </div>
          ))}
        </dl>
      </Panel>
      <Panel title="Life" aside={shown.whole ? '' : 'older steps are further back in the log'}>
        <LifeLine steps={shown.steps} />
        <LifeTable steps={shown.steps} currency={currency} />
      </Panel>
    </>
  )
}

function grantAct(
  { cardId, transactionId, sums, currency }: TransactionShown,
  onDone: () => void,
): Act {
  return {
    title: 'Grant refund',
    says: `Lets ${moneyText({ minor: sums.withheldMinor, currency })} be spent that are withheld because no settlement covers them. It counts to what the pack allows on a day.`,
    url: '/act/transaction',
    body: (_, reason) => ({ act: 'grantRefund', cardId, transactionId, reason }),
    onDone,
  }
}

/** The steps on a line of time; those that lie close are set apart so that each can be seen. */
function LifeLine({ steps }: { steps: readonly LifeStep[] }) {
  const [first, last] = [steps[0], steps.at(-1)]
  if (first === undefined || last === undefined || steps.length < 2) return null
  const wholeMs = Math.max(1, last.atMs - first.atMs)
  const shares = steps.map(({ atMs }, i) => {
    const byTime = (atMs - first.atMs) / wholeMs
    const byOrder = i / (steps.length - 1)
    return (0.5 * byTime + 0.5 * byOrder) * 100
  })
  return (
    <div class="life" aria-hidden="true">
      {steps.map((step, i) => (
        <span
          key={step.cursor}
          class={`step ${step.code === '' ? 'tended' : step.code === '000' ? 'approved' : 'declined'}`}
          style={{ left: `${shares[i]}%` }}
        >
          <b>{step.what}</b>
        </span>
      ))}
    </div>
  )
}

function LifeTable({ steps, currency }: { steps: readonly LifeStep[]; currency: string }) {
  if (steps.length === 0) return <p class="faint">The log no longer has its events.</p>
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th>Time</th>
            <th>What</th>
            <th class="right">Amount</th>
            <th>Answer</th>
            {sumWords.map(([label]) => (
              <th key={label} class="right">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {steps.map((step) => (
            <tr key={step.cursor}>
              <td>
                {step.code === '' ? (
                  <Time atMs={step.atMs} />
                ) : (
                  <a data-row href={pathOf('decision', step.cursor)}>
                    <Time atMs={step.atMs} />
                  </a>
                )}
              </td>
              <td>
                {step.what}{' '}
                {step.reason !== '' && <span class="faint">{plainText(step.reason)}</span>}
              </td>
              <td class="right">
                {step.code !== '' && <Amount minor={step.amountMinor} currency={currency} />}
              </td>
              <td>
                {step.code !== '' && (
                  <OutcomeMark
                    code={step.code}
                    decidedBy={step.decidedBy}
                    reason={outcomeWord({ ...step, requestType: step.what })}
                  />
                )}
              </td>
              {sumWords.map(([label, field]) => (
                <td key={label} class="right num">
                  {step.sums === null ? '' : moneyText({ minor: step.sums[field], currency })}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
