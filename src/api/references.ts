import type { Aggregates } from '../engine/aggregates.ts'
import { readStanding } from '../management/effect.ts'
import { bindReference, readReference } from '../management/reference.ts'
import { success } from '../management/reference-record.ts'
import type { Store } from '../store/port.ts'
import type { Caller } from './authentication.ts'
import { isRefused, type Refused } from './condition.ts'
import { type Effects, refuseOther, refuseSeen } from './effects.ts'
import type { ApiCall, Done, Route } from './route.ts'

/** Makes a call count once under its Reference. */
export interface References {
  /** Refuses early what was done under this Reference before. */
  look(caller: Caller, route: Route): Promise<Refused | null>
  run(
    call: Pick<ApiCall, 'caller' | 'request' | 'nowMs'>,
    route: Route,
    handle: () => Promise<Done<unknown> | Refused>,
  ): Promise<Done<unknown> | Refused>
}

export interface ReferencesOptions {
  readonly store: Store
  readonly aggregates: Aggregates
  readonly effects: Effects
  readonly nowMs: () => number
  /** Whether a GET has a Reference of its own, too. */
  readonly ofReads: boolean
}

export function createReferences(options: ReferencesOptions): References {
  const { store, aggregates, effects } = options

  /** With the hash of its payload also what was begun with another. */
  async function look(caller: Caller, route: Route, hash?: string): Promise<Refused | null> {
    if (route.reads && !options.ofReads) return null
    const found = await readReference(store, caller, options.nowMs())
    if (found === null) return null
    if (found.end?.done === true) return refuseSeen(caller.reference)
    const standing = await readStanding(store, caller, found)
    if (standing.state === 'done') return refuseSeen(caller.reference)
    return hash === undefined || hash === found.hash ? null : refuseOther(caller.reference)
  }

  return {
    look,
    async run(call, route, handle) {
      const { caller, request } = call
      // What counts as a read and is none may send something: that must not be refused afterwards.
      const isSending = route.reads && route.method !== 'GET'
      const refused = isSending ? await look(caller, route, request.hash) : null
      if (refused !== null) return refused
      const result = await handle()
      if (!route.reads) {
        if (isRefused(result) || effects.isBound(call)) return result
        throw new Error(`${route.operation} had an effect beside its Reference`)
      }
      if (isRefused(result) || !options.ofReads) return result
      const endedAtMs = options.nowMs()
      const { clientId, reference } = caller
      const named = { clientId, reference, ...request, home: '' }
      const end = { ...success, endedAtMs }
      // After reading and before answering: of two equal reads at once, one is answered.
      const bound = await bindReference(aggregates, named, endedAtMs, end)
      if (bound === 'seen') return refuseSeen(reference)
      return bound === 'other' ? refuseOther(reference) : result
    },
  }
}
