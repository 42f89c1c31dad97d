import type { Aggregates } from '../../engine/aggregates.ts'
import type { Engine } from '../../engine/engine.ts'
import type { KeptTransfers } from '../../management/transfer/kept-transfer.ts'
import { createLostSteps } from '../../management/transfer/lost-step.ts'
import { createLostTransfers } from '../../management/transfer/lost-transfer.ts'
import { createSides } from '../../management/transfer/side.ts'
import { createTransferSteps, type PrepareBeside } from '../../management/transfer/step.ts'
import {
  startTransferSweeper,
  type TransferSweeper,
  type TransferSweeperOptions,
} from '../../management/transfer/sweeper.ts'
import { createTransfers } from '../../management/transfer/transfers.ts'
import { type Store, StoreError } from '../../store/port.ts'
import type { Effects } from '../effects.ts'
import { createTransferDesk, type TransferDesk } from './transfer-desk.ts'

export interface MoneyOptions
  extends Pick<TransferSweeperOptions, 'clock' | 'onOpen' | 'onTrouble'> {
  readonly store: TransferSweeperOptions['store'] & Pick<Store, 'serverTimes'>
  readonly engine: Engine
  readonly aggregates: Aggregates
  readonly effects: Effects
  /** What is told of money that comes into a wallet, in the same commit. */
  readonly prepareBeside: PrepareBeside
  /** Only where the store may lose what it acknowledged. */
  readonly kept?: KeptTransfers | null
}

const sweepMs = 1_000

/** Transfers of calls, and what looks after those whose servers are gone. */
export function openMoney(options: MoneyOptions): {
  readonly transfers: TransferDesk
  readonly sweeper: TransferSweeper
} {
  const { store, engine, aggregates, effects, clock, prepareBeside, kept = null } = options
  const { nowMs } = clock
  const change = createSides({ engine, aggregates, nowMs })
  const mayLose = kept !== null
  const plain = createTransferSteps(change, nowMs, prepareBeside, mayLose)
  const lost = createLostSteps(change, nowMs, prepareBeside)
  const storeNowMs = () => latestTime(store, nowMs)
  kept?.repeatBy(createLostTransfers({ steps: plain, lost, engine, keep: kept.keep, storeNowMs }))
  const steps = kept?.watch(plain) ?? plain
  const transfers = createTransfers({ steps, engine, nowMs })
  const sweeper = startTransferSweeper({ ...options, steps, transfers, intervalMs: sweepMs })
  return { transfers: createTransferDesk(effects, transfers), sweeper }
}

async function latestTime(store: Pick<Store, 'serverTimes'>, nowMs: () => number): Promise<number> {
  try {
    return Math.max(nowMs(), ...((await store.serverTimes?.()) ?? []))
  } catch (error) {
    throw new StoreError('the time of the store is unknown', 'no', { cause: error })
  }
}
