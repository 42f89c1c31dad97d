import type { Readiness } from './admin/server.ts'
import type { RelayTarget } from './api/context.ts'
import type { ApiWorkerSettings, ToldByApi } from './api/worker.ts'
import { tellWork } from './back-office-work.ts'
import type { TrustedClock } from './clock.ts'
import { isLoopback, reachableHost } from './config/check.ts'
import type { Config } from './config/config.ts'
import type { Given } from './console/figures.ts'
import type { Flow } from './console/flow.ts'
import type { Gauges } from './console/shape/now.ts'
import type { ConsoleWorkerSettings } from './console/worker.ts'
import type { OfferedPack } from './engine/pack-swap.ts'
import type { Gate } from './gate/gate.ts'
import { programFolder } from './installation.ts'
import { readSecretKeys, SecretKeyMissing } from './management/secret-keys.ts'
import { slowTransferProblem } from './management/transfer/slow-transfer.ts'
import type { Profile } from './profile/profile.ts'
import { type SeedingWatch, watchSeeding } from './seeding/seeding-watch.ts'
import { createApiLog } from './telemetry/api-log.ts'
import type { LogSink } from './telemetry/logger.ts'
import type { Readings } from './telemetry/metrics.ts'
import { createTroubleLog } from './telemetry/trouble-log.ts'
import { type SideThread, type SideThreadOptions, startSideThread } from './thread.ts'
import type { DemoApi } from './try-it.ts'
import { readVersion } from './version.ts'

/** The threads for back offices and people, beside gate and engine. */
export interface BackOffice {
  /** Of those that were asked for. */
  readonly states: Readonly<Record<string, SideThread<never>['state']>>
  /** Why money does not arrive; '' while it does. */
  readonly transferProblem: string
  /** Null: there is no console. */
  readonly consolePort: number | null
  /** Another pack was checked. */
  setPack(pack: OfferedPack): void
  /** Resolves when all listen, or cannot. */
  started(): Promise<void>
  /** The gate takes events on this port. */
  relayListens(port: number): void
  stop(): Promise<void>
}

export interface BackOfficeOptions {
  readonly config: Config
  readonly clock: TrustedClock
  readonly gate: Gate
  /** Which the gate speaks. */
  readonly profile: Profile
  readonly sink: LogSink
  /** Filled in for a demo; else null. */
  readonly demoApi: DemoApi | null
  /** What the gate has counted for the console; null when there is none. */
  readonly flow: Flow | null
  readonly readiness: () => Readiness
  /** Something cannot start, and starting again would not help. */
  readonly refuse: (message: string) => void
}

const stopMs = 12_000
const figuresMs = 1_000

export function startBackOffice(options: BackOfficeOptions): BackOffice {
  const { clock, gate, flow } = options
  const startedMs = clock.nowMs()
  const relayPort = new Int32Array(new SharedArrayBuffer(4))
  let oldestTransferMs = 0
  const api = startApi(options, relayPort, (oldestMs) => {
    oldestTransferMs = oldestMs
  })
  const seeding = startSeeding(options)
  let consolePort: number | null = null
  const console = startConsole(options, (port) => {
    consolePort = port
  })
  const timer = setInterval(() => {
    const work = gate.engine.figures?.backOffice ?? null
    // Its thread tells it else, and more exactly.
    if (api?.state !== 'serving' && work !== null) {
      oldestTransferMs = tellWork(work, gate.metrics, startedMs)
    }
    if (console === null || flow === null) return
    console.give({
      atMs: clock.nowMs(),
      flow: flow.take(),
      gauges: gaugesOf(gate.readings()),
      readiness: options.readiness(),
      rulesVersion: gate.engine.rulesVersion,
    })
  }, figuresMs)
  timer.unref()
  return {
    get states() {
      return {
        ...(api === null ? {} : { api: api.state }),
        ...(console === null ? {} : { console: console.state }),
      }
    },
    get transferProblem() {
      return slowTransferProblem(oldestTransferMs)
    },
    get consolePort() {
      return consolePort
    },
    setPack: (pack) => api?.give(pack),
    relayListens(port) {
      relayPort[0] = port
    },
    async started() {
      await Promise.all([api?.started(), console?.started()])
    },
    async stop() {
      clearInterval(timer)
      await Promise.all([api?.stop(stopMs), console?.stop(stopMs), seeding.stop()])
    },
  }
}

/** Asks the log for what a new pack looks at and the records do not know from before. */
function startSeeding({ gate, config, clock, sink }: BackOfficeOptions): SeedingWatch {
  const { redis, dataDir, engineHeapMb } = config
  const { logger } = sink
  return watchSeeding({
    heapMb: engineHeapMb,
    monoMs: clock.monoMs,
    unseeded: () => (gate.engine.alive ? (gate.engine.figures?.unseeded ?? 0) : 0),
    settings() {
      const { pack, engine, instance } = gate
      if (pack === null) return null
      const { rulesVersion } = engine
      return { redis, dataDir, time: clock.time, pack: pack.bytes, rulesVersion, instance }
    },
    onDone({ rulesVersion, entries, accounts, skipped }) {
      const told = { rulesVersion, entries, accounts, skipped }
      logger.info(told, 'what new rules look at was told by the log: they enforce from now on')
    },
    onTrouble: (message) => logger.warn(message),
  })
}

/** In V8's 48 what is at work for many calls at once fills it, and is copied again and again. */
const apiYoungHeapMb = 192

type Listeners = Pick<SideThreadOptions<never>, 'heapMb' | 'onRefused' | 'onTrouble'>

function listenersOf({ config, sink, refuse }: BackOfficeOptions): Listeners {
  const onTrouble = createTroubleLog(sink.logger)
  return { heapMb: config.engineHeapMb, onRefused: refuse, onTrouble }
}

/** The management plane; null when it was not asked for. */
function startApi(
  options: BackOfficeOptions,
  relayPort: Int32Array<SharedArrayBuffer>,
  onTransfers: (oldestMs: number) => void,
): SideThread<OfferedPack> | null {
  const { config, clock, gate, sink, demoApi } = options
  const { logger } = sink
  const { api: served } = config
  if (served === null) return null
  try {
    const keys = readSecretKeys(config, (file) =>
      logger.warn({ file }, 'made a key for the secrets in the store: keep it, and keep it apart'),
    )
    const { redis, dataDir, sandbox, eventRetentionDays, webhookRetentionDays } = config
    const atWork = new Int32Array(new SharedArrayBuffer(4))
    const logCall = createApiLog(sink)
    const api: SideThread<OfferedPack> = startSideThread<ToldByApi, OfferedPack>({
      ...listenersOf(options),
      youngHeapMb: apiYoungHeapMb,
      name: 'the management API',
      file: new URL('api/worker.js', programFolder),
      settings: () =>
        ({
          ...served,
          redis,
          dataDir,
          keys,
          sandbox,
          eventRetentionDays,
          webhookRetentionDays,
          outgoingProxy: config.outgoingProxy,
          time: clock.time,
          openDecisions: gate.slots.shown,
          atWork,
          pack: gate.pack,
          version: readVersion(),
          relay: relayTarget(options, relayPort),
          demo: demoApi !== null && isTriable(config),
        }) satisfies ApiWorkerSettings,
      onTold({ calls, demoClient, projection, pending, transfers }) {
        gate.metrics.processing(Atomics.load(atWork, 0))
        if (projection !== undefined) gate.metrics.projection(projection)
        if (pending !== undefined) gate.metrics.webhooks(pending)
        if (transfers !== undefined) {
          gate.metrics.transfers(transfers)
          onTransfers(transfers.oldestMs)
        }
        if (demoApi !== null && demoClient !== undefined) demoApi.client = demoClient
        for (const call of calls) {
          gate.metrics.apiCall(call)
          logCall(call)
        }
      },
      onListening(apiPort) {
        logger.info({ apiPort }, 'serving the management API')
        if (demoApi !== null) demoApi.port = apiPort
        // It may have changed while the thread started.
        if (gate.pack !== null) api.give(gate.pack)
      },
    })
    return api
  } catch (error) {
    if (!(error instanceof SecretKeyMissing)) throw error
    options.refuse(error.message)
    return null
  }
}

/** What a sandbox sends its card events with; null where the relay must show a certificate, or TLS is spoken. */
function relayTarget(
  { config: { host, tls, relayAuthentication: authentication }, profile }: BackOfficeOptions,
  port: Int32Array<SharedArrayBuffer>,
): RelayTarget | null {
  if (tls !== null || authentication.mode === 'mtls') return null
  return { host: reachableHost(host), port, authentication, profile: profile.source }
}

/** A line to paste can call it: on this machine, without a certificate or another name. */
function isTriable({ api, sandbox }: Config): boolean {
  if (api === null || !sandbox) return false
  return isLoopback(api.host) && api.tls === null && api.publicUrls.length === 0
}

/** The console; null when it was not asked for. */
function startConsole(
  options: BackOfficeOptions,
  onPort: (port: number) => void,
): SideThread<Given> | null {
  const { config, clock, gate, sink } = options
  if (config.console === null) return null
  const { redis, dataDir, rulesDir, sandbox, eventRetentionDays, budgetMs } = config
  const settings: ConsoleWorkerSettings = {
    ...config.console,
    redis,
    dataDir,
    rulesDir,
    sandbox,
    eventRetentionDays,
    budgetMs,
    instance: gate.instance,
    time: clock.time,
    version: readVersion(),
  }
  return startSideThread<never, Given>({
    ...listenersOf(options),
    name: 'the console',
    file: new URL('console/worker.js', programFolder),
    settings: () => settings,
    onTold: () => {},
    onListening(consolePort) {
      onPort(consolePort)
      sink.logger.info({ consolePort }, 'serving the console')
    },
  })
}

function gaugesOf(readings: Readings): Gauges {
  const { engine } = readings
  return {
    slotsOpen: readings.slotsOpen,
    queued: engine?.queued ?? 0,
    unbooked: readings.unbooked,
    unheard: readings.unheard,
    journalBytes: readings.journalBytes,
    journalInPlace: readings.journalInPlace,
    storeAvailable: readings.storeAvailable,
    engineRunning: readings.engineRunning,
    engineRestarts: readings.engineRestarts,
    blocks: engine?.blocks ?? 0,
    trippedRules: engine?.trippedRules.length ?? 0,
    unmatched: engine?.waiting.unmatched ?? 0,
    anomalies: engine?.waiting.anomalies ?? 0,
    connections: readings.connections.open,
    conflicts: engine?.conflicts ?? 0,
    cachedAccounts: engine?.cachedAccounts ?? 0,
    loopLagMs: readings.gateLoopLagMs,
  }
}
