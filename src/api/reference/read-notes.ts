import type { Aggregates } from '../../engine/aggregates.ts'
import { bindReference, isReferenceIdle, readReference } from '../../management/reference.ts'
import { success } from '../../management/reference-record.ts'
import type { Store } from '../../store/port.ts'
import type { Refused } from '../condition.ts'
import { refuseOther, refuseSeen } from '../effects.ts'
import type { ApiCall } from '../route.ts'

export type ReferencedRead = Pick<ApiCall, 'caller' | 'request'>

/** Notes that reads were answered, under their References. */
export interface ReadNotes {
  /** Resolves when it may be answered; refuses what was answered before. */
  note(call: ReferencedRead): Promise<Refused | null>
  /** Resolves when all of them are written, or cannot be. */
  settle(): Promise<void>
}

export interface ReadNotesOptions {
  readonly store: Store
  readonly aggregates: Aggregates
  readonly nowMs: () => number
  /** Others answer calls on the same store: what one of them has not written nobody else knows. */
  readonly isShared: boolean
}

/** How long a note waits for others: the more of them are written together, the less each takes. */
const waitForOthersMs = 10
/**
 * A process that dies, or whose disk is full, forgets as many at most, and their calls may then be made once more. At
 * fewer, who reads again and again waits for a slow disk; at more, all wait at once for a writer that came to lag behind.
 */
const maxUnwritten = 32

export function createReadNotes(options: ReadNotesOptions): ReadNotes {
  const { store, aggregates } = options
  const unwritten = new Set<Promise<unknown>>()
  let isWritable = true

  async function write(
    { caller, request }: ReferencedRead,
    gatherMs?: number,
  ): Promise<Refused | null> {
    const endedAtMs = options.nowMs()
    const { clientId, reference } = caller
    const { hash, method, path } = request
    const named = { clientId, reference, hash, method, path, home: '' }
    const end = { ...success, endedAtMs }
    const bound = await bindReference(aggregates, named, endedAtMs, { end, gatherMs })
    isWritable = true
    if (bound === 'seen') return refuseSeen(reference)
    return bound === 'other' ? refuseOther(reference) : null
  }

  /** What is there is looked at before it is answered, and what comes after waits for this one. */
  async function writeBehind(call: ReferencedRead): Promise<Refused | null> {
    const { caller, request } = call
    const before = readReference({ store, aggregates }, caller, options.nowMs())
    const written = write(call, waitForOthersMs).catch(noteFailure)
    unwritten.add(written)
    written.finally(() => unwritten.delete(written))
    const found = await before
    if (found === null) return null
    if (found.end?.done === true) return refuseSeen(caller.reference)
    return found.hash === request.hash ? null : refuseOther(caller.reference)
  }

  /** Until one is written again, reads wait for theirs, and hear what is wrong. */
  function noteFailure(): void {
    isWritable = false
  }

  return {
    note(call) {
      const mayFollow = !options.isShared && isWritable && unwritten.size < maxUnwritten
      const isFirst = mayFollow && isReferenceIdle(options, call.caller, options.nowMs())
      return isFirst ? writeBehind(call) : write(call)
    },
    async settle() {
      await Promise.all(unwritten)
    },
  }
}
