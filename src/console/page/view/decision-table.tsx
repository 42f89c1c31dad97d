import type { DecisionRow } from '../../shape/decision.ts'
import { msText, plainText } from '../format.ts'
import { pathOf } from '../page-path.ts'
import { Amount, CardLink, MerchantCell, OutcomeMark, Time } from '../parts.tsx'

export function DecisionTable({ rows }: { rows: readonly DecisionRow[] }) {
  return (
    <div class="wide">
      <table class="list">
        <thead>
          <tr>
            <th>Time</th>
            <th>Outcome</th>
            <th>Kind</th>
            <th class="right">Amount</th>
            <th>Merchant</th>
            <th>MCC</th>
            <th>Card</th>
            <th>By</th>
            <th class="right">Took</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Row key={row.cursor} row={row} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

const asks = ['Authorization', 'PreAuthorization', 'CashWithdrawal']

/** An advice is not approved: it tells what has happened. */
export function outcomeWord({
  code,
  requestType,
  reason,
}: Pick<DecisionRow, 'code' | 'requestType' | 'reason'>): string {
  if (code !== '000') return reason
  return isAskRow({ requestType }) ? 'approved' : 'acknowledged'
}

export function isAskRow({ requestType }: Pick<DecisionRow, 'requestType'>): boolean {
  return asks.includes(requestType)
}

function Row({ row }: { row: DecisionRow }) {
  const { merchant } = row
  return (
    <tr>
      <td>
        <a data-row href={pathOf('decision', row.cursor)}>
          <Time atMs={row.atMs} />
        </a>
      </td>
      <td>
        <OutcomeMark code={row.code} decidedBy={row.decidedBy} reason={outcomeWord(row)} />
      </td>
      <td>{row.requestType}</td>
      <td class="right">
        <Amount minor={row.amountMinor} currency={row.currency} />
      </td>
      <MerchantCell name={merchant.name || merchant.mid || '–'} country={merchant.country} />
      <td class="num">{plainText(merchant.mcc)}</td>
      <td>
        <CardLink id={row.cardId} />
      </td>
      <td>
        {row.cause !== '' ? (
          <span class="warn">{row.cause}</span>
        ) : row.ruleId !== '' ? (
          <span class="id">{plainText(row.ruleId)}</span>
        ) : (
          <span class="faint">
            {row.repeated
              ? 'repeated'
              : row.unmatched || (row.anomalies[0] ?? '').replaceAll('_', ' ')}
          </span>
        )}
      </td>
      <td class="right num">{row.totalMs === null ? '' : msText(row.totalMs)}</td>
    </tr>
  )
}
