import { monitorEventLoopDelay } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { dayMs, type FollowedClock, followTime, machineClock, type SharedTime } from '../clock.ts'
import type { Pack } from '../domain/decide/pack.ts'
import { withBlocks, withDisabled } from '../domain/decide/pack.ts'
import type { Block } from '../domain/record/block.ts'
import { openStore, type StorePlace } from '../store/open.ts'
import { type Marks, type Store, StoreRefused } from '../store/port.ts'
import { readVersion } from '../version.ts'
import { createAggregates } from './aggregates.ts'
import { demoCards } from './demo-cards.ts'
import { createEngine, type Engine } from './engine.ts'
import { accountCodec } from './format/codec.ts'
import { decodeEntry } from './format/entry-codec.ts'
import {
  accountAggregate,
  indexes,
  metaAggregate,
  organizationsAggregate,
} from './format/layout.ts'
import { claimStore } from './format/meta.ts'
import { importRows } from './import.ts'
import {
  createOutbox,
  type DemoCard,
  type EngineFigures,
  type FromEngine,
  readDeliveries,
  type ToEngine,
  writeAnswered,
  writeBooked,
  writeSetAside,
  writeStandIn,
} from './messages.ts'
import { watchBlocks } from './notice/block-list.ts'
import { type BreakerDesk, openBreakerDesk } from './notice/breaker-desk.ts'
import { type MemoryDesk, openMemoryDesk } from './notice/memory-desk.ts'
import { createNoticeBoard } from './notice/notice-board.ts'
import { disabledIn, organizationsIn } from './notice/organization-table.ts'
import { startPresence } from './notice/presence.ts'
import { watchWorklists } from './notice/worklist-watch.ts'
import { createPackSwap, type OfferedPack } from './pack-swap.ts'
import { nameOfDamage } from './quarantine/damage.ts'
import { openTouchCell, type TouchCell } from './quarantine/touch-cell.ts'
import type { EngineStats } from './stats.ts'
import { startSweeper } from './sweeper.ts'

/** What the gate gives a new engine. */
export interface WorkerSettings extends StorePlace {
  readonly eventRetentionDays: number
  readonly sandbox: boolean
  readonly logRetentionDays: number
  readonly cacheCards: number
  readonly cacheBytes: number
  readonly nonce: string
  /** The same for every engine of this process. */
  readonly instance: string
  /** What the store has acknowledged to this process. */
  readonly marks: Marks
  /** One cell; not 0 when another engine has taken over. */
  readonly retired: Int32Array<SharedArrayBuffer>
  /** What the process takes for the time. */
  readonly time: SharedTime
  /** Tells the gate what this engine is deciding on. */
  readonly touched: TouchCell
  /** What engines before this one died of. */
  readonly condemned: readonly { readonly aggregate: string; readonly leftMs: number }[]
  /** The newest that was checked, whatever the folder has now; null when it is still to come. */
  readonly pack: OfferedPack | null
  /** Puts the demo cards into an empty embedded store. */
  readonly demo: boolean
}

const beatMs = 250
const sweepMs = 1000
const serverClocksMs = 5_000
/** A block, or a tripped breaker, counts everywhere within a second. */
const noticesMs = 250
const worklistsMs = 15_000

/** The content of the engine's thread. */
async function run(port: MessagePort, settings: WorkerSettings): Promise<void> {
  const send = (message: FromEngine) => port.postMessage(message)
  const clock = followTime(settings.time)
  let rules: RunningRules | null = null
  let serving: Serving | null = null
  let stopped = false
  let tellFirst: () => void = () => {}
  const first = new Promise<void>((resolve) => {
    tellFirst = resolve
  })
  const swap = createPackSwap({
    monoMs: clock.monoMs,
    onPack(pack, packNumber) {
      rules = { pack, packNumber }
      serving?.setPack(pack)
      if (serving === null) tellFirst()
      else send({ type: 'rules', packNumber, rulesVersion: pack.version, problem: '' })
    },
    onFailed(error, packNumber) {
      // It was checked, so this is a bug; with no pack at all there is nothing to go on with.
      if (rules === null) throw error
      const problem = `the engine cannot use the pack: ${error.message}`
      send({ type: 'rules', packNumber, rulesVersion: rules.pack.version, problem })
    },
  })
  port.on('message', (message: ToEngine) => {
    if (message.type === 'pack') swap(message)
    else if (message.type === 'items') serving?.take(message.cells)
    else if (message.type === 'recall') serving?.recall(message.told, message.last)
    else {
      stopped = true
      if (serving === null) tellFirst()
      else void serving.stop().then(() => port.close())
    }
  })
  if (settings.pack !== null) swap(settings.pack)
  const store = await openStore(settings, clock.nowMs, {
    marks: settings.marks,
    onWarning: (warning) => send({ type: 'trouble', message: `warning: ${warning}` }),
  })
  const { problem: metaProblem } = await claimStore(store, settings)
  const serverClocks = await watchServerClocks(store, send)
  await first
  if (rules === null || stopped) {
    clearInterval(serverClocks)
    await store.close()
    port.close()
    return
  }
  const { pack } = rules as RunningRules
  const ready = await serve(store, pack, settings, clock, send, metaProblem)
  if (stopped) {
    await ready.stop()
    port.close()
    return
  }
  serving = ready
  // Another may have been made while the demo cards were.
  const { pack: newest, packNumber } = rules as RunningRules
  serving.setPack(newest)
  const storeFile = store.file ?? ''
  send({ type: 'ready', packNumber, rulesVersion: newest.version, storeFile })
}

interface RunningRules {
  readonly pack: Pack
  readonly packNumber: number
}

interface Serving {
  setPack(pack: Pack): void
  take(cells: Extract<ToEngine, { type: 'items' }>['cells']): void
  recall(told: readonly string[], last: boolean): void
  stop(): Promise<void>
}

async function serve(
  store: Store,
  pack: Pack,
  settings: WorkerSettings,
  clock: FollowedClock,
  send: (message: FromEngine) => void,
  metaProblem: string,
): Promise<Serving> {
  const shared = createSharedRecords(send)
  shared.tell(metaAggregate, metaProblem)
  let breakers: BreakerDesk | null = null
  let memories: MemoryDesk | null = null
  const startedMonoMs = clock.monoMs()
  const condemned = new Map(
    settings.condemned.map(({ aggregate, leftMs }) => [aggregate, startedMonoMs + leftMs]),
  )
  const put = createOutbox((cells) => send({ type: 'answers', cells }))
  const engine = createEngine({
    store,
    clock,
    pack,
    nonce: settings.nonce,
    cacheCards: settings.cacheCards,
    cacheBytes: settings.cacheBytes,
    isRetired: () => Atomics.load(settings.retired, 0) !== 0,
    onAnswer: (slot, answer, origin, told) =>
      put((cells) => writeAnswered(cells, slot, answer, origin, told)),
    onBooked: (slot, told) => put((cells) => writeBooked(cells, slot, told)),
    // After the answers of this turn, which are among what was told.
    onLoss: () => void setImmediate(send, { type: 'lost' } satisfies FromEngine),
    onRepeated: () => send({ type: 'repeated' }),
    onCheckpoint: (number) => send({ type: 'checkpoint', number }),
    onKept: (number) => send({ type: 'kept', number }),
    onStandIn: (slot) => put((cells) => writeStandIn(cells, slot)),
    onTouch: openTouchCell(settings.touched),
    condemned: (aggregate) =>
      condemned.size > 0 && (condemned.get(aggregate) ?? 0) > clock.monoMs()
        ? 'engines died while they decided on it'
        : '',
    onSetAside: (slot, mayStillCommit) =>
      put((cells) => writeSetAside(cells, slot, mayStillCommit)),
    onDamage: (damage, healed) => {
      const { problem } = damage
      send({ type: 'damage', record: nameOfDamage(damage), problem: healed ? '' : problem })
    },
    onStore: (available) => send({ type: 'store', available }),
    onDecided: (step) => breakers?.note(step),
  })
  if (settings.demo) {
    await addDemoCards(store, engine, settings)
    const card = await findDemoCard(store)
    if (card !== null) send({ type: 'demo', ...card })
  }
  const aggregates = createAggregates({ store, newVersion: engine.newVersion })
  const sweeper = startSweeper({
    engine,
    store,
    clock,
    intervalMs: sweepMs,
    logRetentionMs: settings.logRetentionDays * dayMs,
    onError: (error) => send({ type: 'trouble', message: `sweeping failed: ${error}` }),
    onUnreadable: (entries) =>
      shared.tell('index due', entries === 0 ? '' : `${entries} entries name no transaction`),
  })
  // Before the first event, so that none is decided without what people and breakers have said.
  const rules = { pack, blocks: [] as readonly Block[], disabled: new Set() as ReadonlySet<string> }
  const usePack = () => {
    const seeding = memories?.seeding() ?? []
    const obeyed = withDisabled(breakers?.obeyed(seeding) ?? rules.pack, rules.disabled)
    engine.setPack(withBlocks(obeyed, rules.blocks))
  }
  const board = createNoticeBoard({
    store,
    intervalMs: noticesMs,
    onState: shared.tell,
  })
  const blocks = await watchBlocks(board, store, (list) => {
    rules.blocks = list
    usePack()
  })
  await board.follow(organizationsAggregate, (found) => {
    const table = organizationsIn(found)
    rules.disabled = disabledIn(table)
    usePack()
    send({ type: 'organizations', table })
  })
  breakers = await openBreakerDesk({
    aggregates,
    clock,
    board,
    pack,
    intervalMs: noticesMs,
    onChange: usePack,
    onTrouble: (message) => send({ type: 'trouble', message }),
  })
  const desk = { aggregates, clock, board, pack, intervalMs: noticesMs, onChange: usePack }
  memories = await openMemoryDesk(desk)
  usePack()
  // An embedded store has one instance.
  const presence =
    settings.redis === null
      ? null
      : startPresence({
          aggregates,
          clock,
          instance: settings.instance,
          rulesVersion: () => rules.pack.version,
          release: readVersion(),
        })
  const worklists = watchWorklists(store, worklistsMs)
  const beat = startBeat(engine, send, () => ({
    blocks: blocks.count(clock.nowMs()),
    trippedRules: breakers?.tripped() ?? [],
    seedingRules: memories?.seeding() ?? [],
    rulesSkew: presence?.skew ?? 0,
    waiting: worklists.waiting,
    damagedRecords: shared.names(),
    damage: engine.damaged(maxDamageShown).map(nameOfDamage),
  }))
  return {
    setPack(next) {
      // A rule may be what they died of.
      if (next.version !== rules.pack.version) condemned.clear()
      rules.pack = next
      breakers?.setPack(next)
      memories?.setPack(next)
      usePack()
      presence?.tell()
    },
    take(cells) {
      readDeliveries(cells, (delivery) => {
        const { said } = delivery
        if (said === null) engine.deliver(delivery)
        else engine.say({ ...delivery, said })
      })
    },
    recall: engine.recall,
    async stop() {
      if (Atomics.load(settings.retired, 0) === 0) {
        // What was lost unnoticed would be lost for good with this process.
        await store.losses?.look()
        await engine.idle()
      }
      sweeper.stop()
      board.stop()
      breakers?.stop()
      memories?.stop()
      worklists.stop()
      // The engine that took over goes on telling under the same name.
      if (Atomics.load(settings.retired, 0) === 0) await presence?.stop()
      clearInterval(beat)
      aggregates.stop()
      engine.stop()
      await store.close()
    },
  }
}

/** Tells the gate what there is beside its own clock, at once and then again and again. */
async function watchServerClocks(
  store: Store,
  send: (message: FromEngine) => void,
): Promise<NodeJS.Timeout> {
  const newestMs = await newestEntryMs(store)
  let missed = false
  async function look(): Promise<void> {
    // A store that is away tells nothing: what it said last goes on.
    const times = await store.serverTimes?.().catch((error: Error) => {
      if (!missed)
        send({ type: 'trouble', message: `the time of Redis is unknown: ${error.message}` })
      missed = true
      return null
    })
    if (times === null) return
    const monoMs = machineClock.monoMs()
    const serverOffsetsMs = (times ?? []).map((atMs) => atMs - monoMs)
    send({ type: 'clock', newestMs, serverOffsetsMs })
  }
  send({ type: 'clock', newestMs, serverOffsetsMs: [] })
  await look()
  const timer = setInterval(look, serverClocksMs)
  timer.unref()
  return timer
}

async function newestEntryMs(store: Store): Promise<number | null> {
  const [newest] = await store.tailLog(1)
  try {
    return newest === undefined ? null : decodeEntry(newest.entry).atMs
  } catch {
    // Damage is not the clock's to tell.
    return null
  }
}

const maxDamageShown = 20

/** Records that belong to no account, and which of them cannot be read. */
function createSharedRecords(send: (message: FromEngine) => void) {
  const problems = new Map<string, string>()
  return {
    tell(record: string, problem: string): void {
      if ((problems.get(record) ?? '') === problem) return
      if (problem === '') problems.delete(record)
      else problems.set(record, problem)
      send({ type: 'damage', record, problem })
    },
    names: () => [...problems.keys()],
  }
}

/** Tells the gate that this loop turns, and what it has done. */
function startBeat(
  engine: Engine,
  send: (message: FromEngine) => void,
  others: () => Omit<EngineFigures, keyof EngineStats | 'loopLagMs' | 'heapUsedBytes'>,
): NodeJS.Timeout {
  const lag = monitorEventLoopDelay({ resolution: 10 })
  lag.enable()
  return setInterval(() => {
    const loopLagMs = lag.max / 1e6
    lag.reset()
    // Not process.memoryUsage: it opens a file, and an engine must beat also when no descriptor is left.
    const heapUsedBytes = getHeapStatistics().used_heap_size
    const figures = { ...engine.stats(), ...others(), loopLagMs, heapUsedBytes }
    const [ruleCounts, findings] = [engine.takeRuleCounts(), engine.takeFindings()]
    send({ type: 'beat', figures, ruleCounts, findings })
  }, beatMs)
}

async function addDemoCards(store: Store, engine: Engine, settings: WorkerSettings): Promise<void> {
  if (settings.redis !== null) return
  if ((await store.range(indexes.cards, '', 1)).length > 0) return
  await importRows(demoCards, engine)
}

async function findDemoCard(store: Store): Promise<DemoCard | null> {
  const [first] = await store.range(indexes.cards, '', 1)
  if (first === undefined) return null
  const [root] = await store.load([{ aggregate: accountAggregate(first.value), group: '', id: '' }])
  if (root === undefined) return null
  try {
    return { cardId: first.sortKey, currency: accountCodec.decode(root.value).currency }
  } catch {
    // No card to try is better than no engine.
    return null
  }
}

if (parentPort !== null) {
  const port = parentPort
  run(port, workerData as WorkerSettings).catch((error: unknown) => {
    if (!(error instanceof StoreRefused)) throw error
    port.postMessage({ type: 'refused', message: error.message } satisfies FromEngine)
    port.close()
  })
}
