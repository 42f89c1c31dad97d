import type { Aggregates } from '../../engine/aggregates.ts'
import type { Engine } from '../../engine/engine.ts'
import { isPassed } from '../../store/dated-group.ts'
import type { Store } from '../../store/port.ts'
import { createLostSteps } from './lost-step.ts'
import { openTransfers } from './open-transfer.ts'
import { createSides } from './side.ts'
import { createTransferSteps } from './step.ts'
import { type DestinationRefusal, inboxPlace, isCreditable, type Transfer } from './transfer.ts'

export interface TakeBackOptions {
  readonly store: Store
  readonly engine: Pick<Engine, 'change'>
  readonly aggregates: Aggregates
  readonly nowMs: () => number
}

/**
 * unknown: nothing of that id is on its way. hidden: it may be one of those that cannot be read. young: servers finish
 * it by themselves. opening: one may still be opening its card. forgotten: its destination keeps no word any more of
 * whether it has arrived.
 */
type TakenBack =
  | 'unknown'
  | 'hidden'
  | 'young'
  | 'opening'
  | 'forgotten'
  | 'done'
  | 'takenBack'
  | 'gone'

const tooOld: DestinationRefusal = {
  condition: 'changedMeanwhile',
  detail: 'it was on its way for more than 30 days, and a person took it back',
}

/** No clock that is believed is so late, and no command so long on its way. */
const openedWithinMs = 3_600_000

/** Ends a transfer that no server credits any more: its money goes back, unless it had arrived. */
export async function takeBack(id: string, options: TakeBackOptions): Promise<TakenBack> {
  const { store, nowMs } = options
  const transfer = await findOpen(id, store)
  if (typeof transfer === 'string') return transfer
  if (isCreditable(transfer, nowMs())) return 'young'
  if (isPassed(inboxPlace(transfer).group, nowMs())) return 'forgotten'
  const change = createSides(options)
  const lost = createLostSteps(change, nowMs)
  const isInTime = isCreditable(transfer, nowMs() - openedWithinMs)
  // The destination's refusal comes first: a credit that is still on its way finds it.
  const heard = await lost.refuse(transfer, tooOld)
  // One that is not opened, or lost, has no place for it: nobody may credit it any more by any clock instead.
  if (heard === null && isInTime) return 'opening'
  const verdict = heard ?? ({ state: 'refused', refusal: tooOld } as const)
  return (await createTransferSteps(change, nowMs).close(transfer, verdict)).state
}

async function findOpen(id: string, store: Store): Promise<Transfer | 'unknown' | 'hidden'> {
  let unreadable = 0
  for await (const transfer of openTransfers(store, () => unreadable++)) {
    if (transfer.id === id) return transfer
  }
  return unreadable === 0 ? 'unknown' : 'hidden'
}
