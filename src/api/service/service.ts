import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FollowedClock } from '../../clock.ts'
import { createEngine, type Engine } from '../../engine/engine.ts'
import { noDeliveries } from '../../engine/options.ts'
import { listenAt } from '../../listening.ts'
import { createKeptTransfers, type KeptFigures } from '../../management/transfer/kept-transfer.ts'
import type { OpenTransfers } from '../../management/transfer/sweeper.ts'
import { startProjection } from '../../projection/projection.ts'
import type { ProjectionFigures } from '../../projection/projector.ts'
import type { Store } from '../../store/port.ts'
import { waitAtMost } from '../../timing.ts'
import type { WebhookFigures } from '../../webhook/pending.ts'
import { type ApiListeners, createApi } from '../api.ts'
import type { ApiSettings } from '../context.ts'
import { createOutside } from '../outside/outside.ts'
import type { FollowedPack } from './followed-pack.ts'

export interface ServiceListeners extends Omit<ApiListeners, 'onTransfers'> {
  /** Every second, while the store answers. */
  readonly onTransfers: (figures: OpenTransfers & KeptFigures) => void
  readonly onProjection: (figures: ProjectionFigures) => void
  readonly onPending: (figures: WebhookFigures) => void
  /** Why the store takes no commits, or '' when it does again. */
  readonly onStore?: (problem: string) => void
}

export interface ApiServiceOptions {
  readonly store: Store
  readonly clock: Pick<FollowedClock, 'nowMs' | 'monoMs' | 'isDoubted'>
  readonly packs: FollowedPack
  readonly settings: ApiSettings
  /** Others are at work on the same store. */
  readonly isShared: boolean
  readonly listeners: ServiceListeners
}

/** The management API with all that goes on behind it: transfers, rows of transactions, webhooks, KYC. */
export interface ApiService {
  readonly newVersion: Engine['newVersion']
  /** Resolves to the port. */
  listen(): Promise<number>
  /** The store is open after it. */
  stop(): Promise<void>
}

/** A few cards at a time are in use; the engine that decides has memory of its own. */
const cachedCards = 10_000
/** A card that another server is to issue again first may take longer: whoever ends is not kept by it. */
const mendMs = 3_000
const mendLookMs = 20

export async function openApiService(options: ApiServiceOptions): Promise<ApiService> {
  const { store, clock, packs, settings, isShared, listeners } = options
  const { onTransfers, onProjection, onPending, onStore, ...told } = listeners
  const { onTrouble } = told
  const kept = createKeptTransfers({ monoMs: clock.monoMs, onTrouble })
  const engine = createEngine({
    store,
    clock,
    pack: await packs.first,
    nonce: randomUUID().slice(0, 8),
    cacheCards: cachedCards,
    ...noDeliveries,
    onLoss() {
      kept.onLoss()
      // No delivery was told here: with that the store may be committed to again.
      engine.recall([], true)
    },
    onCheckpoint: kept.onCheckpoint,
    onKept: kept.onKept,
    ...(onStore && { onStore }),
  })
  packs.follow(engine.setPack)
  const { newVersion } = engine
  const outside = createOutside({
    store,
    clock,
    newVersion,
    settings,
    isShared,
    onPending,
    onTrouble,
  })
  const server = createApi(
    { store, clock, engine, outside, isShared },
    settings,
    { ...told, onTransfers: (open) => onTransfers({ ...open, ...kept.figures }) },
    store.losses === undefined ? null : kept,
  )
  const projection = startProjection({
    store,
    clock,
    newVersion,
    instance: isShared ? randomUUID() : null,
    retentionDays: settings.transactionRetentionDays,
    consumers: [outside.consumer],
    onFigures: onProjection,
    onTrouble,
  })
  /** What was lost unnoticed, or is not driven again yet, would be lost for good with this process. */
  async function mendLast(): Promise<void> {
    if (store.losses === undefined) return
    const endsAtMonoMs = clock.monoMs() + mendMs
    await waitAtMost(mendMs, store.losses.look())
    while (kept.isMending && clock.monoMs() < endsAtMonoMs) await sleep(mendLookMs)
  }

  return {
    newVersion,
    listen() {
      outside.start()
      return listenAt(server, { ...settings, name: 'the management API', prefix: 'API' })
    },
    async stop() {
      const answered = server.close()
      await Promise.all([answered, projection.stop(), outside.stop(answered)])
      await mendLast()
      kept.stop()
      engine.stop()
    },
  }
}
