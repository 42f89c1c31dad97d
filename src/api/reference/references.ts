import { readStanding } from '../../management/effect.ts'
import { readReference, referenceIdOf } from '../../management/reference.ts'
import { StoreError } from '../../store/port.ts'
import type { Caller } from '../authentication.ts'
import { conditions, isRefused, type Refused } from '../condition.ts'
import { type Effects, refuseOther, refuseSeen } from '../effects.ts'
import { type ApiCall, type Done, describedPath, type Route } from '../route.ts'
import { createReadNotes, type ReadNotesOptions, type ReferencedRead } from './read-notes.ts'

type Result = Done<unknown> | Refused
type Handle = () => Promise<Result>

/** Makes a call count once under its Reference. */
export interface References {
  /** Refuses early what was done under this Reference before. */
  look(caller: Caller, route: Route): Promise<Refused | null>
  run(
    call: Pick<ApiCall, 'caller' | 'request' | 'nowMs'>,
    route: Route,
    handle: Handle,
  ): Promise<Result>
  /** Of what may be kept of a hash, that by which the call has begun already: a key may have changed since. */
  keptHash(caller: Caller, ways: readonly string[]): Promise<string>
  /** Resolves when what was answered is noted. */
  settle(): Promise<void>
}

export interface ReferencesOptions extends ReadNotesOptions {
  readonly effects: Effects
  /** Whether a GET has a Reference of its own, too. */
  readonly ofReads: boolean
}

export function createReferences(options: ReferencesOptions): References {
  const { store, effects } = options
  const notes = createReadNotes(options)

  /** With the hash of its payload also what was begun with another. */
  async function look(caller: Caller, route: Route, hash?: string): Promise<Refused | null> {
    if (route.reads && !options.ofReads) return null
    const found = await readReference(options, caller, options.nowMs())
    if (found === null) return null
    if (found.end?.done === true) return refuseSeen(caller.reference)
    const standing = await readStanding(store, caller, found)
    if (standing.state === 'done') return refuseSeen(caller.reference)
    return hash === undefined || hash === found.hash ? null : refuseOther(caller.reference)
  }

  /** Refuses before it sends; what was sent is told, also when another server was faster, or nobody can note it. */
  async function send(call: ReferencedRead, route: Route, handle: Handle): Promise<Result> {
    const refused = await look(call.caller, route, call.request.hash)
    if (refused !== null) return refused
    const result = await handle()
    if (!isRefused(result)) await notes.note(call).catch(unlessAway)
    return result
  }

  const underWay = new Map<string, { readonly hash: string; readonly work: Promise<Result> }>()

  /** The same call joins the one that is under way, as the look before it is no lock. */
  function sendOnce(call: ReferencedRead, route: Route, handle: Handle): Promise<Result> {
    const { caller, request } = call
    const id = referenceIdOf(caller)
    const found = underWay.get(id)
    if (found?.hash === request.hash) return found.work
    if (found !== undefined) return Promise.resolve(refuseOther(caller.reference))
    const work = send(call, route, handle).finally(() => underWay.delete(id))
    underWay.set(id, { hash: request.hash, work })
    return work
  }

  return {
    look,
    settle: notes.settle,
    async keptHash(caller, ways) {
      const found = await readReference(options, caller, options.nowMs())
      return ways.find((one) => one === found?.hash) ?? ways[0]!
    },
    async run(call, route, handle) {
      // What counts as a read and is none may send something.
      const isSending = route.reads && route.method !== 'GET'
      if (isSending && options.ofReads) return sendOnce(call, route, handle)
      const result = await handle()
      if (!route.reads) {
        if (effects.isBound(call)) return result
        if (isRefused(result)) {
          return isVerdict(result) ? effects.refuse(unnamed(call, route), result) : result
        }
        throw new Error(`${route.operation} had an effect beside its Reference`)
      }
      if (isRefused(result) || !options.ofReads) return result
      // After reading and before answering: of two equal reads at once, one is answered.
      return (await notes.note(call)) ?? result
    },
  }
}

/** What is not there may be anything, the number of a card too: it is kept nowhere. */
function unnamed<C extends Pick<ApiCall, 'request'>>(call: C, route: Route): C {
  return { ...call, request: { ...call.request, path: describedPath(route) } }
}

/** What was understood and refused is told to whoever asks for it; what is malformed leaves no record. */
function isVerdict({ condition }: Refused): boolean {
  const { status } = conditions[condition]
  return status === 404 || status === 422
}

function unlessAway(error: unknown): void {
  if (!(error instanceof StoreError)) throw error
}
