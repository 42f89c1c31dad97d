import type { SaidDelivery } from '../domain/decide/delivery.ts'
import type { Pack } from '../domain/decide/pack.ts'
import { countShared } from '../domain/decide/shared-window.ts'
import { createRequests, type Requests } from './change/requests.ts'
import { accountAggregate } from './format/layout.ts'
import type { HandedDelivery } from './item.ts'
import { type CachedAccount, createCache } from './memory/cache.ts'
import { createDirectory, type Directory } from './memory/directory.ts'
import { createFindingCounts, type FindingCounts } from './notice/finding-counts.ts'
import { createRuleCounts, type RuleCount } from './notice/rule-counts.ts'
import { createOpenDeliveries } from './open-deliveries.ts'
import type { EngineOptions } from './options.ts'
import type { Damage } from './quarantine/damage.ts'
import {
  createQuarantine,
  type Quarantine,
  type QuarantineOptions,
} from './quarantine/quarantine.ts'
import { createDeciding } from './queue/deciding.ts'
import { createDepartures, type Flight } from './queue/departures.ts'
import { createLandings } from './queue/landings.ts'
import { createPatience } from './queue/patience.ts'
import { createPlacing } from './queue/placing.ts'
import { createQueues } from './queue/queue.ts'
import { createReading, type Lacking } from './queue/reading.ts'
import { createStoreWatch } from './queue/store-watch.ts'
import { createTurns } from './queue/turns.ts'
import { createRepetition, type Repetition, type RepetitionOptions } from './repetition.ts'
import { createStandInDesk } from './stand-in/desk.ts'
import { createStandInWatch } from './stand-in/watch.ts'
import type { EngineStats } from './stats.ts'

export interface Engine extends Requests {
  readonly directory: Directory
  /** A delivery whose answer is ours. */
  deliver(delivery: HandedDelivery): void
  /** The gate has answered by default; the ledger follows, and `onBooked` tells when it has. */
  say(delivery: HandedDelivery & SaidDelivery): void
  /** A part of what the relay was told; with the last of them it begins to be booked again. */
  recall(told: readonly string[], last: boolean): void
  /** What came of a look at the store by somebody else: '', or why it failed. */
  noteLook(problem: string): void
  setPack(pack: Pack): void
  /** The one that it decides by now. */
  pack(): Pack
  newVersion(): string
  /** What keeps accounts from being decided on, as far as it was met. */
  damaged(limit: number): readonly Damage[]
  stats(): EngineStats
  /** What the rules have done since the last call. */
  takeRuleCounts(): readonly RuleCount[]
  /** What people were given to look at since the last call. */
  takeFindings(): FindingCounts
  /** Resolves when nothing waits or is in flight. */
  idle(): Promise<void>
  /** Nothing is answered or begun any more. */
  stop(): void
}

/** While the store writes one portion, the next is decided. */
const maxAccountsPerTurn = 32

export function createEngine(options: EngineOptions): Engine {
  const { store, clock, random = Math.random, isRetired } = options
  const cache = createCache(options.cacheCards, options.cacheBytes)
  const queues = createQueues()
  const directory = createDirectory(store, options.cacheCards)
  const turns = createTurns({ work, isBusy, isRetired })
  const { schedule, isOver } = turns
  const core = { ...options, random, cache, queues, directory, schedule, isOver, pack: () => pack }
  const quarantine = quarantineOf(options, (items) => {
    for (const item of items) if (bySlot.get(item.slot) === item) placing.place(item)
  })
  const standIns = createStandInDesk(clock)
  const storeWatch = createStoreWatch(store, isBusy, (problem, isTurn) => {
    if (isTurn) standIns.onStore(problem === '')
    options.onStore?.(problem)
  })
  const noteStore = storeWatch.note
  const repetition = repetitionOf(core, (aggregate, stray) => {
    for (const item of toldAt(aggregate)) queues.enqueue(aggregate, stray, item)
    schedule()
  })
  const ruleCounts = createRuleCounts()
  const findings = createFindingCounts()
  const placing = createPlacing({
    ...core,
    onDamaged: (item, damage) => deciding.letGo(item, damage),
    noteStore,
  })
  const open = createOpenDeliveries({
    ...core,
    repetition,
    place: placing.place,
    isStoreAvailable: () => storeWatch.isAvailable,
    onStep(item, step) {
      ruleCounts.note(item.event, step)
      countShared(pack, item.event, step)
      findings.note(step)
    },
  })
  const { bySlot, toldAt } = open
  const standInWatch = createStandInWatch({
    ...core,
    desk: standIns,
    open: bySlot,
    memoryOf,
    onStandIn: (slot) => options.onStandIn?.(slot),
  })
  store.onCrowded?.((aggregate) => {
    const queue = queues.find(aggregate)
    if (queue !== undefined) queue.crowded = true
  })
  const departures = createDepartures({
    ...core,
    noteStore,
    onArrived(flight, outcome, sentMonoMs) {
      if (outcome === 'committed') landings.finish(flight, sentMonoMs)
      else landings.retry(flight, outcome)
    },
  })
  const isContested = () => landings.isContested
  const met = { placing, quarantine, bySlot, repetition, toldAt, isContested }
  const deciding = createDeciding({ ...core, ...met, newVersion })
  const requests = createRequests(queues, schedule)
  const patience = createPatience(core)
  const landings = createLandings({ ...core, open, patience, standIns, storeWatch })
  const { backOff } = landings
  const reading = createReading({ ...core, noteStore, backOff })
  let pack = sharing(options.pack)
  let versions = 0

  function memoryOf(cardId: string): CachedAccount | undefined {
    const accountId = directory.accountOf(cardId)
    if (accountId === undefined) return undefined
    const aggregate = accountAggregate(accountId)
    return standIns.kept(aggregate) ?? cache.find(aggregate)
  }

  function sharing(next: Pack): Pack {
    const { shared } = options
    return next.sharedWindows === undefined || shared === undefined ? next : { ...next, shared }
  }

  function newVersion(): string {
    return `${options.nonce}.${(versions++).toString(36)}`
  }

  function work(): void {
    placing.resolve()
    const flights: Flight[] = []
    const reads: Lacking[] = []
    for (const queue of queues.takeReady(maxAccountsPerTurn)) {
      const flight = deciding.decideNext(queue)
      if (flight === null) continue
      const { wanted, command } = flight.batch
      if (wanted.length > 0) reads.push({ queue, wanted })
      else if (command === null) landings.finish(flight, clock.monoMs())
      else flights.push(flight)
    }
    departures.add(flights)
    if (reads.length > 0) void reading.read(reads)
    if (queues.hasReady) schedule()
    cache.trim(queues.isOpen)
  }

  function isBusy(): boolean {
    return bySlot.size > quarantine.kept || queues.size > 0 || repetition?.isBusy === true
  }

  return {
    directory,
    newVersion,
    deliver(delivery) {
      open.deliver(delivery)
      if (pack.switches.standIn !== null) standInWatch.begin()
    },
    say: open.say,
    recall: (told, last) => repetition?.recall(told, last),
    noteLook: (problem) => storeWatch.note(problem, 'read'),
    ...requests,
    setPack(next) {
      pack = sharing(next)
      quarantine.retryDecisions()
    },
    pack: () => pack,
    damaged: quarantine.list,
    stats: () => ({
      conflicts: landings.conflicts,
      loads: reading.loads,
      decided: deciding.decided,
      commits: departures.commits,
      commands: departures.commands,
      repeated: open.repeated,
      queued: bySlot.size,
      cachedAccounts: cache.size,
      cachedBytes: cache.bytes,
      cacheHits: cache.hits,
      cacheMisses: cache.misses,
      recalled: repetition?.size ?? 0,
      damagedAccounts: quarantine.accounts,
      setAside: quarantine.kept,
    }),
    takeRuleCounts: ruleCounts.take,
    takeFindings: findings.take,
    idle: turns.idle,
    stop() {
      standInWatch.stop()
      quarantine.stop()
      storeWatch.stop()
      turns.stop()
    },
  }
}

function quarantineOf(
  { store, clock, onDamage }: EngineOptions,
  release: QuarantineOptions['release'],
): Quarantine {
  return createQuarantine({
    store,
    clock,
    onDamage: (damage) => onDamage?.(damage, false),
    onHealed: (damage) => onDamage?.(damage, true),
    release,
  })
}

interface Core
  extends Omit<EngineOptions, 'pack'>,
    Pick<RepetitionOptions, 'isOver' | 'directory'> {
  readonly schedule: () => void
}

/** Null where the store loses nothing that it acknowledged. */
function repetitionOf(core: Core, book: RepetitionOptions['book']): Repetition | null {
  const { store, directory, isOver, schedule } = core
  if (store.losses === undefined) return null
  return createRepetition({
    losses: store.losses,
    directory,
    book,
    isOver,
    onLoss: () => core.onLoss?.(),
    onRepeated() {
      core.onRepeated?.()
      schedule()
    },
    onCheckpoint: (number) => core.onCheckpoint?.(number),
    onKept: (number) => core.onKept?.(number),
  })
}
