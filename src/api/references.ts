import type { Aggregates } from '../engine/aggregates.ts'
import { bindReference, endReference, readReference } from '../management/reference.ts'
import type { Store } from '../store/port.ts'
import type { Caller } from './authentication.ts'
import { type Plain, payloadHash } from './body.ts'
import { conditions, isRefused, type Refused, refuse } from './condition.ts'
import { refusalOf } from './envelope.ts'
import type { Done, Route } from './route.ts'

/** A call whose fields were read. */
interface ReadCall {
  readonly caller: Caller
  readonly route: Route
  readonly method: string
  readonly target: string
  readonly body: Plain | null
  readonly nowMs: number
}

/** Makes a call count once under its Reference. */
export interface References {
  /** Refuses early what was done under this Reference before. */
  look(caller: Caller, route: Route): Promise<Refused | null>
  run(
    call: ReadCall,
    handle: () => Promise<Done<unknown> | Refused>,
  ): Promise<Done<unknown> | Refused>
}

export interface ReferencesOptions {
  readonly store: Store
  readonly aggregates: Aggregates
  readonly nowMs: () => number
  /** Whether a GET has a Reference of its own, too. */
  readonly ofReads: boolean
}

export function createReferences(options: ReferencesOptions): References {
  const { store, aggregates } = options

  function seen({ reference }: Caller): Refused {
    const detail = `Reference ${reference} has already been seen in the last 24 hours`
    return refuse('referenceSeen', detail)
  }

  function referenced({ caller, route, method, target, body }: ReadCall) {
    const { clientId, reference } = caller
    const hash = payloadHash(method, target, route.method === 'GET' ? null : body)
    const path = target.split('?', 1)[0]!
    return { clientId, reference, hash, method, path, home: '' }
  }

  return {
    async look(caller, route) {
      if (route.reads && !options.ofReads) return null
      const found = await readReference(store, caller, options.nowMs())
      return found?.end?.done === true ? seen(caller) : null
    },
    async run(call, handle) {
      const { caller, route, nowMs } = call
      if (route.reads && !options.ofReads) return handle()
      const named = referenced(call)
      if (!route.reads) {
        const bound = await bindReference(aggregates, named, nowMs)
        if (bound === 'seen') return seen(caller)
        if (bound === 'other') return other(caller)
      }
      const result = await handle()
      const endedAtMs = options.nowMs()
      if (isRefused(result)) {
        if (route.reads) return result
        const { status: httpStatus } = conditions[result.condition]
        const { responseCode: code, message } = refusalOf(caller.reference, result)
        const end = { done: false, endedAtMs, httpStatus, code, message }
        await endReference(aggregates, named, end, endedAtMs)
        return result
      }
      const end = { done: true, endedAtMs, httpStatus: 200, code: '000', message: 'Success' }
      if (!route.reads) {
        await endReference(aggregates, named, end, endedAtMs)
        return result
      }
      // After reading and before answering: of two equal reads at once, one is answered.
      const bound = await bindReference(aggregates, named, endedAtMs, end)
      if (bound === 'seen') return seen(caller)
      return bound === 'other' ? other(caller) : result
    },
  }
}

function other({ reference }: Caller): Refused {
  return refuse('referenceSeen', `Reference ${reference} was begun with another payload`)
}
