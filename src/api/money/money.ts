import type { Aggregates } from '../../engine/aggregates.ts'
import type { Engine } from '../../engine/engine.ts'
import { createSides } from '../../management/transfer/side.ts'
import { createTransferSteps } from '../../management/transfer/step.ts'
import {
  startTransferSweeper,
  type TransferSweeper,
  type TransferSweeperOptions,
} from '../../management/transfer/sweeper.ts'
import { createTransfers } from '../../management/transfer/transfers.ts'
import type { Effects } from '../effects.ts'
import { createTransferDesk, type TransferDesk } from './transfer-desk.ts'

export interface MoneyOptions
  extends Pick<TransferSweeperOptions, 'store' | 'clock' | 'onOpen' | 'onTrouble'> {
  readonly engine: Engine
  readonly aggregates: Aggregates
  readonly effects: Effects
  /** What is told of money that comes into a wallet, in the same commit. */
  readonly prepareBeside: Parameters<typeof createTransferSteps>[2]
}

const sweepMs = 1_000

/** Transfers of calls, and what looks after those whose servers are gone. */
export function openMoney(options: MoneyOptions): {
  readonly transfers: TransferDesk
  readonly sweeper: TransferSweeper
} {
  const { engine, aggregates, effects, clock } = options
  const { nowMs } = clock
  const steps = createTransferSteps(
    createSides({ engine, aggregates, nowMs }),
    nowMs,
    options.prepareBeside,
  )
  const transfers = createTransfers({ steps, engine, nowMs })
  const sweeper = startTransferSweeper({ ...options, steps, transfers, intervalMs: sweepMs })
  return { transfers: createTransferDesk(effects, transfers), sweeper }
}
