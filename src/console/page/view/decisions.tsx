import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { DecisionList, DecisionRow, LiveDecisions } from '../../shape/decision.ts'
import { pageUrl } from '../address.ts'
import { getData, useData } from '../ask.ts'
import { onPauseKey } from '../keys.tsx'
import { openings, subscribe } from '../live.ts'
import { Empty, LookedTo, State } from '../parts.tsx'
import { DecisionTable } from './decision-table.tsx'
import { FilterBar, filterQuery } from './filters.tsx'

const maxRows = 1_000

export function DecisionsPage() {
  const query = filterQuery(pageUrl.value)
  const asked = useData<DecisionList>(`/data/decisions?${query}`)
  const [older, setOlder] = useState<DecisionList | null>(null)
  const [fresh, setFresh] = useState<readonly DecisionRow[]>([])
  const [skipped, setSkipped] = useState(false)
  const [paused, setPaused] = useState(false)
  const waiting = useRef<DecisionRow[]>([])
  const [held, setHeld] = useState(0)
  const pausedNow = useRef(paused)
  pausedNow.current = paused
  const isHeld = () => pausedNow.current || scrollY > 80
  // What is asked for again while the list is held has newer rows too: it is shown afterwards.
  const shown = useRef(asked.data)
  if (!isHeld() || shown.current === null || asked.data === null) shown.current = asked.data
  const list = shown.current

  useEffect(() => {
    setOlder(null)
    setFresh([])
    waiting.current = []
    setHeld(0)
  }, [query])
  useEffect(() => {
    // A list that was asked for again goes before what was heard earlier, which may have gaps.
    const newestMs = list?.rows[0]?.atMs ?? 0
    setFresh((was) => was.filter(({ atMs }) => atMs >= newestMs))
    setOlder(null)
  }, [list])
  useEffect(() => {
    subscribe(`?decisions=1&${query}`, ({ rows, skipped: more }: LiveDecisions) => {
      setSkipped(more)
      if (isHeld()) {
        waiting.current = [...rows, ...waiting.current].slice(0, maxRows)
        setHeld(waiting.current.length)
      } else {
        const all = [...rows, ...waiting.current]
        waiting.current = []
        setHeld(0)
        setFresh((was) => [...all, ...was].slice(0, maxRows))
      }
    })
  }, [query])
  useEffect(asked.again, [openings.value])
  useEffect(() => {
    onPauseKey.value = () => setPaused((was) => !was)
    return () => {
      onPauseKey.value = null
    }
  }, [])

  const rows = useMemo(() => {
    const all = [...fresh, ...(list?.rows ?? []), ...(older?.rows ?? [])]
    const seen = new Set<string>()
    return all.filter(({ cursor }) => !seen.has(cursor) && seen.add(cursor))
  }, [fresh, list, older])

  const last = older ?? list
  async function lookFurther(): Promise<void> {
    if (last === null || last.next === '') return
    const more = await getData<DecisionList>(`/data/decisions?${query}&before=${last.next}`)
    // Meanwhile the filters, or the list that this goes on from, may have become others.
    if (shown.current !== list) return
    setOlder({
      ...more,
      rows: [...(older?.rows ?? []), ...more.rows],
      looked: last.looked + more.looked,
    })
  }
  function letGo(): void {
    scrollTo(0, 0)
    setPaused(false)
    const all = waiting.current
    waiting.current = []
    setHeld(0)
    setFresh((was) => [...all, ...was].slice(0, maxRows))
  }

  return (
    <>
      <div class="page-head">
        <h1>Decisions</h1>
        <LiveMark
          paused={paused}
          held={held}
          skipped={skipped}
          onPause={() => setPaused(!paused)}
          onLetGo={letGo}
        />
      </div>
      <FilterBar />
      <State asked={asked} />
      {list !== null && rows.length === 0 && (
        <Empty>
          Nothing was decided{query === '' ? ' yet' : ' that these filters want'}.{' '}
          {query === '' ? (
            'Send an event to POST /authorize, or run npm run demo.'
          ) : (
            <a href="/decisions">Show all</a>
          )}
        </Empty>
      )}
      {rows.length > 0 && <DecisionTable rows={rows} />}
      {last !== null && <LookedTo looked={last} onMore={lookFurther} />}
    </>
  )
}

function LiveMark(props: {
  paused: boolean
  held: number
  skipped: boolean
  onPause: () => void
  onLetGo: () => void
}) {
  const { paused, held, skipped } = props
  return (
    <div class="live-mark">
      {held > 0 && (
        <button type="button" class="primary" onClick={props.onLetGo}>
          {held} new
        </button>
      )}
      {skipped && <span class="faint">more come in than are shown</span>}
      <button type="button" aria-pressed={paused} onClick={props.onPause} title="p">
        {paused ? '▶ Go on' : '❚❚ Hold'}
      </button>
      <span class={paused ? 'faint' : 'pulse'}>{paused ? 'held' : 'live'}</span>
    </div>
  )
}
