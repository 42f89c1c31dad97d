import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { Recall } from '../engine/memory/recall.ts'
import type { FindingCounts } from '../engine/notice/finding-counts.ts'
import type { RuleCount } from '../engine/notice/rule-counts.ts'
import type { EngineFigures } from '../engine/stats.ts'
import { refusalCodes } from '../wire/refusal.ts'
import { type AnswerCounts, createAnswerCounts } from './answer-counts.ts'
import { createFindingMetrics, createRuleMetrics } from './decision-metrics.ts'
import { createGauges, type GaugeRow } from './gauge-table.ts'
import { createManagementMetrics, type ManagementMetrics } from './management-metrics.ts'

/** Figures that are read when somebody asks for them. */
export interface Readings {
  readonly slotsOpen: number
  readonly unbooked: number
  readonly unheard: number
  readonly damagedWaiting: number
  readonly journalBytes: number
  readonly journalFailures: number
  readonly journalInPlace: boolean
  readonly engineRunning: boolean
  readonly engineRestarts: number
  readonly storeAvailable: boolean
  readonly clockTrusted: boolean
  readonly gateLoopLagMs: number
  readonly recall: Pick<Recall, 'size' | 'forgotten' | 'losses'>
  readonly connections: { readonly open: number; readonly proven: number; readonly cut: number }
  readonly logDropped: number
  readonly engine: EngineFigures | null
}

/** As Prometheus reads them. */
export interface ShownMetrics {
  text(): Promise<string>
  readonly contentType: string
}

export interface PackMetrics {
  rules(version: string, loaded: boolean): void
  /** A pack was offered: what became of it. */
  rulesLoaded(result: 'loaded' | 'refused'): void
}

export interface Metrics extends ManagementMetrics, PackMetrics, ShownMetrics {
  readonly answered: AnswerCounts['count']
  refused(status: number): void
  /** The relay's profile does not know what it is; it was acknowledged. */
  unknownKind(): void
  ruleCounts(counts: readonly RuleCount[]): void
  findings(counts: FindingCounts): void
}

export function createMetrics(read: () => Readings): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const registers = [registry]
  const answers = createAnswerCounts(registry)
  const refusals = new Counter({
    name: 'arbiter_refusals_total',
    help: 'Requests that never became an event, by HTTP status',
    labelNames: ['status'],
    registers,
  })
  // From the start, for an alert sees no growth in what begins with its first refusal.
  for (const status of Object.keys(refusalCodes)) if (status !== '200') refusals.inc({ status }, 0)
  const unknownKinds = new Counter({
    name: 'arbiter_unknown_kinds_total',
    help: 'Messages acknowledged though the relay profile does not know their kind',
    registers,
  })
  const rules = createRuleMetrics(registers)
  const findings = createFindingMetrics(registers)
  const showReadings = createGauges(registers, gauges)
  return {
    contentType: registry.contentType,
    answered: answers.count,
    refused: (status) => refusals.inc({ status: String(status) }),
    ...createManagementMetrics(registers),
    unknownKind: () => unknownKinds.inc(),
    ...createPackMetrics(registers),
    ruleCounts: rules,
    findings,
    text() {
      showReadings(read())
      answers.show()
      return registry.metrics()
    },
  }
}

/** Of a process that serves the management API alone, by the names that a server has for the same. */
export function createServiceMetrics(
  read: () => ServiceReadings,
): ManagementMetrics & PackMetrics & ShownMetrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const registers = [registry]
  const showReadings = createGauges(registers, serviceGauges)
  return {
    contentType: registry.contentType,
    ...createManagementMetrics(registers),
    ...createPackMetrics(registers),
    text() {
      showReadings(read())
      return registry.metrics()
    },
  }
}

function createPackMetrics(registers: Registry[]): PackMetrics {
  const packs = new Gauge({
    name: 'arbiter_rules_loaded',
    help: 'The version of the pack in use; 0 when its last reload was refused',
    labelNames: ['version'],
    registers,
  })
  const loads = new Counter({
    name: 'arbiter_rules_loads_total',
    help: 'Packs that were offered, by whether they were loaded or refused',
    labelNames: ['result'],
    registers,
  })
  return {
    rules(version, loaded) {
      packs.reset()
      packs.set({ version }, loaded ? 1 : 0)
    },
    rulesLoaded: (result) => loads.inc({ result }),
  }
}

type Reading = (readings: Readings) => number | null

type ServiceReadings = Pick<Readings, 'storeAvailable' | 'clockTrusted' | 'logDropped'>

const serviceGauges: readonly GaugeRow<ServiceReadings>[] = [
  ['arbiter_store_available', '1 while the store takes commits', (r) => Number(r.storeAvailable)],
  ['arbiter_clock_trusted', '0 while the clocks disagree', (r) => Number(r.clockTrusted)],
  ['arbiter_log_dropped', 'Log lines that could not be written in time', (r) => r.logDropped],
]

const ofEngine =
  (pick: (figures: EngineFigures) => number): Reading =>
  ({ engine }) =>
    engine === null ? null : pick(engine)

const gauges: readonly GaugeRow<Readings>[] = [
  ...serviceGauges,
  ['arbiter_slots_open', 'Deliveries waiting for their answer', (r) => r.slotsOpen],
  ['arbiter_unbooked', 'Default answers that the ledger does not follow yet', (r) => r.unbooked],
  ['arbiter_unheard', 'Answers too late, or that nobody was there to hear', (r) => r.unheard],
  [
    'arbiter_damaged_waiting',
    'Said about damaged accounts, and booked once they are repaired',
    (r) => r.damagedWaiting,
  ],
  [
    'arbiter_damaged_accounts',
    'Accounts that cannot be decided on, whole or in part',
    ofEngine((e) => e.damagedAccounts),
  ],
  [
    'arbiter_damaged_records',
    'Records of no account that cannot be read',
    ofEngine((e) => e.damagedRecords.length),
  ],
  ['arbiter_journal_bytes', 'Length of the journal', (r) => r.journalBytes],
  ['arbiter_journal_failures', 'Journal lines that could not be written', (r) => r.journalFailures],
  ['arbiter_journal_in_place', '0 once its file is gone', (r) => Number(r.journalInPlace)],
  ['arbiter_engine_running', '1 while an engine takes events', (r) => Number(r.engineRunning)],
  ['arbiter_engine_restarts', 'Engines started again since the start', (r) => r.engineRestarts],
  ['arbiter_gate_loop_lag_ms', 'Longest delay of the gate loop of late', (r) => r.gateLoopLagMs],
  ['arbiter_connections', 'Connections of the relay port', (r) => r.connections.open],
  ['arbiter_connections_proven', 'Those that the relay has', (r) => r.connections.proven],
  ['arbiter_connections_cut', 'Connections closed by a bound', (r) => r.connections.cut],
  ['arbiter_engine_loop_lag_ms', 'The same of the engine loop', ofEngine((e) => e.loopLagMs)],
  ['arbiter_engine_heap_bytes', 'Heap that the engine uses', ofEngine((e) => e.heapUsedBytes)],
  ['arbiter_engine_queued', 'Items in the engine', ofEngine((e) => e.queued)],
  ['arbiter_engine_decided', 'Items decided since its start', ofEngine((e) => e.decided)],
  ['arbiter_store_commits', 'Calls of commit since its start', ofEngine((e) => e.commits)],
  ['arbiter_store_commands', 'Accounts committed since its start', ofEngine((e) => e.commands)],
  ['arbiter_store_conflicts', 'Commits that met another version', ofEngine((e) => e.conflicts)],
  ['arbiter_store_loads', 'Reads of the store since its start', ofEngine((e) => e.loads)],
  ['arbiter_store_losses', 'Times the store lacked what it acknowledged', (r) => r.recall.losses],
  ['arbiter_remembered', 'Answers kept in case the store loses them', (r) => r.recall.size],
  [
    'arbiter_forgotten',
    'Of them, let go before they were known to be kept',
    (r) => r.recall.forgotten,
  ],
  ['arbiter_repeated', 'Answers booked again after failovers', ofEngine((e) => e.repeated)],
  ['arbiter_blocks', 'Emergency blocks that count now', ofEngine((e) => e.blocks)],
  [
    'arbiter_rules_tripped',
    'Rules that their breakers have put into shadow',
    ofEngine((e) => e.trippedRules.length),
  ],
  [
    'arbiter_rules_seeding',
    'Rules that only record until what they look at has filled',
    ofEngine((e) => e.seedingRules.length),
  ],
  [
    'arbiter_unmatched_waiting',
    'Advices of all instances that wait for people; 1000 is 1000 or more',
    ofEngine((e) => e.waiting.unmatched),
  ],
  [
    'arbiter_anomalies_waiting',
    'Anomalies of all instances that nobody has marked as done; 1000 is 1000 or more',
    ofEngine((e) => e.waiting.anomalies),
  ],
  ['arbiter_rules_skew', 'Other live instances with another pack', ofEngine((e) => e.rulesSkew)],
  ['arbiter_shared_window_keys', 'What windows over all cards keep', ofEngine((e) => e.sharedKeys)],
  ['arbiter_cache_accounts', 'Accounts in memory', ofEngine((e) => e.cachedAccounts)],
  ['arbiter_cache_bytes', 'Estimated bytes of them', ofEngine((e) => e.cachedBytes)],
  ['arbiter_cache_hits', 'Accounts found in memory', ofEngine((e) => e.cacheHits)],
  ['arbiter_cache_misses', 'Accounts that had to be read', ofEngine((e) => e.cacheMisses)],
]
