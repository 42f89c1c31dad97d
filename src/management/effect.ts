import { isPassed } from '../store/dated-group.ts'
import type { ChildKey, ChildPut, Store } from '../store/port.ts'
import { type DoneNote, decodeNote, encodeNote } from './done-note.ts'
import {
  checkPlace,
  moveTo,
  placesOf,
  type ReferenceName,
  referenceIdOf,
  referenceMs,
} from './reference.ts'
import type { ReferenceRecord } from './reference-record.ts'

/** One HTTP request on its way to its effect, after its Reference was bound. */
export interface RequestAttempt extends ReferenceName {
  readonly hash: string
  readonly path: string
  /** New for every request, and never made from the Reference. */
  readonly id: string
  readonly seenAtMs: number
  /** When it came, by this server's clock. */
  readonly beganAtMs: number
}

/** A request whose effect has begun, whenever it came. */
type Begun = Omit<RequestAttempt, 'beganAtMs'>

/** What an attempt finds under its Reference at its home. */
export type ReferenceStanding =
  | { readonly state: 'free' }
  /** Money under this Reference is on its way. */
  | { readonly state: 'pending'; readonly record: string }
  | { readonly state: 'done'; readonly note: DoneNote }

/** An attempt that is older than this has no effect any more: its Reference may count for another. */
const maxAttemptMs = 60_000

/** Where money that is on its way under a Reference is noted at its source. */
export function pendingPlace(named: ReferenceName): ChildKey {
  return { group: 'x', id: referenceIdOf(named) }
}

/** What an attempt must read at its home. */
export function readsOf(attempt: Begun): readonly ChildKey[] {
  return [pendingPlace(attempt), ...placesOf('x', attempt, attempt.seenAtMs)]
}

export function standingOf(
  child: (key: ChildKey) => string | null,
  attempt: Pick<RequestAttempt, 'clientId' | 'reference' | 'path' | 'seenAtMs'>,
): ReferenceStanding {
  const record = child(pendingPlace(attempt))
  if (record !== null) return { state: 'pending', record }
  const { seenAtMs, path } = attempt
  const notes = placesOf('x', attempt, seenAtMs).flatMap((place) => {
    const text = child(place)
    if (text === null) return []
    const note = decodeNote(text, path)
    checkPlace(place, 'x', note.seenAtMs)
    return [note]
  })
  const [note] = notes.sort((a, b) => b.seenAtMs - a.seenAtMs)
  const counts = note !== undefined && seenAtMs - note.seenAtMs < referenceMs
  return counts ? { state: 'done', note } : { state: 'free' }
}

/** The note of an effect, in the commit that has it; an older one that counts no more goes. */
export function doneWrite(
  attempt: Begun,
  data: unknown,
  doneAtMs: number,
  child: (key: ChildKey) => string | null,
): { readonly put: readonly ChildPut[]; readonly remove: readonly ChildKey[] } {
  const { id, seenAtMs, path } = attempt
  const places = placesOf('x', attempt, seenAtMs)
  const note = encodeNote({ id, seenAtMs, doneAtMs, data }, path)
  const { put, remove } = moveTo(places, 'x', seenAtMs, note, child)
  // Of what was on its way for days, nothing counts any more that would have to be noted.
  return { put: put.filter(({ group }) => !isPassed(group, doneAtMs)), remove }
}

export function isTooLate(attempt: RequestAttempt, nowMs: number): boolean {
  return nowMs - attempt.beganAtMs > maxAttemptMs
}

/** What stands at the home of a Reference, for whoever asks; null when it has none. */
export async function readStanding(
  store: Store,
  named: ReferenceName,
  { home, path, seenAtMs }: ReferenceRecord,
): Promise<ReferenceStanding> {
  if (home === '') return { state: 'free' }
  const attempt = { ...named, path, seenAtMs }
  const places = [pendingPlace(named), ...placesOf('x', named, seenAtMs)]
  const found = await store.load(places.map((place) => ({ aggregate: home, ...place })))
  const texts = new Map(places.map(({ group }, i) => [group, found[i]?.value ?? null]))
  return standingOf(({ group }) => texts.get(group) ?? null, attempt)
}
