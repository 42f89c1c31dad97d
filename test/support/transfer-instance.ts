import { createEffects, type Effects } from '../../src/api/effects.ts'
import { createTransferDesk, type TransferDesk } from '../../src/api/money/transfer-desk.ts'
import { createAggregates } from '../../src/engine/aggregates.ts'
import {
  createKeptTransfers,
  type KeptTransfers,
} from '../../src/management/transfer/kept-transfer.ts'
import { createLostSteps, type LostSteps } from '../../src/management/transfer/lost-step.ts'
import { createLostTransfers } from '../../src/management/transfer/lost-transfer.ts'
import { type ChangeSide, createSides } from '../../src/management/transfer/side.ts'
import { createTransferSteps, type TransferSteps } from '../../src/management/transfer/step.ts'
import { startTransferSweeper } from '../../src/management/transfer/sweeper.ts'
import { createTransfers, type Transfers } from '../../src/management/transfer/transfers.ts'
import type { Command, Store } from '../../src/store/port.ts'
import { startEngine } from './engine-world.ts'
import type { Fault } from './memory-store.ts'
import type { TransferNodes } from './transfer-nodes.ts'

/** A rule of the protocol left out; what is not named is as it is served. */
export interface PlantedFault {
  change?(change: ChangeSide): ChangeSide
  steps?(steps: TransferSteps, change: ChangeSide): TransferSteps
  transfers?(transfers: Transfers, steps: TransferSteps): Transfers
  effects?(effects: Effects): Effects
  readonly sweeps?: boolean
  /** Whether what the store has lost is driven again. */
  readonly repeats?: boolean
  lost?(lost: LostSteps): LostSteps
}

/** One server of the simulation. */
export interface TransferInstance {
  readonly desk: TransferDesk
  readonly engine: ReturnType<typeof startEngine>
  readonly kept: KeptTransfers
  readonly isDead: boolean
  /** Its connections break: resolves when it dies. */
  readonly died: Promise<null>
  crash(): void
}

export interface InstanceOptions {
  readonly nodes: TransferNodes
  readonly random: () => number
  readonly weather: { calm: boolean }
  readonly planted: PlantedFault
  /** The store may lose what it acknowledged, and is watched for it. */
  readonly mayLose: boolean
  /** It is cut off from the store, and dies: what it sent is executed later. */
  readonly onPartition: () => void
  /** What is to go wrong with this call; null leaves it to chance. */
  readonly trick: (commands: readonly Command[]) => Fault | null
}

/** A new one each time: what waits for one and the same is kept as long as that is. */
const never = () => new Promise<never>(() => {})

export function startInstance(options: InstanceOptions): TransferInstance {
  const { nodes, random, weather, planted, mayLose } = options
  let dead = false
  let die: (died: null) => void = () => {}
  const died = new Promise<null>((resolve) => {
    die = resolve
  })
  const inner = nodes.open((commands) => {
    if (weather.calm) return { kind: 'none' }
    const trick = options.trick(commands)
    if (trick !== null) return trick
    const fault = anyFault(random)
    if (fault.kind === 'late' && random() < 0.3) setTimeout(options.onPartition, random() * 50)
    return fault
  })
  const alive = <T>(work: () => Promise<T>): Promise<T> =>
    dead
      ? never()
      : work().then(
          (value) => (dead ? never() : value),
          (error) => (dead ? never() : Promise.reject(error)),
        )
  const { losses, ...rest } = inner
  const store: Store = {
    ...rest,
    ...(mayLose && losses && { losses }),
    commit: (commands) => alive(() => inner.commit(commands)),
    load: (keys) => alive(() => inner.load(keys)),
    range: (index, after, limit) => alive(() => inner.range(index, after, limit)),
  }
  const onTrouble = (message: string) => {
    throw new Error(message)
  }
  const clock = { nowMs: () => Date.now(), monoMs: () => Date.now() }
  const { nowMs } = clock
  const kept = createKeptTransfers({ monoMs: nowMs, onTrouble })
  const engine = startEngine(store, {
    clock,
    random,
    onLoss() {
      kept.onLoss()
      engine.recall([], true)
    },
    onCheckpoint: kept.onCheckpoint,
    onKept: kept.onKept,
  })
  const aggregates = createAggregates({ store, newVersion: engine.newVersion, random })
  const effects = createEffects({ engine, aggregates, clock })
  const sides = createSides({ engine, aggregates, nowMs })
  const change = planted.change?.(sides) ?? sides
  const plain = createTransferSteps(change, nowMs, undefined, mayLose)
  const rightLost = createLostSteps(sides, nowMs)
  const lost = planted.lost?.(rightLost) ?? rightLost
  const storeNowMs = async () => nowMs()
  const again = createLostTransfers({ steps: plain, lost, engine, keep: kept.keep, storeNowMs })
  kept.repeatBy(planted.repeats === false ? async () => 'driven' : again)
  const rightSteps = mayLose ? kept.watch(plain) : plain
  const steps = planted.steps?.(rightSteps, change) ?? rightSteps
  const rightTransfers = createTransfers({ steps, engine, nowMs })
  const transfers = planted.transfers?.(rightTransfers, steps) ?? rightTransfers
  const intervalMs = planted.sweeps === false ? 1e9 : 1_000
  const sweeper = startTransferSweeper({ store, steps, transfers, clock, intervalMs, onTrouble })
  const looking = setInterval(() => void store.losses?.look(), 1_000)
  return {
    engine,
    kept,
    died,
    desk: createTransferDesk(planted.effects?.(effects) ?? effects, transfers),
    get isDead() {
      return dead
    },
    crash() {
      dead = true
      clearInterval(looking)
      kept.stop()
      sweeper.stop()
      engine.stop()
      aggregates.stop()
      die(null)
    },
  }
}

function anyFault(random: () => number): Fault {
  const later = (maxMs: number) =>
    new Promise<void>((resolve) => setTimeout(resolve, random() * maxMs))
  const draw = random()
  if (draw < 0.03) return { kind: 'refused' }
  if (draw < 0.08) return { kind: 'replyLost' }
  if (draw < 0.16) return { kind: 'late', release: later(6_000) }
  if (draw < 0.22) return { kind: 'delayed', until: later(3_000) }
  return draw < 0.5 ? { kind: 'delayed', until: later(200) } : { kind: 'none' }
}
