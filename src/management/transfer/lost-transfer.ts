import type { LostSteps } from './lost-step.ts'
import type { TransferSteps } from './step.ts'
import type { DestinationRefusal, Transfer, TransferVerdict } from './transfer.ts'
import { enterCard, type TransfersOptions } from './transfers.ts'

/** A transfer as this server knows it: the store may have lost it, or a part of it. */
export interface KnownTransfer {
  readonly transfer: Transfer
  /** null while the destination was not heard. */
  readonly verdict: TransferVerdict | null
}

export interface LostTransfersOptions {
  readonly steps: Pick<TransferSteps, 'credit' | 'close'>
  readonly lost: LostSteps
  readonly engine: TransfersOptions['engine']
}

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
export function createLostTransfers({ steps, lost, engine }: LostTransfersOptions) {
  return async function driveAgain({ transfer, verdict }: KnownTransfer): Promise<void> {
    const heard = await lost.hear(transfer)
    // What had arrived can be spent, and was perhaps told: a refusal of after the loss does not count.
    const word = verdict?.state === 'credited' ? verdict : (heard ?? verdict)
    if (word === null) return driveUnheard(transfer)
    if (word.state === 'refused') {
      const kept = await lost.refuse(transfer, word.refusal)
      if (kept.state === 'credited') return driveCredited(transfer, kept)
      await steps.close(transfer, kept)
      return
    }
    return driveCredited(transfer, heard)
  }

  async function driveCredited(transfer: Transfer, heard: TransferVerdict | null): Promise<void> {
    const stands = await lost.debit(transfer, heard?.state === 'credited' ? 'arrived' : 'told')
    if (stands === 'other') return
    await enterCard(engine, transfer)
    await steps.close(transfer, await lost.credit(transfer))
  }

  async function driveUnheard(transfer: Transfer): Promise<void> {
    const stands = await lost.debit(transfer, 'asked')
    if (stands === 'done') return driveCredited(transfer, null)
    if (stands === 'pending') {
      await enterCard(engine, transfer)
      const verdict = await steps.credit(transfer)
      if (verdict !== 'tooOld') await steps.close(transfer, verdict)
      return
    }
    // Its own request may still be on the way to the destination.
    const kept = await lost.refuse(transfer, overtaken)
    if (kept.state === 'credited') return driveCredited(transfer, kept)
  }
}
