import { createHash } from 'node:crypto'
import { z } from 'zod'
import { dayMs } from '../clock.ts'
import { hash64 } from '../domain/record/event.ts'
import type { AggregateView } from '../engine/aggregate-copy.ts'
import type { AggregateChange, Aggregates } from '../engine/aggregates.ts'
import { RecordUnreadable } from '../engine/format/row-codec.ts'
import type { ChildKey, Store } from '../store/port.ts'

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
/** A root cannot be removed, so many References share one. */
const buckets = 4_096

/** A hundred thousand are kept of a day: times count from the start, and a success is only its time. */
const row = z.tuple([
  z.string(), // hash, in base64url
  z.string(), // method
  z.string(), // path
  z.string(), // home
  z.int(), // startedAtMs
  z.int(), // seen after ms
  z
    .union([
      z.tuple([z.int()]), // done after ms
      z.tuple([z.int(), z.int(), z.string(), z.string()]), // ended after ms, status, code, message
    ])
    .nullable(),
  z.int().optional(), // attempt
])

export const success = { done: true, httpStatus: 200, code: '000', message: 'Success' } as const

function encode(r: ReferenceRecord): string {
  const { method, path, home, startedAtMs, seenAtMs, attempt } = r
  const hash = Buffer.from(r.hash, 'hex').toString('base64url')
  const ended = r.end && endCells(r.end, startedAtMs)
  const seenAfterMs = seenAtMs - startedAtMs
  const cells = [hash, method, path, home, startedAtMs, seenAfterMs, ended]
  return JSON.stringify(attempt === 0 ? cells : [...cells, attempt])
}

function endCells({ done, endedAtMs, httpStatus, code, message }: ReferenceEnd, startMs: number) {
  const afterMs = endedAtMs - startMs
  return done ? [afterMs] : [afterMs, httpStatus, code, message]
}

function decode(value: string): ReferenceRecord {
  const found = row.safeParse(JSON.parse(value))
  if (!found.success) throw new RecordUnreadable('a Reference was written by another release')
  const [packed, method, path, home, startedAtMs, seenAfterMs, ended, attempt = 0] = found.data
  const hash = Buffer.from(packed, 'base64url').toString('hex')
  const seenAtMs = startedAtMs + seenAfterMs
  const end = ended && { ...endOf(ended), endedAtMs: startedAtMs + ended[0] }
  return { hash, method, path, home, startedAtMs, seenAtMs, end, attempt }
}

function endOf(cells: NonNullable<z.output<typeof row>[6]>) {
  const [, httpStatus, code, message] = cells
  if (httpStatus === undefined) return success
  return { done: false, httpStatus, code: code!, message: message! }
}

/** Whose Reference it is. */
export interface ReferenceName {
  readonly clientId: string
  readonly reference: string
}

function aggregateOf(named: ReferenceName): string {
  const hash = Number.parseInt(hash64(referenceIdOf(named)).slice(0, 8), 16)
  return `r:${(hash % buckets).toString(36)}`
}

/** What a Reference is kept under, here and at its home. */
export function referenceIdOf({ clientId, reference }: ReferenceName): string {
  return `${clientId}\n${reference}`
}

/** Half as long as what it names, and as good as unique. */
function shortIdOf(named: ReferenceName): string {
  const digest = createHash('sha256').update(referenceIdOf(named)).digest()
  return digest.subarray(0, 16).toString('base64url')
}

/** Dropped whole two days later, when nothing in it counts any more. */
export function placeAt(group: 'r' | 'x', named: ReferenceName, atMs: number): ChildKey {
  return { group: `${group}@${Math.floor(atMs / dayMs) + 2}`, id: shortIdOf(named) }
}

/** Where one may stand that still counts; tomorrow's is for one that a clock ahead of ours has dated. */
export function placesOf(
  group: 'r' | 'x',
  named: ReferenceName,
  nowMs: number,
): readonly ChildKey[] {
  const id = shortIdOf(named)
  const today = Math.floor(nowMs / dayMs)
  return [today, today - 1, today + 1].map((day) => ({ group: `${group}@${day + 2}`, id }))
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
  const aggregate = aggregateOf(named)
  const keys = placesOf('r', named, nowMs).map((place) => ({ aggregate, ...place }))
  const found = await store.load(keys)
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

/** A record that moves to another day leaves the old one, so that it stands once. */
function changing<T>(
  named: ReferenceName,
  nowMs: number,
  next: (found: ReferenceRecord | null) => readonly [T, ReferenceRecord | null],
): AggregateChange<T> {
  const places = placesOf('r', named, nowMs)
  return {
    aggregate: aggregateOf(named),
    reads: places,
    decide(view: AggregateView) {
      const found = newest(
        places.map((place) => view.child(place)),
        nowMs,
      )
      const [result, record] = next(found)
      // A refusal too is a commit: it must not be followed by a command that is still on its way.
      if (record === null) return { result, write: {} }
      const place = placeAt('r', named, record.seenAtMs)
      const remove = places.filter(({ group }) => group !== place.group)
      return { result, write: { put: [{ ...place, value: encode(record) }], remove } }
    },
  }
}
