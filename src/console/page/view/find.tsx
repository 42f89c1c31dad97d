import { useEffect, useRef } from 'preact/hooks'
import type { FoundThing, FoundThings } from '../../shape/record.ts'
import { goTo, pageUrl } from '../address.ts'
import { useData } from '../ask.ts'
import { countText, plainText } from '../format.ts'
import { Empty, State, Time } from '../parts.tsx'

export function FindPage() {
  const q = pageUrl.value.searchParams.get('q') ?? ''
  const field = useRef<HTMLInputElement>(null)
  const asked = useData<FoundThings>(
    q.trim().length < 2 ? null : `/data/find?q=${encodeURIComponent(q)}`,
  )
  useEffect(() => field.current?.focus(), [])
  const search = (event: Event) => {
    event.preventDefault()
    goTo(`/find?q=${encodeURIComponent(field.current?.value.trim() ?? '')}`, true)
  }
  const found = asked.data
  return (
    <>
      <h1 class="hidden">Find</h1>
      <form class="find" onSubmit={search}>
        <label>
          A card, account, customer, organization, transaction or event, or how its id begins
          <input ref={field} name="q" defaultValue={q} autocomplete="off" spellcheck={false} />
        </label>
        <button type="submit" class="primary">
          Find
        </button>
      </form>
      <State asked={asked} />
      {found !== null && found.things.length === 0 && (
        <Empty>Nothing is known by that id, or by one that begins so.</Empty>
      )}
      {found !== null && found.things.length > 0 && (
        <ul class="found">
          {found.things.map((thing) => (
            <li key={`${thing.kind} ${thing.id} ${thing.href}`}>
              {thing.href === '' ? (
                <div class="line">
                  <Line thing={thing} />
                </div>
              ) : (
                <a class="line" data-row href={thing.href}>
                  <Line thing={thing} />
                </a>
              )}
            </li>
          ))}
        </ul>
      )}
      {found !== null && (
        <p class="looked">
          {found.more.map((kind) => `There are more ${manyOf(kind)} than are shown. `)}
          For events and transactions {countText(found.looked)} log entries were looked at
          {found.whole || found.lookedToMs === 0 ? '' : ', back to '}
          {!found.whole && found.lookedToMs > 0 && <Time atMs={found.lookedToMs} day />}.
        </p>
      )}
    </>
  )
}

function manyOf(kind: FoundThing['kind']): string {
  return kind === 'customer' ? 'cards of customers' : `${kind}s`
}

function Line({ thing: { kind, id, about } }: { thing: FoundThing }) {
  return (
    <>
      <span class="kind">{kind}</span>
      <span class="id">{plainText(id)}</span>
      <span class="faint">{plainText(about)}</span>
    </>
  )
}
