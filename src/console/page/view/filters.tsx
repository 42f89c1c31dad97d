import { goTo, pageUrl, withParameters } from '../address.ts'

const filters = [
  ['card', 'Card'],
  ['account', 'Account'],
  ['customer', 'Customer'],
  ['merchant', 'Merchant'],
  ['mcc', 'MCC'],
  ['country', 'Country'],
  ['code', 'Code'],
  ['rule', 'Rule'],
  ['min', 'Amount from'],
  ['max', 'Amount to'],
] as const

const choices = [
  ['outcome', 'Outcome', ['approved', 'declined']],
  ['decidedBy', 'Decided by', ['engine', 'default']],
] as const

/** The parameters of the address that the server is asked with. */
export function filterQuery(url: URL): string {
  const query = new URLSearchParams()
  for (const name of [
    ...filters.map(([one]) => one),
    ...choices.map(([one]) => one),
    'event',
    'transaction',
    'since',
    'until',
  ]) {
    const value = url.searchParams.get(name)
    if (value) query.set(name, value)
  }
  return query.toString()
}

/** Closed on a narrow screen, where it would be all that one sees. */
export function FilterBar() {
  const narrow = matchMedia('(max-width: 640px)').matches
  const any = filterQuery(pageUrl.value) !== ''
  return (
    <details class="filter-box" open={!narrow || any}>
      <summary>Filters</summary>
      <FilterFields any={any} />
    </details>
  )
}

function FilterFields({ any }: { any: boolean }) {
  const url = pageUrl.value
  const set = (name: string, value: string) => goTo(withParameters({ [name]: value.trim() }), true)
  return (
    <form class="filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
      {filters.map(([name, label]) => (
        <label class={url.searchParams.has(name) ? 'set' : ''}>
          {label}
          <input
            name={name}
            value={url.searchParams.get(name) ?? ''}
            onChange={(event) => set(name, event.currentTarget.value)}
          />
        </label>
      ))}
      {choices.map(([name, label, values]) => (
        <label class={url.searchParams.has(name) ? 'set' : ''}>
          {label}
          <select
            name={name}
            value={url.searchParams.get(name) ?? ''}
            onChange={(event) => set(name, event.currentTarget.value)}
          >
            <option value="">any</option>
            {values.map((value) => (
              <option value={value}>{value}</option>
            ))}
          </select>
        </label>
      ))}
      <TimeField name="since" label="Since" set={set} />
      <TimeField name="until" label="Until" set={set} />
      {any && (
        <a class="clear" href="/decisions">
          Clear
        </a>
      )}
    </form>
  )
}

function TimeField({
  name,
  label,
  set,
}: {
  name: string
  label: string
  set: (name: string, value: string) => void
}) {
  const given = Number(pageUrl.value.searchParams.get(name) ?? 0)
  const local = new Date(given - new Date(given).getTimezoneOffset() * 60_000)
  // What is no time is in the address alone, and the server says so.
  const isTime = given !== 0 && !Number.isNaN(local.getTime())
  const shown = isTime ? local.toISOString().slice(0, 16) : ''
  return (
    <label class={given === 0 ? '' : 'set'}>
      {label}
      <input
        type="datetime-local"
        name={name}
        value={shown}
        onChange={(event) => {
          const atMs = new Date(event.currentTarget.value).getTime()
          set(name, Number.isNaN(atMs) ? '' : String(atMs))
        }}
      />
    </label>
  )
}
