import { useState } from 'preact/hooks'
import type { ChangeRow, ChangeShown, ChangesShown } from '../../shape/rules.ts'
import { pageUrl, withParameters } from '../address.ts'
import { getData, useData } from '../ask.ts'
import { plainText } from '../format.ts'
import { CardLink, Empty, IdLink, LookedTo, State, Time } from '../parts.tsx'

export function ChangesPage() {
  const query = pageUrl.value.search
  const opened = pageUrl.value.searchParams.has('opened')
  const asked = useData<ChangesShown>(`/data/changes${query}`)
  const [older, setOlder] = useState<ChangesShown | null>(null)
  const rows = [...(asked.data?.rows ?? []), ...(older?.rows ?? [])]
  const last = older ?? asked.data
  async function lookFurther(): Promise<void> {
    if (last === null) return
    const join = query === '' ? '?' : `${query}&`
    const more = await getData<ChangesShown>(`/data/changes${join}before=${last.next}`)
    setOlder({
      ...more,
      rows: [...(older?.rows ?? []), ...more.rows],
      looked: last.looked + more.looked,
    })
  }
  return (
    <>
      <div class="page-head">
        <h1>Changes</h1>
        <p class="faint">
          By people here, by the command line and by the API.{' '}
          <a href={withParameters({ opened: opened ? '' : '1' })}>
            {opened ? 'Without cards that were issued' : 'Also cards that were issued'}
          </a>
        </p>
      </div>
      <State asked={asked} />
      {asked.data !== null && rows.length === 0 && (
        <Empty>Nobody has changed anything that was looked at.</Empty>
      )}
      {rows.length > 0 && (
        <div class="wide">
          <table class="list">
            <thead>
              <tr>
                <th>When</th>
                <th>Who</th>
                <th>What</th>
                <th>On</th>
                <th>Why</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <ChangeLine key={row.cursor} row={row} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {last !== null && <LookedTo looked={last} onMore={lookFurther} />}
    </>
  )
}

function ChangeLine({ row }: { row: ChangeRow }) {
  const [open, setOpen] = useState(false)
  return (
    <>
      <tr>
        <td>
          <button
            type="button"
            class="quiet"
            data-row
            aria-expanded={open}
            onClick={() => setOpen(!open)}
          >
            <Time atMs={row.atMs} />
          </button>
        </td>
        <td>{plainText(row.who)}</td>
        <td class="what">{plainText(row.what)}</td>
        <td>
          {row.cardId !== '' ? (
            <CardLink id={row.cardId} />
          ) : row.accountId !== '' ? (
            <IdLink to="account" ids={[row.accountId]} />
          ) : (
            <span class="faint">all cards</span>
          )}
        </td>
        <td class="what">{plainText(row.why)}</td>
      </tr>
      {open && (
        <tr class="detail">
          <td colSpan={5}>
            <BeforeAfter cursor={row.cursor} />
          </td>
        </tr>
      )}
    </>
  )
}

function BeforeAfter({ cursor }: { cursor: string }) {
  const asked = useData<ChangeShown>(`/data/change?cursor=${cursor}`)
  return (
    <>
      <State asked={asked} />
      {asked.data?.note !== '' && <p class="faint">{asked.data?.note}</p>}
      {asked.data !== null && asked.data.fields.length > 0 && (
        <table class="narrow">
          <thead>
            <tr>
              <th>Field</th>
              <th>Before</th>
              <th>After</th>
            </tr>
          </thead>
          <tbody>
            {asked.data.fields.map(({ name, before, after }) => (
              <tr key={name}>
                <td>{name}</td>
                <td class="faint">{plainText(before) || '–'}</td>
                <td class="strong">{plainText(after) || '–'}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  )
}
