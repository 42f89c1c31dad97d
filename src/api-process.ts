import { createAdminServer, type Readiness } from './admin/server.ts'
import { createFollowedPack, type FollowedPack } from './api/service/followed-pack.ts'
import { type ApiService, openApiService, type ServiceListeners } from './api/service/service.ts'
import { systemClock, type TrustedClock } from './clock.ts'
import type { Config } from './config/config.ts'
import { watchServerClocks } from './engine/notice/server-clocks.ts'
import { clockLookMs, createObserver } from './gate/clock-watch.ts'
import { type PackReload, packSettings, startPackReload } from './gate/pack-reload.ts'
import { listenAt } from './listening.ts'
import { readSecretKeys } from './management/secret-keys.ts'
import { slowTransferProblem } from './management/transfer/slow-transfer.ts'
import { hearSignals } from './signals.ts'
import { type Store, StoreRefused } from './store/port.ts'
import { createApiLog } from './telemetry/api-log.ts'
import { createLogSink, type LogSink } from './telemetry/logger.ts'
import { createServiceMetrics } from './telemetry/metrics.ts'
import { createStoreProblem } from './telemetry/store-problem.ts'
import { createTroubleLog } from './telemetry/trouble-log.ts'
import { readVersion } from './version.ts'

export interface ApiProcessOptions {
  readonly store: Store
  /** Which the store goes by, too. */
  readonly clock: TrustedClock
  readonly config: Config
  readonly settings: NonNullable<Config['api']>
  /** Health and metrics are served as well. */
  readonly hasAdmin: boolean
  /** From then on the listener is told when it is to end; until then it may end at any moment. */
  readonly onStop: (listener: () => void) => void
}

/** Serves the management API beside servers that decide, on the Redis that they share. */
export async function serveApiAlone(options: ApiProcessOptions): Promise<void> {
  const { store, clock, config, hasAdmin } = options
  const { sandbox, webhookRetentionDays, outgoingProxy } = config
  // It throws where there is no key: nothing may have been started then.
  const keys = readSecretKeys(config, () => {})
  const sink = createLogSink(config.logLevel)
  const { logger } = sink
  const signals = hearSignals(logger)
  const watch = createWatch(sink, clock)
  const packs = followPacks(config, watch, sink)
  const admin = createAdminServer({
    config,
    metrics: watch.metrics,
    readiness: () => readinessOf(watch, packs, clock.doubt),
    reloadRules: packs.reload,
  })
  signals.onHangUp(() => void packs.reload())
  const own = { sandbox, webhookRetentionDays, outgoingProxy, relay: null, version: readVersion() }
  const settings = { ...options.settings, ...own, keys }
  let service: ApiService | null = null
  let time: TimeWatch | null = null
  try {
    if (hasAdmin) {
      const place = { host: config.adminHost, port: config.adminPort }
      const adminPort = await listenAt(admin, {
        ...place,
        name: 'the operations port',
        prefix: 'ADMIN',
      })
      logger.info({ adminPort }, 'serving health and metrics')
    }
    const { followed, refused } = packs
    const { listeners } = watch
    time = await watchTime(options, sink, listeners.onTrouble)
    const shared = { store, clock, packs: followed, settings, listeners, isShared: true }
    service = await Promise.race([openApiService(shared), refused])
    logger.info({ apiPort: await service.listen() }, 'serving the management API')
    watch.serve()
    await new Promise<void>((resolve) => options.onStop(resolve))
    watch.state = 'stopping'
  } finally {
    await service?.stop()
    time?.stop()
    await packs.stop()
    await admin.close()
    logger.info('stopped')
    await sink.end()
  }
}

interface TimeWatch {
  stop(): void
}

/** As a server does, but for a mark: at the next start Redis says what time it is. */
async function watchTime(
  { store, clock }: Pick<ApiProcessOptions, 'store' | 'clock'>,
  { logger }: LogSink,
  onTrouble: (message: string) => void,
): Promise<TimeWatch> {
  const servers = await watchServerClocks(store, (message) => {
    if (message.type === 'clock') clock.hear(message.serverOffsetsMs)
    if (message.type === 'trouble') onTrouble(message.message)
  })
  const timer = setInterval(createObserver(clock, logger), clockLookMs)
  return {
    stop() {
      clearInterval(servers)
      clearInterval(timer)
    },
  }
}

/** What the process tells of itself. */
interface Watch {
  state: 'starting' | 'serving' | 'stopping'
  serve(): void
  readonly metrics: ReturnType<typeof createServiceMetrics>
  readonly listeners: ServiceListeners
  /** Why the store cannot be used; '' while it can. */
  readonly storeProblem: string
  readonly transferProblem: string
}

/** While it serves, the transfers on their way are looked at every second, as far as the store answers. */
const storeSilentMs = 5_000

function createWatch(sink: LogSink, clock: TrustedClock): Watch {
  const atWork = new Int32Array(1)
  const logCall = createApiLog(sink)
  const refusal = createStoreProblem(sink.logger)
  let transfers = { oldestMs: 0, unread: 0 }
  let lookedMonoMs = 0
  const metrics = createServiceMetrics(() => {
    metrics.processing(atWork[0]!)
    return {
      storeAvailable: watch.storeProblem === '',
      clockTrusted: clock.doubt === '',
      logDropped: sink.dropped,
    }
  })
  const watch: Watch = {
    state: 'starting',
    // What comes before may take long, and is no fault of the store: it waits for its rules.
    serve() {
      lookedMonoMs = systemClock.monoMs()
      watch.state = 'serving'
    },
    metrics,
    get storeProblem() {
      const silentMs = systemClock.monoMs() - lookedMonoMs
      if (watch.state === 'serving' && silentMs > storeSilentMs) {
        return `it has not answered for ${Math.floor(silentMs / 1000)} s`
      }
      if (transfers.unread > 0) return `${transfers.unread} of its partitions do not answer`
      return refusal.text
    },
    get transferProblem() {
      return slowTransferProblem(transfers.oldestMs)
    },
    listeners: {
      atWork,
      onAnswered(call) {
        metrics.apiCall(call)
        logCall(call)
      },
      onTransfers(figures) {
        lookedMonoMs = systemClock.monoMs()
        transfers = figures
        metrics.transfers(figures)
      },
      onProjection: metrics.projection,
      onPending: metrics.webhooks,
      onStore: refusal.note,
      onTrouble: createTroubleLog(sink.logger),
    },
  }
  return watch
}

interface FollowedFolder extends Pick<PackReload, 'problem' | 'reload' | 'stop'> {
  readonly followed: FollowedPack
  /** Rejects when there is no pack to begin with. */
  readonly refused: Promise<never>
}

/** The packs of the folder or address that a server would have, as they change. */
function followPacks(config: Config, { metrics }: Watch, { logger }: LogSink): FollowedFolder {
  const followed = createFollowedPack(systemClock.monoMs, (problem) =>
    packs.onEngine('the pack is in use', problem),
  )
  let refuse: (error: Error) => void = () => {}
  const refused = new Promise<never>((_, reject) => {
    refuse = reject
  })
  // Who could not listen does not wait for it.
  refused.catch(() => {})
  const packs = startPackReload({
    settings: packSettings(config),
    heapMb: config.engineHeapMb,
    engine: followed,
    metrics: () => metrics,
    logger,
    onRefused: (problem) => refuse(new StoreRefused(problem)),
  })
  return {
    followed,
    refused,
    get problem() {
      return packs.problem
    },
    reload: packs.reload,
    stop: packs.stop,
  }
}

function readinessOf(
  watch: Watch,
  { followed, problem: rulesProblem }: FollowedFolder,
  clockProblem: string,
): Readiness {
  const { state, storeProblem, transferProblem } = watch
  const detail = {
    api: state,
    store: storeProblem === '' ? 'available' : 'unavailable',
    rulesVersion: followed.rulesVersion,
    ...(storeProblem === '' ? {} : { storeProblem }),
    ...(clockProblem === '' ? {} : { clockProblem }),
    ...(rulesProblem === '' ? {} : { rulesProblem }),
    ...(transferProblem === '' ? {} : { transferProblem }),
  }
  if (state !== 'serving') return { status: state, detail }
  const problems = [storeProblem, clockProblem, rulesProblem, transferProblem]
  const isWell = problems.every((problem) => problem === '')
  return { status: isWell ? 'ready' : 'degraded', detail }
}
