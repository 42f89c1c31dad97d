import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { dayMs } from '../clock.ts'
import type { AggregateView } from '../engine/aggregate-copy.ts'
import type { AggregateChange, Aggregates } from '../engine/aggregates.ts'
import { RecordUnreadable } from '../engine/format/row-codec.ts'
import type { ChildKey, ChildPut, Store } from '../store/port.ts'

/** A call as its client names it: for a day the same Reference has one effect. */
export interface ReferencedCall {
  readonly clientId: string
  readonly reference: string
  /** Of its payload: a retry has the same. */
  readonly hash: string
  readonly method: string
  /** Without the query. */
  readonly path: string
  /** The aggregate whose commit says whether it was done; '' when this record itself does. */
  readonly home: string
}

/** How an attempt ended. Only `done` is for good. */
export interface ReferenceEnd {
  readonly done: boolean
  readonly endedAtMs: number
  readonly httpStatus: number
  readonly code: string
  readonly message: string
}

export interface ReferenceRecord extends Omit<ReferencedCall, 'clientId' | 'reference'> {
  readonly startedAtMs: number
  /** Of the newest attempt; the day counts from here. */
  readonly seenAtMs: number
  readonly end: ReferenceEnd | null
  /** How many attempts before ended refused: a creation makes its id from it. */
  readonly attempt: number
}

/** seen: done within a day. other: begun within a day with another payload. */
export type Bound = ReferenceRecord | 'seen' | 'other'

/** How long a Reference counts. */
export const referenceMs = dayMs
export const success = { done: true, httpStatus: 200, code: '000', message: 'Success' } as const

/** What nearly every path begins with is not kept. */
const commonPath = '/api/v1/'
/** One digit for each; `CLI` is a command. */
const methods = ['GET', 'POST', 'PATCH', 'DELETE', 'CLI']
/** Marks a path that is kept whole. */
const whole = '\t'
/** Milliseconds in base 36 have as many digits until the year 2059. */
const timeDigits = 8

/**
 * A hundred thousand are kept of a day: one line of what each has, then what only some have. Times count from
 * the start, and a success is only its time.
 */
function encode(r: ReferenceRecord): string {
  const { hash, method, path, home, startedAtMs, seenAtMs, end, attempt } = r
  const shortPath = path.startsWith(commonPath) ? path.slice(commonPath.length) : `${whole}${path}`
  assert(methods.includes(method), `nobody calls by ${method}`)
  const first = `${methods.indexOf(method)}${shortNumber(startedAtMs)}${shortPath}`
  const refused = end === null || end.done ? [] : [end.httpStatus, end.code, end.message]
  const ended = end === null ? [] : [shortNumber(end.endedAtMs - startedAtMs), ...refused]
  const again = `${shortOf(seenAtMs - startedAtMs)} ${shortOf(attempt)}`
  const cells = [first, hash, home, again === ' ' ? '' : again, ...ended]
  return cells.join('\n').trimEnd()
}

function decode(value: string): ReferenceRecord {
  const [first = '', hash = '', home = '', again = '', ended, status, ...words] = value.split('\n')
  const method = methods[Number(first[0])]
  const startedAtMs = readShortNumber(first.slice(1, 1 + timeDigits))
  if (method === undefined || hash === '' || Number.isNaN(startedAtMs)) {
    throw new RecordUnreadable('a Reference was written by another release')
  }
  const shortPath = first.slice(1 + timeDigits)
  const path = shortPath.startsWith(whole) ? shortPath.slice(1) : `${commonPath}${shortPath}`
  const [seen = '', count = ''] = again.split(' ')
  const seenAtMs = startedAtMs + readShortNumber(seen || '0')
  const attempt = readShortNumber(count || '0')
  const end =
    ended === undefined ? null : endOf(startedAtMs + readShortNumber(ended), status, words)
  return { hash, method, path, home, startedAtMs, seenAtMs, end, attempt }
}

function endOf(endedAtMs: number, status: string | undefined, words: readonly string[]) {
  if (status === undefined) return { ...success, endedAtMs }
  const [code = '', ...message] = words
  return { done: false, endedAtMs, httpStatus: Number(status), code, message: message.join('\n') }
}

function shortOf(count: number): string {
  return count === 0 ? '' : shortNumber(count)
}

/** Short: base 36. */
export function shortNumber(count: number): string {
  return count.toString(36)
}

export function readShortNumber(text: string): number {
  return Number.parseInt(text, 36)
}

/** Whose Reference it is. */
export interface ReferenceName {
  readonly clientId: string
  readonly reference: string
}

/** What a Reference is kept under, here and at its home. */
export function referenceIdOf({ clientId, reference }: ReferenceName): string {
  return `${clientId}\n${reference}`
}

/** A third as long as what it names, and as good as unique. */
function shortIdOf(named: ReferenceName): string {
  return hash('sha256', referenceIdOf(named), 'base64url').slice(0, 12)
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
  const place = { group: groupAt(group, atMs), id: places[0].id }
  const others = places.filter((other) => other.group !== place.group)
  return { put: [{ ...place, value }], remove: others.filter((other) => child(other) !== null) }
}

function newest(texts: readonly (string | null | undefined)[], nowMs: number) {
  const records = texts.flatMap((text) => (text ? [decode(text)] : []))
  const [found] = records.sort((a, b) => b.seenAtMs - a.seenAtMs)
  return found !== undefined && nowMs - found.seenAtMs < referenceMs ? found : null
}

/** What stands under a Reference now, without touching it. */
export async function readReference(
  store: Store,
  named: ReferenceName,
  nowMs: number,
): Promise<ReferenceRecord | null> {
  const places = placesOf('r', named, nowMs)
  const aggregate = aggregateOf(places)
  const found = await store.load(places.map((place) => ({ aggregate, ...place })))
  return newest(
    found.map((one) => one?.value),
    nowMs,
  )
}

/** Names the home of an attempt; `before` is that of an earlier one under the same Reference, or ''. */
export type HomeOf = (attempt: number, startedAtMs: number, before: string) => string

/**
 * The first commit of every call: two payloads under one Reference never both go on. With an `end` the call
 * is over with it, as a GET that has read what it answers. `homeOf` names the home of what is created.
 */
export function bindReference(
  aggregates: Aggregates,
  call: ReferencedCall,
  nowMs: number,
  end: ReferenceEnd | null = null,
  homeOf: HomeOf = () => call.home,
): Promise<Bound> {
  const { hash, method, path } = call
  return aggregates.change(
    changing(call, nowMs, (found): readonly [Bound, ReferenceRecord | null] => {
      if (found?.end?.done === true) return ['seen', null]
      if (found !== null && found.hash !== hash) return ['other', null]
      const seenAtMs = Math.max(nowMs, found?.seenAtMs ?? 0)
      const startedAtMs = found?.startedAtMs ?? nowMs
      // Only an attempt that ended is followed by another: see `endReference`.
      const attempt = (found?.attempt ?? 0) + (found !== null && found.end !== null ? 1 : 0)
      const home = homeOf(attempt, startedAtMs, found?.home ?? '')
      const next = { hash, method, path, home, startedAtMs, seenAtMs, end, attempt }
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
    changing(call, nowMs, (found): readonly [undefined, ReferenceRecord | null] => {
      const ours = found !== null && found.hash === call.hash && found.attempt === attempt
      return [undefined, ours && found.end?.done !== true ? { ...found, end } : null]
    }),
  )
}

function changing<T>(
  named: ReferenceName,
  nowMs: number,
  next: (found: ReferenceRecord | null) => readonly [T, ReferenceRecord | null],
): AggregateChange<T> {
  const places = placesOf('r', named, nowMs)
  return {
    aggregate: aggregateOf(places),
    reads: places,
    decide({ child }: AggregateView) {
      const found = newest(places.map(child), nowMs)
      const [result, record] = next(found)
      // A refusal too is a commit: it must not be followed by a command that is still on its way.
      if (record === null) return { result, write: {} }
      return { result, write: moveTo(places, 'r', record.seenAtMs, encode(record), child) }
    },
  }
}
