import type { Engine } from '../../engine/engine.ts'
import { onceBegun } from '../../store/outcome.ts'
import type { RequestAttempt } from '../effect.ts'
import { newId } from '../id.ts'
import type { SideView } from './side.ts'
import type { Debited, TransferSteps } from './step.ts'
import type { DestinationRefusal, Transfer, TransferVerdict } from './transfer.ts'

/** How one call moves money: refusals of type R are its own. */
export interface TransferPlan<R> {
  /** The aggregate of the source, which the Reference is bound to. */
  readonly home: string
  /**
   * What is to be moved, under an id that is new each time. A refusal is said by a commit at the source, after
   * whatever stands there under the same Reference.
   */
  prepare(id: string): Promise<{ readonly transfer: PlannedTransfer } | { readonly refusal: R }>
  /** Where `prepare` asks others for something: what is refused before that, by a commit at the source. */
  readonly before?: {
    gather(): Promise<R | null>
    check(view: SideView): R | null
  }
  /** The checks of the source, in their order; null when it may give. */
  check(view: SideView, transfer: PlannedTransfer): R | null
  /** How often it is begun again when the destination has changed meanwhile. */
  readonly triesAgain?: number
}

/** A transfer as a call plans it; what is the same for all is added. */
export type PlannedTransfer = Omit<
  Transfer,
  'id' | 'hash' | 'path' | 'clientId' | 'reference' | 'seenAtMs' | 'fromAfter'
>

type TransferOutcome<R> =
  | { readonly state: 'done'; readonly data: unknown }
  | { readonly state: 'seen' | 'other' | 'late' | 'tooOld' | 'busy' }
  | { readonly state: 'refused'; readonly refusal: R | DestinationRefusal }

/** Somebody else closed it, and this is what its destination had said. */
interface Gone {
  readonly state: 'gone'
  readonly verdict: TransferVerdict
}

export interface Transfers {
  /** Debit, credit and close; resolves when the money can be spent where it went, or is back. */
  run<R>(attempt: RequestAttempt, plan: TransferPlan<R>): Promise<TransferOutcome<R>>
  /** Brings one that is on its way to its end, whoever began it. */
  finish(transfer: Transfer): Promise<TransferOutcome<never> | Gone>
}

export interface TransfersOptions {
  readonly steps: TransferSteps
  readonly engine: Pick<Engine, 'directory' | 'newVersion'>
  readonly nowMs: () => number
}

/** Others may end what this one joined, again and again. */
const maxRounds = 5

export function createTransfers({ steps, engine, nowMs }: TransfersOptions): Transfers {
  async function credit(transfer: Transfer): Promise<TransferVerdict | 'tooOld'> {
    await enterCard(engine, transfer)
    return steps.credit(transfer)
  }

  async function finish(transfer: Transfer): Promise<TransferOutcome<never> | Gone> {
    const verdict = await credit(transfer)
    if (verdict === 'tooOld') return { state: 'tooOld' }
    const closed = await steps.close(transfer, verdict)
    if (closed.state === 'done') return closed
    if (closed.state === 'takenBack' && verdict.state === 'refused') {
      return { state: 'refused', refusal: verdict.refusal }
    }
    return { state: 'gone', verdict }
  }

  async function begin<R>(attempt: RequestAttempt, plan: TransferPlan<R>): Promise<Debited<R>> {
    const { home, before } = plan
    if (before !== undefined) {
      const gathered = await before.gather()
      const looked = await steps.debit<R | typeof goOn>(attempt, {
        home,
        transfer: null,
        check: (view) => gathered ?? before.check(view) ?? goOn,
      })
      if (looked.state !== 'refused') return looked
      const { refusal } = looked
      if (refusal !== goOn) return { state: 'refused', refusal }
    }
    const prepared = await plan.prepare(attempt.id)
    const planned = 'transfer' in prepared ? prepared.transfer : null
    return steps.debit<R>(attempt, {
      home,
      transfer: planned && transferOf(planned, attempt),
      check: (view) =>
        'transfer' in prepared ? plan.check(view, prepared.transfer) : prepared.refusal,
    })
  }

  async function runOnce<R>(
    attempt: RequestAttempt,
    plan: TransferPlan<R>,
  ): Promise<TransferOutcome<R>> {
    const start = () => begin(attempt, plan)
    for (let round = 0; round < maxRounds; round++) {
      // What it had joined in the round before may have moved the money.
      const debited = await (round === 0 ? start() : onceBegun(start))
      if (debited.state !== 'moving') return debited
      const outcome = await onceBegun(() => finish(debited.transfer))
      if (outcome.state !== 'gone') return outcome
      const { verdict } = outcome
      // Its own request answers how it ended; who had joined begins again.
      if (debited.own) return onceBegun(() => ownEnd(attempt, plan, verdict))
    }
    return { state: 'busy' }
  }

  /** Somebody else closed our transfer: the verdict says how. */
  async function ownEnd<R>(
    attempt: RequestAttempt,
    { home }: TransferPlan<R>,
    verdict: TransferVerdict,
  ): Promise<TransferOutcome<R>> {
    if (verdict.state === 'refused') return { state: 'refused', refusal: verdict.refusal }
    // Where the store has lost the note, what is known of it is driven again: only its state can be asked for.
    const lost = () => 'lost' as const
    const found = await steps.debit(attempt, { home, transfer: null, check: lost })
    return found.state === 'done' ? found : { state: 'busy' }
  }

  return {
    finish,
    async run(attempt, plan) {
      const { triesAgain = 0 } = plan
      let outcome = await runOnce(attempt, plan)
      for (let tries = 0; tries < triesAgain && isChanged(outcome); tries++) {
        outcome = await runOnce({ ...attempt, id: newId('trf', nowMs()) }, plan)
      }
      return outcome
    },
  }
}

/** One literal: V8 makes a dictionary of so many fields when they are put together by spreads. */
export function transferOf(planned: PlannedTransfer, attempt: RequestAttempt): Transfer {
  return {
    id: attempt.id,
    hash: attempt.hash,
    path: attempt.path,
    type: planned.type,
    amountMinor: planned.amountMinor,
    currency: planned.currency,
    from: planned.from,
    to: planned.to,
    clientId: attempt.clientId,
    reference: attempt.reference,
    seenAtMs: attempt.seenAtMs,
    narration: planned.narration,
    opening: planned.opening,
    fromAfter: null,
    data: planned.data,
  }
}

/** A card is found by its directory before its first commit, as with an import. */
export async function enterCard(
  { directory, newVersion }: TransfersOptions['engine'],
  { opening }: Transfer,
): Promise<void> {
  if (opening === null) return
  const elsewhere = await directory.enter([opening.card], newVersion)
  if (elsewhere.length > 0) throw new Error('a new card belongs to another account')
}

/** In the place of a refusal: there is none, and nothing was asked for yet. */
const goOn = Symbol('go on')

function isChanged<R>(outcome: TransferOutcome<R>): boolean {
  if (outcome.state !== 'refused') return false
  const { refusal } = outcome
  return (
    typeof refusal === 'object' &&
    refusal !== null &&
    'condition' in refusal &&
    refusal.condition === 'changedMeanwhile'
  )
}
