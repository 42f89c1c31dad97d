import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { dayMs, type FollowedClock, followTime } from '../clock.ts'
import type { Pack } from '../domain/decide/pack.ts'
import { withBlocks, withDisabled } from '../domain/decide/pack.ts'
import type { Block } from '../domain/record/block.ts'
import { openStore } from '../store/open.ts'
import { type Store, StoreRefused } from '../store/port.ts'
import { readVersion } from '../version.ts'
import { createAggregates } from './aggregates.ts'
import { startBeat } from './beat.ts'
import { addDemoCards, findDemoCard } from './demo-cards.ts'
import { createEngine, type Engine } from './engine.ts'
import { metaAggregate, organizationsAggregate } from './format/layout.ts'
import { claimStore } from './format/meta.ts'
import {
  createOutbox,
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
import { watchServerClocks } from './notice/server-clocks.ts'
import { createSharedRecords } from './notice/shared-records.ts'
import { watchWorklists } from './notice/worklist-watch.ts'
import { createPackSwap } from './pack-swap.ts'
import { nameOfDamage } from './quarantine/damage.ts'
import { openTouchCell } from './quarantine/touch-cell.ts'
import { createSharedDesk, sharedStaleMs } from './shared/desk.ts'
import { startSweeper } from './sweeper.ts'
import type { WorkerSettings } from './worker-settings.ts'

const sweepMs = 1000
const maxDamageShown = 20
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
  const aggregates = createAggregates({ store, newVersion: () => engine.newVersion() })
  const counts = createSharedDesk({
    aggregates,
    clock,
    staleMs: settings.redis === null ? Number.POSITIVE_INFINITY : sharedStaleMs,
    onTrouble: (message) => send({ type: 'trouble', message }),
  })
  const engine: Engine = createEngine({
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
    shared: counts,
  })
  if (settings.demo) {
    if (settings.redis === null) await addDemoCards(store, engine)
    const card = await findDemoCard(store)
    if (card !== null) send({ type: 'demo', ...card })
  }
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
    unseeded: memories?.unseeded() ?? 0,
    rulesSkew: presence?.skew ?? 0,
    sharedKeys: counts.size,
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
        await counts.stop()
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

if (parentPort !== null) {
  const port = parentPort
  run(port, workerData as WorkerSettings).catch((error: unknown) => {
    if (!(error instanceof StoreRefused)) throw error
    port.postMessage({ type: 'refused', message: error.message } satisfies FromEngine)
    port.close()
  })
}
