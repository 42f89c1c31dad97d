import { useState } from 'preact/hooks'
import type { WorkRow, WorkShown } from '../../shape/record.ts'
import { type Act, ActButton } from '../act.tsx'
import { getData, useData } from '../ask.ts'
import { plainText, spanText } from '../format.ts'
import { browserMs } from '../live.ts'
import { Amount, CardLink, Empty, IdLink, MerchantCell, Panel, State, Time } from '../parts.tsx'

const lists = [
  {
    list: 'unmatched',
    title: 'Unmatched',
    about: 'Advices that were acknowledged and could not be booked.',
    empty: 'Nothing waits here: every advice was booked.',
  },
  {
    list: 'anomalies',
    title: 'Anomalies',
    about: 'Events that were booked, and that somebody should look at.',
    empty: 'Nothing waits here: nothing odd was booked.',
  },
] as const

export function TodoPage() {
  return (
    <>
      <div class="page-head">
        <h1>To do</h1>
      </div>
      {lists.map((one) => (
        <WorkPanel key={one.list} {...one} />
      ))}
    </>
  )
}

function WorkPanel({ list, title, about, empty }: (typeof lists)[number]) {
  const asked = useData<WorkShown>(`/data/work?list=${list}`)
  const [more, setMore] = useState<WorkShown | null>(null)
  const rows = [...(asked.data?.rows ?? []), ...(more?.rows ?? [])]
  const next = more?.next ?? asked.data?.next ?? ''
  const again = () => {
    setMore(null)
    asked.again()
  }
  async function showMore(): Promise<void> {
    const further = await getData<WorkShown>(`/data/work?list=${list}&after=${next}`)
    setMore({ rows: [...(more?.rows ?? []), ...further.rows], next: further.next })
  }
  return (
    <Panel title={title} aside={about}>
      <State asked={asked} />
      {asked.data !== null && rows.length === 0 && <Empty>{empty}</Empty>}
      {rows.length > 0 && (
        <div class="scroll">
          <table>
            <thead>
              <tr>
                <th>Age</th>
                <th>What</th>
                <th>Kind</th>
                <th class="right">Amount</th>
                <th>Merchant</th>
                <th>Card</th>
                <th>Transaction</th>
                <th>
                  <span class="hidden">Do</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <Line key={row.key} row={row} again={again} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {next !== '' && (
        <p>
          <button type="button" onClick={showMore}>
            Show more
          </button>
        </p>
      )}
    </Panel>
  )
}

function Line({ row, again }: { row: WorkRow; again: () => void }) {
  const done = (): Act => ({
    title: 'Mark as handled',
    says: `${row.what}: ${row.requestType} ${row.eventId}. It leaves the list; the log says why.`,
    url: '/act/work/done',
    body: (_, reason) => ({ list: row.list, key: row.key, reason }),
    onDone: again,
  })
  return (
    <tr tabIndex={-1} data-row>
      <td>
        <span class="num">{spanText(browserMs() - row.atMs)}</span>{' '}
        <span class="faint">
          <Time atMs={row.atMs} />
        </span>
      </td>
      <td class="strong what" title={row.codes}>
        {row.what}
      </td>
      <td>{row.requestType}</td>
      <td class="right">
        <Amount minor={row.amountMinor} currency={row.currency} />
      </td>
      <MerchantCell name={row.merchant} />
      <td>
        <CardLink id={row.cardId} />
      </td>
      <td>
        {row.accountId === '' ? (
          <span class="id">{plainText(row.transactionId)}</span>
        ) : (
          <IdLink to="transaction" ids={[row.cardId, row.transactionId]} />
        )}
      </td>
      <td class="right buttons">
        {row.list === 'unmatched' && <ActButton label="Book" act={() => bookAct(row, again)} />}
        <ActButton label="Handled" act={done} />
      </td>
    </tr>
  )
}

function bookAct(row: WorkRow, onDone: () => void): Act {
  const given = (value: string | undefined) => (value ? { value } : null)
  return {
    title: 'Book',
    says: `Books ${row.requestType} ${row.eventId} now, as it came or with what is given here. An advice is booked once.`,
    url: '/act/work/book',
    fields: [
      { name: 'card', label: 'Card', value: row.cardId },
      { name: 'transaction', label: 'Transaction, where it is another', optional: true },
      {
        name: 'amount',
        label: "Amount, where it is another, in the account's currency",
        optional: true,
      },
    ],
    body: ({ card, transaction, amount }, reason) => ({
      key: row.key,
      reason,
      card,
      ...(given(transaction) && { transaction }),
      ...(given(amount) && { amount }),
    }),
    onDone,
  }
}
