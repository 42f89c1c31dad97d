import { referenceMs } from '../reference.ts'
import type { LostSteps } from './lost-step.ts'
import type { TransferSteps } from './step.ts'
import {
  aggregateOfSide,
  type DestinationRefusal,
  movingEntry,
  successorOf,
  type Transfer,
  type TransferVerdict,
} from './transfer.ts'
import { enterCard, type TransfersOptions } from './transfers.ts'

/** A transfer as this server knows it: the store may have lost it, or a part of it. */
export interface KnownTransfer {
  readonly transfer: Transfer
  /** null while the destination was not heard. */
  readonly verdict: TransferVerdict | null
}

/**
 * To its end; `tooOld` where nobody can tell any more whether its source has given. `nowhere`: its source has not given,
 * and its destination is not there, so nothing moved; but its own request may still open the card.
 */
export type DriveAgain = (known: KnownTransfer) => Promise<'driven' | 'tooOld' | 'nowhere'>

export interface LostTransfersOptions {
  readonly steps: Pick<TransferSteps, 'credit' | 'close' | 'find'>
  readonly lost: LostSteps
  readonly engine: TransfersOptions['engine']
  /** What is learnt on the way may be lost again, and then nobody else may know of it. */
  readonly keep: (known: KnownTransfer) => void
  /** The time of the store's servers: they forget by it, also while our own clock is not believed. */
  readonly storeNowMs: () => Promise<number>
}

/**
 * After a day the source has forgotten what it gave, and would give once more. An hour less, because clocks differ and
 * driving takes its time.
 */
const maxDrivenAgainMs = referenceMs - 3_600_000

/** Nobody was told of it, and what it would take is not there any more. */
const overtaken: DestinationRefusal = {
  condition: 'changedMeanwhile',
  detail: 'the store had lost it, and its source has changed since',
}

/**
 * Drives a transfer to its end again after the store has lost something: the debit where the source lacks it, the
 * credit where the destination lacks it. The source comes first, so that a crash on the way leaves a record that a
 * sweeper finds.
 */
export function createLostTransfers(options: LostTransfersOptions): DriveAgain {
  const { steps, lost, engine, keep, storeNowMs } = options

  return async function driveAgain(known) {
    if ((await storeNowMs()) - known.transfer.seenAtMs > maxDrivenAgainMs) return 'tooOld'
    return drive(known)
  }

  async function drive({ transfer, verdict }: KnownTransfer): Promise<'driven' | 'nowhere'> {
    const heard = await lost.hear(transfer)
    // What had arrived can be spent, and was perhaps told: a refusal of after the loss does not count.
    const word = verdict?.state === 'credited' ? verdict : (heard ?? verdict)
    if (word === null) return driveUnheard(transfer)
    if (word.state === 'refused') {
      const kept = await lost.refuse(transfer, word.refusal)
      if (kept === null) throw new Error('the account that refused it is not there')
      if (kept.state === 'credited') return driveCredited(transfer, kept)
      const { state } = await steps.close(transfer, kept)
      if (state === 'gone') await deliverGiven(transfer)
      return 'driven'
    }
    return driveCredited(transfer, heard)
  }

  /**
   * A source that is done has given: its destination had it, lost it, and refused after that. Nobody gives it back, so
   * it must arrive.
   */
  async function deliverGiven(transfer: Transfer): Promise<boolean> {
    if (!(await lost.hasGiven(transfer))) return false
    await enterCard(engine, transfer)
    const verdict = await lost.credit(transfer)
    keep({ transfer, verdict })
    return true
  }

  async function driveCredited(
    transfer: Transfer,
    heard: TransferVerdict | null,
  ): Promise<'driven'> {
    const stands = await lost.debit(transfer, heard?.state === 'credited' ? 'arrived' : 'told')
    if (stands === 'moved') return 'driven'
    if (stands === 'next') {
      // Where the next attempt is refused nothing moves, though it was told as done: then this one must.
      await driveNext(transfer)
      return driveCredited(transfer, heard)
    }
    if (stands === 'done') {
      await enterCard(engine, transfer)
      await steps.close(transfer, await lost.credit(transfer))
      return 'driven'
    }
    const end = await finish({ ...transfer, mustArrive: true })
    // A close that was sent before the loss may come now, and make what was begun again done: look again.
    if (end === 'gone') return driveCredited(transfer, null)
    if (end === 'takenBack') return driveCredited(successorOf(transfer), null)
    return 'driven'
  }

  /** Credits and closes what is on its way; `gone` when it was refused, and somebody else has given it back. */
  async function finish(transfer: Transfer): Promise<'arrived' | 'takenBack' | 'gone'> {
    await enterCard(engine, transfer)
    const verdict = await steps.credit(transfer)
    if (verdict === 'tooOld') throw new Error('it is too old to be credited')
    keep({ transfer, verdict })
    const { state } = await steps.close(transfer, verdict)
    if (verdict.state === 'credited') return 'arrived'
    if (state !== 'gone') return 'takenBack'
    return (await deliverGiven(transfer)) ? 'arrived' : 'gone'
  }

  /** Whoever finds a transfer on its way drives it on; its own server answers for it. */
  async function driveNext(before: Transfer): Promise<void> {
    const { sortKey } = movingEntry(before)
    const next = await steps.find(aggregateOfSide(before.from), before, sortKey)
    if (next !== null) await finish(next)
  }

  async function driveUnheard(transfer: Transfer): Promise<'driven' | 'nowhere'> {
    const stands = await lost.debit(transfer, 'asked')
    if (stands === 'done') return driveCredited(transfer, null)
    if (stands === 'pending') {
      await finish(transfer)
      return 'driven'
    }
    // Its own request may still be on the way to the destination.
    const kept = await lost.refuse(transfer, overtaken)
    if (kept === null) return 'nowhere'
    return kept.state === 'credited' ? driveCredited(transfer, kept) : 'driven'
  }
}
