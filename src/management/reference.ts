import { hash } from 'node:crypto'
import { dayMs } from '../clock.ts'
import type { AggregateView } from '../engine/aggregate-copy.ts'
import type { AggregateChange, Aggregates } from '../engine/aggregates.ts'
import { RecordUnreadable } from '../engine/format/row-codec.ts'
import type { ChildKey, ChildPut, Store } from '../store/port.ts'
import {
  decodeReference,
  encodeReference,
  type ReferencedCall,
  type ReferenceEnd,
  type ReferenceRecord,
} from './reference-record.ts'

/** seen: done within a day. other: begun within a day with another payload. */
export type Bound = ReferenceRecord | 'seen' | 'other'

/** How long a Reference counts. */
export const referenceMs = dayMs

/** Whose Reference it is. */
export interface ReferenceName {
  readonly clientId: string
  readonly reference: string
}

/** What a Reference is kept under, here and at its home. */
export function referenceIdOf({ clientId, reference }: ReferenceName): string {
  return `${clientId}\n${reference}`
}

/** A call looks at its Reference several times in a row: the hash is made once. */
let newest = { name: '', shortId: '' }

/** A third as long as what it names, and as good as unique. */
function shortIdOf(named: ReferenceName): string {
  const name = referenceIdOf(named)
  if (name !== newest.name) {
    newest = { name, shortId: hash('sha256', name, 'base64url').slice(0, 12) }
  }
  return newest.shortId
}

/** A root cannot be removed, so many References share one: two of 64 characters name 4,096 of them. */
function aggregateOf([{ id }]: ReferencePlaces): string {
  return `r:${id.slice(0, 2)}`
}

/** Where one may stand that still counts, at any home: in the group of today, yesterday or tomorrow. */
type ReferencePlaces = readonly [today: ChildKey, yesterday: ChildKey, tomorrow: ChildKey]

/** Dropped whole two days later, when nothing in it counts any more. */
function groupAt(group: 'r' | 'x', atMs: number): string {
  return `${group}@${Math.floor(atMs / dayMs) + 2}`
}

/** Tomorrow's is for one that a clock ahead of ours has dated. */
export function placesOf(group: 'r' | 'x', named: ReferenceName, nowMs: number): ReferencePlaces {
  const id = shortIdOf(named)
  const at = (ms: number): ChildKey => ({ group: groupAt(group, ms), id })
  return [at(nowMs), at(nowMs - dayMs), at(nowMs + dayMs)]
}

/** Puts a record where its time says, and removes those of the others that are there: it stands once. */
export function moveTo(
  places: ReferencePlaces,
  group: 'r' | 'x',
  atMs: number,
  value: string,
  child: AggregateView['child'],
): { readonly put: readonly ChildPut[]; readonly remove: readonly ChildKey[] } {
  const now = groupAt(group, atMs)
  const others = places.filter((other) => other.group !== now)
  const put = [{ group: now, id: places[0].id, value }]
  return { put, remove: others.filter((other) => child(other) !== null) }
}

/**
 * Throws RecordUnreadable. By a time that is damaged an effect would be looked for on other days than it is noted on, or
 * its note would count no more: it would be had again.
 */
export function checkPlace({ group }: ChildKey, kind: 'r' | 'x', seenAtMs: number): void {
  if (group === groupAt(kind, seenAtMs)) return
  throw new RecordUnreadable('it is of another day than it is kept under')
}

function newestOf(
  places: ReferencePlaces,
  texts: readonly (string | null | undefined)[],
  nowMs: number,
) {
  const records = texts.flatMap((text, i) => {
    if (!text) return []
    const record = decodeReference(text)
    checkPlace(places[i]!, 'r', record.seenAtMs)
    return [record]
  })
  const [found] = records.sort((a, b) => b.seenAtMs - a.seenAtMs)
  return found !== undefined && nowMs - found.seenAtMs < referenceMs ? found : null
}

/** Where References are read. */
export interface ReferenceSource {
  readonly store: Store
  readonly aggregates: Pick<Aggregates, 'change' | 'isIdle'>
}

/** What stands under a Reference, without touching it; what is being written here is waited for. */
export async function readReference(
  source: ReferenceSource,
  named: ReferenceName,
  nowMs: number,
): Promise<ReferenceRecord | null> {
  const { store, aggregates } = source
  const places = placesOf('r', named, nowMs)
  const aggregate = aggregateOf(places)
  if (!isReferenceIdle(source, named, nowMs)) {
    const standing = ({ child }: AggregateView) => newestOf(places, places.map(child), nowMs)
    const decide = (view: AggregateView) => ({ result: standing(view), write: null })
    return aggregates.change({ aggregate, reads: places, decide })
  }
  const found = await store.load(places.map((place) => ({ aggregate, ...place })))
  return newestOf(
    places,
    found.map((one) => one?.value),
    nowMs,
  )
}

interface Binding extends Pick<AggregateChange<Bound>, 'gatherMs'> {
  /** The call is over with it, as a GET that has read what it answers. */
  readonly end?: ReferenceEnd
  /** Names the home of what is created. */
  readonly homeOf?: HomeOf
}

/** Names the home of an attempt; `before` is that of an earlier one under the same Reference, or ''. */
export type HomeOf = (attempt: number, startedAtMs: number, before: string) => string

/** Whether nothing is being written here under a Reference; whatever is looks at yesterday and tomorrow, too. */
export function isReferenceIdle(
  { aggregates }: Pick<ReferenceSource, 'aggregates'>,
  named: ReferenceName,
  nowMs: number,
): boolean {
  const places = placesOf('r', named, nowMs)
  return aggregates.isIdle(aggregateOf(places), places[0])
}

/** The first commit of every call: two payloads under one Reference never both go on. */
export function bindReference(
  aggregates: Aggregates,
  call: ReferencedCall,
  nowMs: number,
  binding: Binding = {},
): Promise<Bound> {
  const { hash, method } = call
  const { end = null, homeOf = () => call.home, gatherMs } = binding
  let wrote = false
  return aggregates.change(
    changing(call, nowMs, gatherMs, (found): readonly [Bound, ReferenceRecord | null] => {
      if (found?.end?.done === true) {
        // Its own, where the reply was lost and somebody else wrote after it.
        const isOwn = wrote && found.hash === hash && found.end.endedAtMs === end?.endedAtMs
        return [isOwn ? found : 'seen', null]
      }
      if (found !== null && found.hash !== hash) return ['other', null]
      const seenAtMs = Math.max(nowMs, found?.seenAtMs ?? 0)
      const startedAtMs = found?.startedAtMs ?? nowMs
      // Only an attempt that ended is followed by another: see `endReference`.
      const attempt = (found?.attempt ?? 0) + (found !== null && found.end !== null ? 1 : 0)
      const home = homeOf(attempt, startedAtMs, found?.home ?? '')
      // What its home keeps is read by the path: an equal call that was refused before it had a home may name another.
      const path = found === null || found.home === '' ? call.path : found.path
      const next = { hash, method, path, home, startedAtMs, seenAtMs, end, attempt }
      wrote = true
      return [next, next]
    }),
  )
}

/** Notes how an attempt ended, for whoever asks. What was done stays done, and another attempt stays open. */
export function endReference(
  aggregates: Aggregates,
  call: ReferencedCall,
  end: ReferenceEnd,
  nowMs: number,
  attempt = 0,
): Promise<void> {
  return aggregates.change(
    changing(call, nowMs, undefined, (found): readonly [undefined, ReferenceRecord | null] => {
      const ours = found !== null && found.hash === call.hash && found.attempt === attempt
      return [undefined, ours && found.end?.done !== true ? { ...found, end } : null]
    }),
  )
}

function changing<T>(
  named: ReferenceName,
  nowMs: number,
  gatherMs: number | undefined,
  next: (found: ReferenceRecord | null) => readonly [T, ReferenceRecord | null],
): AggregateChange<T> {
  const places = placesOf('r', named, nowMs)
  return {
    aggregate: aggregateOf(places),
    reads: places,
    gatherMs,
    decide({ child }: AggregateView) {
      const found = newestOf(places, places.map(child), nowMs)
      const [result, record] = next(found)
      // A refusal too is a commit: it must not be followed by a command that is still on its way.
      if (record === null) return { result, write: {} }
      return { result, write: moveTo(places, 'r', record.seenAtMs, encodeReference(record), child) }
    },
  }
}
