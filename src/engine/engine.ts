import { answerDelivery } from '../domain/decide/answer.ts'
import type { SaidDelivery } from '../domain/decide/delivery.ts'
import type { Pack } from '../domain/decide/pack.ts'
import { countShared } from '../domain/decide/shared-window.ts'
import type { Operation } from '../domain/operation/operation.ts'
import type { OperationOutcome } from '../domain/operation/outcome.ts'
import { type PartOutcome, StoreError } from '../store/port.ts'
import { type Batch, damageOf, decideBatch } from './batch.ts'
import { type AccountChange, abandon, newChange, settle } from './change/account-change.ts'
import { accountAggregate, strayAggregate } from './format/layout.ts'
import type { HandedDelivery, Item } from './item.ts'
import { type CachedAccount, createCache } from './memory/cache.ts'
import { createDirectory, type Directory } from './memory/directory.ts'
import { checkRoot, type Wanted } from './memory/working-book.ts'
import { createFindingCounts, type FindingCounts } from './notice/finding-counts.ts'
import { createRuleCounts, type RuleCount } from './notice/rule-counts.ts'
import { createOpenDeliveries } from './open-deliveries.ts'
import type { EngineOptions } from './options.ts'
import { type Damage, nameOfDamage } from './quarantine/damage.ts'
import { createQuarantine } from './quarantine/quarantine.ts'
import { createDepartures, type Flight } from './queue/departures.ts'
import { createPatience } from './queue/patience.ts'
import { createPlacing } from './queue/placing.ts'
import { createQueues, type Queue } from './queue/queue.ts'
import { createRepetition } from './repetition.ts'
import { createStandInDesk } from './stand-in/desk.ts'
import { createStandInWatch } from './stand-in/watch.ts'
import type { EngineStats } from './stats.ts'

export interface Engine {
  readonly directory: Directory
  /** A delivery whose answer is ours. */
  deliver(delivery: HandedDelivery): void
  /** The gate has answered by default; the ledger follows, and `onBooked` tells when it has. */
  say(delivery: HandedDelivery & SaidDelivery): void
  /** A part of what the relay was told; with the last of them it begins to be booked again. */
  recall(told: readonly string[], last: boolean): void
  /** The origin names who did it, for the log; '' for the command line. */
  operate(
    accountId: string,
    operation: Operation,
    reason: string,
    origin?: string,
  ): Promise<OperationOutcome>
  /**
   * Resolves after the commit. Rejects with a StoreError when the store could not be used for long, with
   * what is known of the outcome, and with what `decide` throws.
   */
  change<T>(change: AccountChange<T>): Promise<T>
  /** The same as `operate` where events are kept whose card nobody knew. */
  operateStray(
    eventId: string,
    operation: Operation,
    reason: string,
    origin?: string,
  ): Promise<OperationOutcome>
  sweepTransaction(
    accountId: string,
    cardId: string,
    transactionId: string,
    sortKey: string,
  ): Promise<void>
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

const maxItemsPerCommand = 256
/** While the store writes one portion, the next is decided. */
const maxAccountsPerTurn = 32
/** Changes that wait or are on their way; those of deliveries are the gate's to bound. */
const maxChanges = 10_000
/** Tries in a row that did not commit, some six seconds of a store that is away: a call has ten. */
const maxChangeTries = 60

type Failure = Exclude<PartOutcome, 'committed'>

export function createEngine(options: EngineOptions): Engine {
  const { store, clock, random = Math.random } = options
  const cache = createCache(options.cacheCards, options.cacheBytes)
  const queues = createQueues()
  const directory = createDirectory(store, options.cacheCards)
  const quarantine = createQuarantine({
    store,
    clock,
    onDamage: (damage) => options.onDamage?.(damage, false),
    onHealed: (damage) => options.onDamage?.(damage, true),
    release(items) {
      for (const item of items) if (bySlot.get(item.slot) === item) placing.place(item)
    },
  })
  const standIns = createStandInDesk(clock)
  const { losses } = store
  const repetition =
    losses === undefined
      ? null
      : createRepetition({
          losses,
          directory,
          onLoss: () => options.onLoss?.(),
          onRepeated() {
            options.onRepeated?.()
            schedule()
          },
          onCheckpoint: (number) => options.onCheckpoint?.(number),
          onKept: (number) => options.onKept?.(number),
          book(aggregate, stray) {
            for (const item of open.toldAt(aggregate)) queues.enqueue(aggregate, stray, item)
            schedule()
          },
          isOver,
        })
  const ruleCounts = createRuleCounts()
  const findings = createFindingCounts()
  const placing = createPlacing({
    directory,
    queues,
    random,
    schedule,
    onDamaged: letGo,
    onUnavailable: () => setStoreAvailable(false),
  })
  const patience = createPatience({ queues, random, schedule })
  const open = createOpenDeliveries({
    ...options,
    repetition,
    place: placing.place,
    schedule,
    isStoreAvailable: () => storeAvailable,
    onStep(item, step) {
      ruleCounts.note(item.event, step)
      countShared(pack, item.event, step)
      findings.note(step)
    },
  })
  const { bySlot, toldAt } = open
  const standInWatch = createStandInWatch({
    clock,
    desk: standIns,
    open: bySlot,
    memoryOf,
    pack: () => pack,
    isOver,
    onStandIn: (slot) => options.onStandIn?.(slot),
  })
  store.onCrowded?.((aggregate) => {
    const queue = queues.find(aggregate)
    if (queue !== undefined) queue.crowded = true
  })
  store.onAvailable?.(setStoreAvailable)
  const departures = createDepartures({
    store,
    clock,
    isOver,
    onAvailable: setStoreAvailable,
    onArrived(flight, outcome, sentMonoMs) {
      if (outcome === 'committed') finish(flight, sentMonoMs)
      else retry(flight, outcome)
    },
  })
  const counts = { conflicts: 0, loads: 0, decided: 0 }
  let pack = sharing(options.pack)
  let versions = 0
  let changes = 0
  let scheduled = false
  let stopped = false
  let storeAvailable = true
  let idleWaiters: (() => void)[] = []

  function memoryOf(cardId: string): CachedAccount | undefined {
    const accountId = directory.accountOf(cardId)
    return accountId === undefined ? undefined : cache.find(accountAggregate(accountId))
  }

  function sharing(next: Pack): Pack {
    const { shared } = options
    return next.sharedWindows === undefined || shared === undefined ? next : { ...next, shared }
  }

  function isOver(): boolean {
    stopped ||= options.isRetired?.() === true
    return stopped
  }

  function newVersion(): string {
    return `${options.nonce}.${(versions++).toString(36)}`
  }

  /** What arrives in one turn of the loop is decided and committed together, in portions. */
  function schedule(): void {
    if (scheduled || stopped) return
    scheduled = true
    setImmediate(turn)
  }

  function turn(): void {
    scheduled = false
    if (stopped) return
    placing.resolve()
    const flights: Flight[] = []
    const reads: { queue: Queue; wanted: readonly Wanted[] }[] = []
    for (const queue of queues.takeReady(maxAccountsPerTurn)) {
      const flight = decideNext(queue)
      if (flight === null) continue
      const { wanted, command } = flight.batch
      if (wanted.length > 0) reads.push({ queue, wanted })
      else if (command === null) finish(flight, clock.monoMs())
      else flights.push(flight)
    }
    departures.add(flights)
    if (reads.length > 0) void read(reads)
    if (queues.hasReady) schedule()
    cache.trim(queues.isOpen)
    tellIdle()
  }

  /** The next batch of one aggregate, or null when nothing is left for it. */
  function decideNext(queue: Queue): Flight | null {
    const startedMonoMs = clock.monoMs()
    const cached = cache.open(queue.aggregate)
    if (repetition !== null && repetition.size > 0) {
      queues.giveBack(queue, toldAt(queue.aggregate))
    }
    // The directory names an account that was never opened: its cards are as good as unknown.
    const unopened = cached.loaded && cached.root === null && !queue.stray
    if (unopened) for (const item of queues.takeDeliveries(queue)) placing.enqueueStray(item)
    const items = queues.first(queue, queue.oneByOne ? 1 : maxItemsPerCommand)
    const condemned = options.condemned?.(queue.aggregate) ?? ''
    if (condemned !== '') {
      const damage = { aggregate: queue.aggregate, key: null, problem: condemned }
      setAside(
        queue,
        items.map((item) => ({ item, damage })),
      )
    }
    if (items.length === 0 || condemned !== '') {
      if (unopened) cache.drop(queue.aggregate)
      queues.arrive(queue)
      return null
    }
    const batch = tryBatch(queue, cached, items)
    // Only for this batch: what cannot be read is read again by the next that needs it.
    cached.reads?.unreadable.clear()
    if (batch === null) return null
    setAside(queue, batch.failed)
    if (batch.decided.length + batch.wanted.length === 0) {
      queues.arrive(queue)
      schedule()
      return null
    }
    queues.depart(queue, batch.decided.length)
    counts.decided += batch.decided.length
    return { queue, cached, batch, startedMonoMs, decideMs: clock.monoMs() - startedMonoMs }
  }

  /** null when memory had to be dropped: then its items are decided again, one by one. */
  function tryBatch(queue: Queue, cached: CachedAccount, items: readonly Item[]): Batch | null {
    const context = {
      pack,
      nowMs: clock.nowMs(),
      newVersion,
      answerDelivery: options.answerDelivery ?? answerDelivery,
      mayLose: losses !== undefined,
      shared: options.shared,
    }
    try {
      options.onTouch?.(queue.aggregate)
      const batch = decideBatch(cached, items, context)
      options.onTouch?.('')
      return batch
    } catch (error) {
      options.onTouch?.('')
      cache.drop(queue.aggregate)
      const [item] = items
      // Among several nobody knows which one it was.
      queue.oneByOne = items.length > 1
      if (items.length === 1 && item !== undefined) {
        setAside(queue, [{ item, damage: damageOf(error, queue.aggregate) }])
      }
      queues.arrive(queue)
      schedule()
      return null
    }
  }

  function setAside(queue: Queue, failed: Batch['failed']): void {
    if (failed.length === 0) return
    queues.takeOut(queue, new Set(failed.map(({ item }) => item)))
    for (const { item, damage } of failed) letGo(item, damage)
  }

  /** What the gate has said stays; what it has not said is the gate's to answer now. */
  function letGo(item: Item, damage: Damage): void {
    quarantine.note(damage)
    if (item.kind === 'sweep') item.done()
    else if (item.kind === 'operation') {
      const refused = `${nameOfDamage(damage)} is damaged (${damage.problem}): see arbiter damaged`
      item.done({ refused, changed: false })
    } else if (item.kind === 'change') {
      abandon(item, `${nameOfDamage(damage)} is damaged (${damage.problem})`)
    } else if (item.said !== null) quarantine.keep(item, damage)
    else {
      bySlot.delete(item.slot)
      options.onSetAside?.(item.slot, item.mayStillCommit)
    }
  }

  function setStoreAvailable(available: boolean): void {
    if (storeAvailable === available) return
    storeAvailable = available
    standIns.onStore(available)
    options.onStore?.(available)
  }

  /** Committed, or nothing had to be written: now, and only now, it may be said. */
  function finish(flight: Flight, sentMonoMs: number): void {
    const { queue, cached, batch, decideMs, startedMonoMs } = flight
    if (batch.command !== null) cached.version = batch.command.newVersion
    cache.settle(cached)
    // Another server may open it, and nothing that is said of what is not there is checked by a commit.
    if (cached.root === null) cache.drop(queue.aggregate)
    const commitMs = clock.monoMs() - sentMonoMs
    queue.failures = 0
    for (const item of batch.decided) {
      if (item.kind === 'sweep') item.done()
      else if (item.kind === 'operation') item.done(item.outcome)
      else if (item.kind === 'change') settle(item)
      else open.tell(item, { queueMs: startedMonoMs - item.enqueuedMonoMs, decideMs, commitMs })
    }
    if (queue.crowded) patience.giveWay(queue, commitMs)
    else queues.arrive(queue)
    schedule()
  }

  /** Another version is there, or may be: forget what memory held, read again, decide again. */
  function retry({ queue, cached, batch }: Flight, failure: Failure): void {
    if (failure === 'refused' || failure === 'unknown') standIns.keep(cached)
    cache.drop(queue.aggregate)
    if (failure === 'conflict') counts.conflicts++
    for (const item of batch.decided) {
      if (item.kind === 'change' && failure === 'unknown') item.mayStillCommit = true
      if (item.kind !== 'delivery') continue
      if (failure !== 'conflict') item.mayExist = true
      if (failure === 'unknown') item.mayStillCommit = true
      item.said ??= item.saidInFlight
      item.saidInFlight = null
    }
    queues.giveBack(queue, batch.decided)
    backOff(queue, failure === 'refused' || failure === 'unknown')
  }

  /** Events are tried for ever; who asked for a change is told, and can ask again. */
  function backOff(queue: Queue, storeFails: boolean): void {
    patience.backOff(queue, storeFails)
    if (queue.failures < maxChangeTries) return
    const over = queue.waiting.filter((item) => item.kind === 'change')
    queues.takeOut(queue, new Set(over))
    for (const item of over) abandon(item, 'the store takes no commits')
  }

  async function read(list: readonly { queue: Queue; wanted: readonly Wanted[] }[]): Promise<void> {
    const others: string[] = []
    const all = list.flatMap(({ queue: { aggregate }, wanted }) => {
      const cached = cache.open(aggregate)
      if (losses === undefined || !cached.loaded) return wanted
      return [checkRoot(cached, () => others.push(aggregate)), ...wanted]
    })
    counts.loads++
    try {
      const loaded = await store.load(all.flatMap(({ keys }) => keys))
      let at = 0
      for (const { keys, fill } of all) {
        options.onTouch?.(keys[0]!.aggregate)
        fill(loaded.slice(at, at + keys.length))
        at += keys.length
      }
      options.onTouch?.('')
      for (const aggregate of others) cache.drop(aggregate)
      setStoreAvailable(true)
      for (const { queue } of list) queues.arrive(queue)
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      setStoreAvailable(false)
      for (const { queue } of list) backOff(queue, true)
    }
    schedule()
  }

  function operateOn(
    aggregate: string,
    stray: boolean,
    operation: Operation,
    reason: string,
    origin: string,
  ): Promise<OperationOutcome> {
    return new Promise((done) => {
      const outcome = { refused: '', changed: false }
      const item = { kind: 'operation', operation, reason, origin, outcome, done } as const
      queues.enqueue(aggregate, stray, { ...item })
      schedule()
    })
  }

  async function change<T>(change: AccountChange<T>): Promise<T> {
    if (changes >= maxChanges) throw new StoreError('too much waits for the store', 'no')
    const { item, settled } = newChange(change)
    changes++
    queues.enqueue(accountAggregate(change.accountId), false, item)
    schedule()
    return settled.finally(() => changes--)
  }

  function tellIdle(): void {
    if (bySlot.size > quarantine.kept || queues.size > 0 || repetition?.isBusy) return
    const waiters = idleWaiters
    idleWaiters = []
    for (const waiter of waiters) waiter()
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
    operate: (accountId, operation, reason, origin = '') =>
      operateOn(accountAggregate(accountId), false, operation, reason, origin),
    operateStray: (eventId, operation, reason, origin = '') =>
      operateOn(strayAggregate(eventId), true, operation, reason, origin),
    change,
    sweepTransaction(accountId, cardId, transactionId, sortKey) {
      return new Promise((done) => {
        const item = { kind: 'sweep', cardId, transactionId, sortKey, done } as const
        queues.enqueue(accountAggregate(accountId), false, { ...item })
        schedule()
      })
    },
    setPack(next) {
      pack = sharing(next)
      quarantine.retryDecisions()
    },
    pack: () => pack,
    damaged: quarantine.list,
    stats: () => ({
      ...counts,
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
    idle() {
      return new Promise((resolve) => {
        idleWaiters.push(resolve)
        schedule()
      })
    },
    stop() {
      standInWatch.stop()
      quarantine.stop()
      stopped = true
    },
  }
}
