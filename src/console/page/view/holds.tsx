import type { DecisionList } from '../../shape/decision.ts'
import type { HoldsShown, ShownHold } from '../../shape/record.ts'
import { type Act, ActButton } from '../act.tsx'
import { spanText } from '../format.ts'
import { browserMs } from '../live.ts'
import { Amount, Empty, IdLink, Panel, Time } from '../parts.tsx'
import { DecisionTable } from './decision-table.tsx'

export function releaseAct(
  { cardId, transactionId }: Pick<ShownHold, 'cardId' | 'transactionId'>,
  onDone: () => void,
): Act {
  return {
    title: 'Release hold',
    says: `Releases what transaction ${transactionId} holds, as if it had expired. A settlement that still comes is posted.`,
    url: '/act/transaction',
    body: (_, reason) => ({ act: 'releaseHold', cardId, transactionId, reason }),
    onDone,
  }
}

export function HoldsPanel({
  shown,
  currency,
  again,
}: {
  shown: HoldsShown
  currency: string
  again: () => void
}) {
  const { holds, allHolds } = shown
  return (
    <Panel title="Holds" aside={allHolds ? `${holds.length}` : `the first ${holds.length}`}>
      {holds.length === 0 && (
        <p class="faint">
          {allHolds ? 'Nothing is held.' : 'The holds expire later than what was looked through.'}
        </p>
      )}
      {holds.length > 0 && (
        <table>
          <thead>
            <tr>
              <th>Transaction</th>
              <th class="right">Held</th>
              <th>Expires</th>
              <th>
                <span class="hidden">Do</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {holds.map((hold) => (
              <tr key={`${hold.cardId} ${hold.transactionId}`}>
                <td>
                  <IdLink to="transaction" ids={[hold.cardId, hold.transactionId]} />
                </td>
                <td class="right">
                  <Amount minor={hold.heldMinor} currency={currency} />
                </td>
                <td>
                  <Time atMs={hold.expiresAtMs} day />{' '}
                  <span class="faint">in {spanText(hold.expiresAtMs - browserMs())}</span>
                </td>
                <td class="right">
                  <ActButton label="Release" act={() => releaseAct(hold, again)} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {!allHolds && holds.length > 0 && (
        <p class="faint">More is held than these, by holds that expire later.</p>
      )}
    </Panel>
  )
}

export function RecentPanel({ recent, href }: { recent: DecisionList; href: string }) {
  return (
    <>
      <div class="page-head">
        <h2>Latest decisions</h2>
        <a href={href}>All of them, live</a>
      </div>
      {recent.rows.length === 0 ? (
        <Empty>Nothing was asked of late.</Empty>
      ) : (
        <DecisionTable rows={recent.rows} />
      )}
    </>
  )
}
