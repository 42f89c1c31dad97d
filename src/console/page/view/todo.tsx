import { useState } from 'preact/hooks'
import type { WorkRow, WorkShown } from '../../shape/record.ts'
import { type Act, ActButton } from '../act.tsx'
import { getData, useData } from '../ask.ts'
import { plainText, spanText } from '../format.ts'
import { browserMs, who } from '../live.ts'
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
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set())
  const chosen = rows.filter(({ key }) => picked.has(key))
  const pick = (keys: readonly string[], isPicked: boolean) => {
    const others = [...picked].filter((key) => !keys.includes(key))
    setPicked(new Set(isPicked ? [...others, ...keys] : others))
  }
  const again = () => {
    setMore(null)
    setPicked(new Set())
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
      {chosen.length > 0 && (
        <p>
          <ActButton
            label={`Mark ${chosen.length} as handled`}
            act={() => doneAct(chosen, again)}
          />
        </p>
      )}
      {rows.length > 0 && (
        <div class="scroll">
          <table>
            <thead>
              <tr>
                <PickCell
                  label={`All of ${title}`}
                  head
                  isPicked={chosen.length === rows.length}
                  onPick={(isPicked) =>
                    pick(
                      rows.map(({ key }) => key),
                      isPicked,
                    )
                  }
                />
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
                <Line
                  key={row.key}
                  row={row}
                  isPicked={picked.has(row.key)}
                  onPick={(isPicked) => pick([row.key], isPicked)}
                  again={again}
                />
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

interface Picking {
  readonly isPicked: boolean
  onPick(isPicked: boolean): void
}

/** Only who may mark can choose what to mark. */
function PickCell({
  label,
  head = false,
  isPicked,
  onPick,
}: Picking & { label: string; head?: boolean }) {
  if (who.value?.role !== 'operator') return null
  const box = (
    <input
      type="checkbox"
      aria-label={label}
      checked={isPicked}
      onChange={(event) => onPick(event.currentTarget.checked)}
    />
  )
  return head ? <th>{box}</th> : <td>{box}</td>
}

function doneAct(rows: readonly WorkRow[], onDone: () => void): Act {
  const [{ list, what, requestType, eventId }] = rows as [WorkRow]
  const which = rows.length === 1 ? `${what}: ${requestType} ${eventId}` : `${rows.length} entries`
  return {
    title: 'Mark as handled',
    says: `${which}. What is handled leaves the list; the log says why.`,
    url: '/act/work/done',
    body: (_, reason) => ({ list, keys: rows.map(({ key }) => key), reason }),
    onDone,
  }
}

function Line({ row, again, isPicked, onPick }: Picking & { row: WorkRow; again: () => void }) {
  return (
    <tr tabIndex={-1} data-row>
      <PickCell label={`${row.what} ${row.eventId}`} isPicked={isPicked} onPick={onPick} />
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
        <ActButton label="Handled" act={() => doneAct([row], again)} />
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
