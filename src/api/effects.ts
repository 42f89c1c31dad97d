import type { Clock } from '../clock.ts'
import type { AggregateView, AggregateWrite } from '../engine/aggregate-copy.ts'
import type { Aggregates } from '../engine/aggregates.ts'
import type { AccountView, AccountWrite } from '../engine/change/account-change.ts'
import type { Engine } from '../engine/engine.ts'
import { accountAggregate } from '../engine/format/layout.ts'
import {
  doneWrite,
  isTooLate,
  type RequestAttempt,
  readsOf,
  standingOf,
} from '../management/effect.ts'
import { type IdPrefix, idMadeFrom, newId } from '../management/id.ts'
import { bindReference, endReference, type HomeOf } from '../management/reference.ts'
import type { ReferencedCall } from '../management/reference-record.ts'
import { onceBegun } from '../store/outcome.ts'
import type { ChildKey } from '../store/port.ts'
import { conditions, isRefused, type Refused, refuse } from './condition.ts'
import { refusalEnvelope } from './envelope.ts'
import type { ApiCall, Done } from './route.ts'

/** What of a call its effect depends on, besides what it says. */
export type EffectCall = Pick<ApiCall, 'caller' | 'request' | 'nowMs'>

/** What a call does to its home, and the `data` of its answer, which is kept for a day: no secrets in it. */
interface Effect<D, W> {
  readonly data: D
  readonly write: W
}

type Decide<V, D, W> = (view: V) => Effect<D, W> | Refused

/** A call whose Reference is bound: only such a call may have an effect. */
interface BoundCall {
  readonly attempt: RequestAttempt
  /** The one that was given, or that of an earlier attempt: money may be on its way from there. */
  readonly home: string
  /** When its attempt began, by this request or by one before that has not ended: what was done since may be its own. */
  readonly begunAtMs: number
  /** Notes for whoever asks that it ended without an effect. */
  end(refused: Refused): Promise<Refused>
}

/** Changes of one aggregate, each once for a client and a Reference. `decide` may be called several times. */
export interface Effects {
  onAccount<D>(
    call: EffectCall,
    accountId: string,
    decide: Decide<AccountView, D, AccountWrite>,
    reads?: readonly ChildKey[],
  ): Promise<Done<D> | Refused>
  onAggregate<D>(
    call: EffectCall,
    aggregate: string,
    decide: Decide<AggregateView, D, AggregateWrite>,
    reads?: readonly ChildKey[],
  ): Promise<Done<D> | Refused>
  /**
   * The same, where something else is to be done before that may be done again. `prepare` does it, when the
   * Reference is bound: a call that is refused for its Reference must have done nothing. It is told since when a request
   * with the same Reference may be doing it, and must not do again what that one did.
   */
  onPrepared<D>(
    call: EffectCall,
    aggregate: string,
    prepare: (begunAtMs: number) => Promise<Decide<AggregateView, D, AggregateWrite>>,
  ): Promise<Done<D> | Refused>
  /**
   * Makes an aggregate that is not there yet, under an id that retries make again. `prepare` may ask others
   * for what the creation needs; it is told how many attempts before were refused. Its own refusals may not
   * be read from what can change.
   */
  onNew<D>(
    call: EffectCall,
    prefix: IdPrefix,
    aggregateOf: (id: string) => string,
    prepare: (
      id: string,
      attempt: number,
    ) => Promise<Decide<AggregateView, D, AggregateWrite> | Refused>,
  ): Promise<Done<D> | Refused>
  /** Notes a refusal that no home was asked for, such as one for something that is not there. */
  refuse(call: EffectCall, refused: Refused): Promise<Refused>
  /** For effects of more than one commit. */
  bind(call: EffectCall, home: string): Promise<BoundCall | Refused>
  isBound(call: EffectCall): boolean
}

export interface EffectsOptions {
  readonly engine: Engine
  readonly aggregates: Aggregates
  readonly clock: Clock
}

/** Attempts of one creation that others ended while this one had it. */
const maxEndedAttempts = 3

export function createEffects({ engine, aggregates, clock }: EffectsOptions): Effects {
  const boundCalls = new WeakSet<EffectCall['request']>()

  async function bind(call: EffectCall, homeOf: HomeOf): Promise<BoundCall | Refused> {
    const { clientId, reference } = call.caller
    const named: ReferencedCall = { clientId, reference, ...call.request, home: '' }
    boundCalls.add(call.request)
    const bound = await bindReference(aggregates, named, call.nowMs, { homeOf })
    if (bound === 'seen') return refuseSeen(reference)
    if (bound === 'other') return refuseOther(reference)
    const { seenAtMs, startedAtMs, attempt: number, home } = bound
    const { hash, path } = call.request
    const id = newId('trf', call.nowMs)
    return {
      home,
      // Of what ended refused only the first beginning is kept.
      begunAtMs: number === 0 ? startedAtMs : call.nowMs,
      attempt: { clientId, reference, hash, path, id, seenAtMs, beganAtMs: call.nowMs },
      async end(refused) {
        // What another request did under it stands: an end would have the next attempt made under a new id.
        if (refused.condition === 'referenceSeen') return refused
        const { status: httpStatus } = conditions[refused.condition]
        const { responseCode: code, message } = refusalEnvelope(reference, refused)
        const endedAtMs = clock.nowMs()
        const end = { done: false, endedAtMs, httpStatus, code, message }
        await endReference(aggregates, named, end, endedAtMs, number)
        return refused
      },
    }
  }

  /** Decides one attempt at its home; whatever is said there is a commit, or can never change. */
  function decideOnce<V extends { child(key: ChildKey): string | null }, D, W extends NoteWrite>(
    attempt: RequestAttempt,
    decide: Decide<V, D, W>,
  ): (view: V) => { result: Done<D> | Refused; write: W | null } {
    return (view) => {
      const standing = standingOf(view.child, attempt)
      if (standing.state === 'done') {
        const { id, data } = standing.note
        const result = id === attempt.id ? { data: data as D } : refuseSeen(attempt.reference)
        return { result, write: null }
      }
      const refuses = (result: Refused) => ({ result, write: {} as W })
      if (standing.state === 'pending') return refuses(refuseOther(attempt.reference))
      const nowMs = clock.nowMs()
      if (isTooLate(attempt, nowMs)) return refuses(refuse('unavailable', 'it took too long'))
      const decided = decide(view)
      if (isRefused(decided)) return refuses(decided)
      const { data, write } = decided
      const note = doneWrite(attempt, data, nowMs, view.child)
      const put = [...(write.put ?? []), ...note.put]
      const remove = [...(write.remove ?? []), ...note.remove]
      return { result: { data }, write: { ...write, put, remove } }
    }
  }

  function changeOnce<D>(
    attempt: RequestAttempt,
    aggregate: string,
    decide: Decide<AggregateView, D, AggregateWrite>,
    reads: readonly ChildKey[] = [],
  ): Promise<Done<D> | Refused> {
    return aggregates.change({
      aggregate,
      reads: [...readsOf(attempt), ...reads],
      decide: decideOnce(attempt, decide),
    })
  }

  async function run<D>(
    bound: BoundCall | Refused,
    change: (attempt: RequestAttempt) => Promise<Done<D> | Refused>,
  ): Promise<Done<D> | Refused> {
    if (isRefused(bound)) return bound
    const result = await change(bound.attempt)
    return isRefused(result) ? bound.end(result) : result
  }

  return {
    async onAccount(call, accountId, decide, reads = []) {
      const bound = await bind(call, () => accountAggregate(accountId))
      const { clientId, reference } = call.caller
      return run(bound, (attempt) =>
        engine.change({
          accountId,
          origin: `api ${clientId} ${reference}`,
          reads: [...readsOf(attempt), ...reads],
          decide: decideOnce(attempt, decide),
        }),
      )
    },
    async onAggregate(call, aggregate, decide, reads) {
      const bound = await bind(call, () => aggregate)
      return run(bound, (attempt) => changeOnce(attempt, aggregate, decide, reads))
    },
    async onPrepared(call, aggregate, prepare) {
      const bound = await bind(call, () => aggregate)
      if (isRefused(bound)) return bound
      const decide = await prepare(bound.begunAtMs)
      // What was prepared may have been done, whatever the store or the clock says of its note.
      const result = await onceBegun(() => changeOnce(bound.attempt, aggregate, decide))
      if (!isRefused(result)) return result
      if (result.condition === 'unavailable') return refuse('outcomeUnknown', 'ask for its state')
      return bound.end(result)
    },
    async onNew(call, prefix, aggregateOf, prepare) {
      const { clientId, reference } = call.caller
      for (let i = 0; i < maxEndedAttempts; i++) {
        let id = ''
        let refusedBefore = 0
        const bound = await bind(call, (number, startedAtMs) => {
          refusedBefore = number
          id = idMadeFrom(prefix, startedAtMs, [clientId, reference, String(number)])
          return aggregateOf(id)
        })
        if (isRefused(bound)) return bound
        const prepared = await prepare(id, refusedBefore)
        const decide = isRefused(prepared) ? () => prepared : prepared
        const commit = () => create(bound, decide)
        // Who was asked for what it needs may have done something.
        const result = await (isRefused(prepared) ? commit() : onceBegun(commit))
        if (result === 'ended') await bound.end(refuse('unavailable', 'it was refused elsewhere'))
        else return isRefused(result) ? bound.end(result) : result
      }
      return refuse('unavailable', 'the same Reference is refused elsewhere at the same time')
    },
    async refuse(call, refused) {
      const bound = await bind(call, (_attempt, _startedAtMs, before) => before)
      return isRefused(bound) ? bound : bound.end(refused)
    },
    bind: (call, home) => bind(call, (_attempt, _startedAtMs, before) => before || home),
    isBound: ({ request }) => boundCalls.has(request),
  }

  /**
   * A refusal leaves an empty root, so that nobody else who has this attempt can create after it; the next
   * attempt has another id.
   */
  function create<D>(
    { attempt, home }: BoundCall,
    decide: Decide<AggregateView, D, AggregateWrite>,
  ): Promise<Done<D> | Refused | 'ended'> {
    const once = decideOnce(attempt, decide)
    return aggregates.change<Done<D> | Refused | 'ended'>({
      aggregate: home,
      reads: readsOf(attempt),
      decide(view) {
        const standing = standingOf(view.child, attempt)
        if (view.root !== null && standing.state === 'free') return { result: 'ended', write: null }
        return once(view)
      },
    })
  }
}

interface NoteWrite {
  readonly put?: AggregateWrite['put']
  readonly remove?: AggregateWrite['remove']
}

export function refuseSeen(reference: string): Refused {
  return refuseReference(reference, 'has already been seen in the last 24 hours')
}

export function refuseOther(reference: string): Refused {
  return refuseReference(reference, 'was begun with another payload')
}

function refuseReference(reference: string, message: string): Refused {
  const errors = [{ field: 'Reference', message }]
  return refuse('referenceSeen', `Reference ${reference} ${message}`, { errors })
}
