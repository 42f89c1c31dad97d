import { randomBytes } from 'node:crypto'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { TrustedClock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { contractMs } from '../contract-limit.ts'
import type { OfferedPack } from '../engine/pack-swap.ts'
import { type Connections, createConnections } from '../http/connections.ts'
import { withinOpenFiles } from '../http/open-files.ts'
import type { Profile } from '../profile/profile.ts'
import type { LogSink } from '../telemetry/logger.ts'
import { maskPan } from '../telemetry/mask.ts'
import { createMetrics, type Metrics, type Readings } from '../telemetry/metrics.ts'
import { createPacedLog } from '../telemetry/paced-log.ts'
import { createStoreProblem } from '../telemetry/store-problem.ts'
import { createTroubleLog } from '../telemetry/trouble-log.ts'
import type { Authenticate } from '../wire/authentication.ts'
import { type EngineThread, startEngineThread } from './engine-thread.ts'
import type { Journal } from './journal/journal.ts'
import { type OrganizationDefaults, openOrganizationDefaults } from './organization-defaults.ts'
import { packSettings, type RulesResult, startPackReload } from './pack-reload.ts'
import { type GateOnlooker, openRelayPort } from './relay-port.ts'
import { createSlots, type Slots } from './slots.ts'

export interface GateOptions {
  readonly config: Config
  readonly clock: TrustedClock
  readonly log: LogSink
  readonly journal: Journal
  readonly profile: Profile
  readonly authenticate: Authenticate
  readonly demo: boolean
  /** Another pack than before was checked. */
  readonly onPack?: (pack: OfferedPack) => void
  readonly onRefused: (message: string) => void
  /** Looks on for people; null when nobody does. */
  readonly onlooker: GateOnlooker | null
}

export interface Gate {
  readonly server: FastifyInstance
  readonly engine: EngineThread
  readonly slots: Slots
  readonly metrics: Metrics
  /** The name that other instances know this one by. */
  readonly instance: string
  readings(): Readings
  /** The newest pack that was checked; null until there is one. */
  readonly pack: OfferedPack | null
  /** What was wrong with the pack that was offered last; '' when it is in use. */
  readonly rulesProblem: string
  /** Why what the watchdog says cannot be kept; '' while the journal is in its place. */
  readonly journalProblem: string
  /** Why the store takes no commits; '' while it does. */
  readonly storeProblem: string
  reloadRules(): Promise<RulesResult>
  /** Resolves when the first engine takes events, or has failed: then it is tried again, and again. */
  started(): Promise<void>
  /**
   * Answers what is pending, books what was said, and closes. Resolves to false where the disk hangs: the journal has
   * what was said, but cannot be closed.
   */
  stop(): Promise<boolean>
}

/** The journal must be flushed by then: 50 ms before the contract limit. */
const lastCallMs = 350
const maxOpenSlots = 20_000
const sweepMs = 5
const bookingMs = 5_000
const engineStopMs = 10_000
/** A disk that is only slow has closed it by then. */
const journalStopMs = 5_000

/** HTTP, slots, watchdog and the engine's thread, wired together. */
export async function openGate(options: GateOptions): Promise<Gate> {
  const { config, clock, log, journal, onlooker } = options
  const { logger } = log
  const startWaiters: (() => void)[] = []
  const instance = newNonce()
  const organizations = openOrganizationDefaults(config.dataDir, config.defaultDecision)
  const storeProblem = createStoreProblem(logger)
  const engine = startEngineThread({
    clock,
    settings: { ...engineSettings(config), demo: options.demo, instance, time: clock.time },
    newNonce,
    heapMb: config.engineHeapMb,
    heartbeatMs: config.heartbeatMs,
    onAnswer: (slot, answer, origin) => slots.onAnswer(slot, answer, origin),
    onBooked: (slot) => slots.onBooked(slot),
    onStandIn: (slot) => slots.onStandIn(slot),
    onSetAside: (slot, mayStillCommit) => slots.onSetAside(slot, mayStillCommit),
    onDamage(damaged, problem) {
      const record = maskPan(damaged)
      if (problem === '') logger.info({ record }, 'the record can be read again')
      else logger.error({ record, problem }, 'damaged: set aside, see arbiter damaged')
    },
    onStart() {
      slots.onEngineStart()
      packs.onEngine('the engine takes events', '')
      for (const tell of startWaiters.splice(0)) tell()
    },
    onEnd() {
      // The store may be away for long: till then the default decision answers, and is booked later.
      if (packs.pack !== null) for (const tell of startWaiters.splice(0)) tell()
    },
    onRefused: options.onRefused,
    onRules: (problem) => packs.onEngine('the pack is in use', problem),
    onRuleCounts(counts) {
      metrics.ruleCounts(counts)
      onlooker?.ruleCounts(counts)
    },
    onFindings: (counts) => metrics.findings(counts),
    onOrganizations: organizations.learn,
    onTrouble: createTroubleLog(logger),
    onStore: storeProblem.note,
    onClock(newestMs, serverOffsetsMs) {
      clock.remember(newestMs)
      clock.hear(serverOffsetsMs)
    },
  })

  const packs = startPackReload({
    settings: packSettings(config),
    heapMb: config.engineHeapMb,
    engine,
    metrics: () => metrics,
    logger,
    onPack: options.onPack,
    onRefused: options.onRefused,
  })

  let journalFailures = 0
  const slots = openSlots(options, engine, organizations.of, () => {
    journalFailures++
  })

  const connections = openConnections(config, log)
  const loopLag = monitorEventLoopDelay({ resolution: 10 })
  loopLag.enable()
  const metrics = createMetrics(() => {
    const read = readings()
    loopLag.reset()
    return read
  })
  function readings(): Readings {
    return {
      slotsOpen: slots.size,
      unbooked: slots.unbooked,
      unheard: slots.unheard,
      damagedWaiting: slots.damaged,
      journalBytes: journal.lengthBytes,
      journalFailures,
      journalInPlace: journal.whereabouts === '',
      engineRunning: engine.alive,
      engineRestarts: engine.restarts,
      storeAvailable: engine.storeAvailable,
      clockTrusted: clock.doubt === '',
      gateLoopLagMs: loopLag.max / 1e6,
      recall: engine.recall,
      connections,
      logDropped: log.dropped,
      engine: engine.figures,
    }
  }

  const server = await openRelayPort({ ...options, slots, connections, metrics })
  const sweeping = setInterval(slots.sweep, sweepMs)

  async function stop(): Promise<boolean> {
    await server.close()
    await slots.drained()
    clearInterval(sweeping)
    const untilMonoMs = clock.monoMs() + bookingMs
    // What waits for a repair is booked after another start.
    const booking = () => slots.unbooked > (engine.figures?.setAside ?? 0)
    while (booking() && engine.alive && clock.monoMs() < untilMonoMs) {
      await sleep(10)
    }
    await packs.stop()
    await engine.stop(engineStopMs)
    loopLag.disable()
    const closed = journal.close().then(() => true)
    return Promise.race([closed, sleep(journalStopMs, false)])
  }

  return {
    server,
    engine,
    slots,
    metrics,
    instance,
    readings,
    get pack() {
      return packs.pack
    },
    get rulesProblem() {
      return packs.problem
    },
    get storeProblem() {
      return storeProblem.text
    },
    get journalProblem() {
      return journal.whereabouts
    },
    reloadRules: packs.reload,
    started() {
      if (engine.alive) return Promise.resolve()
      return new Promise((resolve) => startWaiters.push(resolve))
    },
    stop,
  }
}

function openSlots(
  { config, clock, log, journal }: GateOptions,
  engine: EngineThread,
  defaultDecisionOf: OrganizationDefaults['of'],
  onJournalFailure: () => void,
): Slots {
  // A disk that is full or slow fails every line, and its log may be on it.
  const logFailure = createPacedLog<string>(
    () => '',
    (count, problem) => log.logger.error({ problem, count }, 'the journal cannot be written'),
  )
  const slots = createSlots({
    clock,
    link: engine,
    journal: {
      append(line, withinMs) {
        return journal.append(line, withinMs).catch((error: Error) => {
          onJournalFailure()
          logFailure(error.message)
          throw error
        })
      },
      drop: (slot) => journal.drop(slot),
    },
    incarnation: newNonce(),
    budgetMs: config.budgetMs,
    lastCallMs,
    contractMs,
    defaultDecisionOf,
    maxOpen: maxOpenSlots,
    trouble() {
      if (engine.state === 'starting') return 'starting'
      if (engine.state !== 'running') return 'engineDown'
      return engine.storeAvailable ? '' : 'storeUnavailable'
    },
    rulesVersion: () => engine.rulesVersion,
  })
  slots.restore(journal.pending())
  return slots
}

function engineSettings(config: Config) {
  const { redis, dataDir, sandbox, cacheCards, eventRetentionDays, logRetentionDays } = config
  return {
    redis,
    dataDir,
    sandbox,
    cacheCards,
    eventRetentionDays,
    logRetentionDays,
    // The other half is for what is being decided, the pack, and the collector to work in.
    cacheBytes: config.engineHeapMb * 2 ** 19,
  }
}

function openConnections(config: Config, { logger }: LogSink): Connections {
  const { maxBodyBytes } = config
  const maxConnections = withinOpenFiles(config.maxConnections)
  if (maxConnections < config.maxConnections) {
    logger.warn({ maxConnections }, 'the limit of open files leaves fewer than MAX_CONNECTIONS')
  }
  return createConnections({ maxConnections, maxBodyBytes })
}

function newNonce(): string {
  return randomBytes(6).toString('base64url')
}
