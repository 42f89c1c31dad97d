import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { dayMs, type FollowedClock, followTime } from '../clock.ts'
import type { Pack } from '../domain/decide/pack.ts'
import { closingOnFailure, openStore } from '../store/open.ts'
import { type Store, StoreError, StoreRefused } from '../store/port.ts'
import { readVersion } from '../version.ts'
import { createAggregates } from './aggregates.ts'
import { startBeat } from './beat.ts'
import { addDemoCards, findDemoCard } from './demo-cards.ts'
import { createEngine, type Engine } from './engine.ts'
import { metaAggregate } from './format/layout.ts'
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
import { watchBackOffice } from './notice/back-office-watch.ts'
import { createNoticeBoard } from './notice/notice-board.ts'
import { type ObeyedPack, openObeyedPack } from './notice/obeyed-pack.ts'
import { startPresence } from './notice/presence.ts'
import { watchServerClocks } from './notice/server-clocks.ts'
import { createSharedRecords } from './notice/shared-records.ts'
import { watchWorklists } from './notice/worklist-watch.ts'
import type { EngineTelling } from './options.ts'
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
  let storeProblem = ''
  const send = (message: FromEngine) => {
    if (message.type === 'store') storeProblem = message.problem
    port.postMessage(message)
  }
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
  const { problem: metaProblem } = await closingOnFailure(store, claimStore(store, settings))
  const serverClocks = await watchServerClocks(store, send)
  await first
  if (rules === null || stopped) {
    clearInterval(serverClocks)
    await store.close()
    port.close()
    return
  }
  const { pack } = rules as RunningRules
  const ready = await serve({ store, pack, settings, clock, send }, metaProblem)
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
  // What was found of the store while the engine started is not over because it has.
  send({ type: 'ready', packNumber, rulesVersion: newest.version, storeFile, storeProblem })
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

interface Served {
  readonly store: Store
  readonly pack: Pack
  readonly settings: WorkerSettings
  readonly clock: FollowedClock
  readonly send: (message: FromEngine) => void
}

async function serve(served: Served, metaProblem: string): Promise<Serving> {
  const { store, pack, settings, clock, send } = served
  const onTrouble = (message: string) => send({ type: 'trouble', message })
  const shared = createSharedRecords(send)
  shared.tell(metaAggregate, metaProblem)
  const condemnedUntilMonoMs = new Map(
    settings.condemned.map(({ aggregate, leftMs }) => [aggregate, clock.monoMs() + leftMs]),
  )
  const aggregates = createAggregates({ store, newVersion: () => engine.newVersion() })
  const staleMs = settings.redis === null ? Number.POSITIVE_INFINITY : sharedStaleMs
  const counts = createSharedDesk({ aggregates, clock, staleMs, onTrouble })
  let obeyed: ObeyedPack | null = null
  const engine: Engine = createEngine({
    ...tellingOf(send),
    store,
    clock,
    pack,
    nonce: settings.nonce,
    cacheCards: settings.cacheCards,
    cacheBytes: settings.cacheBytes,
    isRetired: () => Atomics.load(settings.retired, 0) !== 0,
    onTouch: openTouchCell(settings.touched),
    condemned: (aggregate) =>
      condemnedUntilMonoMs.size > 0 && (condemnedUntilMonoMs.get(aggregate) ?? 0) > clock.monoMs()
        ? 'engines died while they decided on it'
        : '',
    onDecided: (step) => obeyed?.note(step),
    shared: counts,
  })
  if (settings.demo) await showDemoCards(served, engine)
  const sweeper = startSweeper({
    engine,
    store,
    clock,
    intervalMs: sweepMs,
    logRetentionMs: settings.logRetentionDays * dayMs,
    onError: (error) => onTrouble(`sweeping failed: ${error}`),
    onUnreadable: (entries) =>
      shared.tell('index due', entries === 0 ? '' : `${entries} entries name no transaction`),
  })
  const telling = { onState: shared.tell, onLook: engine.noteLook }
  const board = createNoticeBoard({ store, intervalMs: noticesMs, ...telling })
  const rules = await openObeyedPack({
    store,
    aggregates,
    clock,
    board,
    pack,
    intervalMs: noticesMs,
    use: engine.setPack,
    onOrganizations: (table) => send({ type: 'organizations', table }),
    onTrouble,
  })
  obeyed = rules
  const { instance } = settings
  const own = { instance, rulesVersion: () => rules.version, release: readVersion() }
  // An embedded store has one instance.
  const presence = settings.redis === null ? null : startPresence({ aggregates, clock, ...own })
  const worklists = watchWorklists(store, worklistsMs)
  const backOffice = watchBackOffice(store, clock.nowMs, worklistsMs)
  const beat = startBeat(engine, send, () => ({
    blocks: rules.blocks(),
    trippedRules: rules.tripped(),
    seedingRules: rules.seeding(),
    unseeded: rules.unseeded(),
    rulesSkew: presence?.skew ?? 0,
    sharedKeys: counts.size,
    waiting: worklists.waiting,
    backOffice: backOffice.work,
    damagedRecords: shared.names(),
    damage: engine.damaged(maxDamageShown).map(nameOfDamage),
  }))
  return {
    setPack(next) {
      // A rule may be what they died of.
      if (next.version !== rules.version) condemnedUntilMonoMs.clear()
      rules.setPack(next)
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
      rules.stop()
      worklists.stop()
      backOffice.stop()
      // The engine that took over goes on telling under the same name.
      if (Atomics.load(settings.retired, 0) === 0) await presence?.stop()
      clearInterval(beat)
      aggregates.stop()
      engine.stop()
      await store.close()
    },
  }
}

/** What an engine tells, as messages to the gate. */
function tellingOf(send: (message: FromEngine) => void): EngineTelling {
  const put = createOutbox((cells) => send({ type: 'answers', cells }))
  return {
    onAnswer: (slot, answer, origin, told) =>
      put((cells) => writeAnswered(cells, slot, answer, origin, told)),
    onBooked: (slot, told) => put((cells) => writeBooked(cells, slot, told)),
    // After the answers of this turn, which are among what was told.
    onLoss: () => void setImmediate(send, { type: 'lost' } satisfies FromEngine),
    onRepeated: () => send({ type: 'repeated' }),
    onCheckpoint: (number) => send({ type: 'checkpoint', number }),
    onKept: (number) => send({ type: 'kept', number }),
    onStandIn: (slot) => put((cells) => writeStandIn(cells, slot)),
    onSetAside: (slot, mayStillCommit) =>
      put((cells) => writeSetAside(cells, slot, mayStillCommit)),
    onDamage: (damage, healed) => {
      const { problem } = damage
      send({ type: 'damage', record: nameOfDamage(damage), problem: healed ? '' : problem })
    },
    onStore: (problem) => send({ type: 'store', problem }),
  }
}

async function showDemoCards({ store, settings, send }: Served, engine: Engine): Promise<void> {
  if (settings.redis === null) await addDemoCards(store, engine)
  const card = await findDemoCard(store)
  if (card !== null) send({ type: 'demo', ...card })
}

if (parentPort !== null) {
  const port = parentPort
  run(port, workerData as WorkerSettings).catch((error: unknown) => {
    // Why there is no engine yet is shown where people look, and not in the log alone.
    if (error instanceof StoreError) {
      port.postMessage({ type: 'store', problem: error.message } satisfies FromEngine)
    }
    if (!(error instanceof StoreRefused)) throw error
    port.postMessage({ type: 'refused', message: error.message } satisfies FromEngine)
    port.close()
  })
}
