import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { type MessagePort, parentPort, resourceLimits, workerData } from 'node:worker_threads'
import { followTime, type SharedTime } from '../clock.ts'
import { createAggregates } from '../engine/aggregates.ts'
import { createEngine } from '../engine/engine.ts'
import { noteSeeded, readMemoryAges, unseeded } from '../engine/notice/memory-ages.ts'
import { readInstances } from '../engine/notice/presence.ts'
import { noDeliveries } from '../engine/options.ts'
import { lowerOwnPriority } from '../right-of-way.ts'
import { type PackBytes, readPackBytes } from '../rules/pack/bytes.ts'
import { finish } from '../rules/pack/step.ts'
import { openStore, type StorePlace } from '../store/open.ts'
import { seedFromLog } from './seeder.ts'

export interface SeedingSettings extends StorePlace {
  readonly time: SharedTime
  readonly pack: PackBytes
  /** The version that the engine uses. */
  readonly rulesVersion: string
  /** The name that other instances know this one by. */
  readonly instance: string
}

export interface SeedingTask extends SeedingSettings {
  /** At the priority of decisions: behind them some accounts were not met. */
  readonly hurries: boolean
}

/** `busy`: not now, because of other instances. `unmet`: some accounts never stood still. */
export type FromSeeder =
  | {
      readonly type: 'done'
      readonly rulesVersion: string
      readonly entries: number
      readonly accounts: number
      readonly skipped: number
    }
  | { readonly type: 'busy' | 'unmet' }
  | { readonly type: 'failed'; readonly problem: string }

const cachedCards = 1_000
const heapBytes = (resourceLimits.maxOldGenerationSizeMb ?? 1024) * 2 ** 20
/** A character of some lines takes two bytes. */
const maxHeldChars = heapBytes / 3
const maxAccountChars = heapBytes / 24
/** Where other work keeps all processors, an account without a pause may never be met at a low priority. */
const patienceMs = 10_000

/** Asks the log for what a new pack looks at, once, beside the decisions. Any message ends it. */
async function run(port: MessagePort, settings: SeedingTask): Promise<FromSeeder> {
  let mayGoOn = true
  port.once('message', () => {
    mayGoOn = false
  })
  const clock = followTime(settings.time)
  const pack = finish(readPackBytes(settings.pack))
  const store = await openStore(settings, clock.nowMs)
  const engine = createEngine({
    store,
    clock,
    pack,
    nonce: randomUUID().slice(0, 8),
    cacheCards: cachedCards,
    ...noDeliveries,
  })
  const aggregates = createAggregates({ store, newVersion: engine.newVersion })
  try {
    const memories = unseeded(pack.memories ?? [], await readMemoryAges(store), clock.nowMs())
    const isOurs = async () => isTurnOf(settings, await readInstances(store, clock.nowMs()))
    const usable = memories.length > 0 && pack.version === settings.rulesVersion
    if (!usable || !(await isOurs())) return { type: 'busy' }
    const seeded = await seedFromLog({
      store,
      engine,
      pack,
      memories,
      maxHeldChars,
      maxAccountChars,
      mayGoOn: () => mayGoOn,
      pause,
      monoMs: clock.monoMs,
      patienceMs: settings.hurries ? Infinity : patienceMs,
    })
    if (seeded === 'unmet') return { type: 'unmet' }
    if (seeded === null || !(await isOurs())) return { type: 'busy' }
    await noteSeeded(aggregates, memories, seeded.sinceMs)
    return { type: 'done', rulesVersion: pack.version, ...seeded }
  } finally {
    aggregates.stop()
    engine.stop()
    await store.close()
  }
}

/**
 * One instance is enough, and two do no harm. While another serves by another pack there is no use in it:
 * what that one decides is not counted.
 */
function isTurnOf(
  { instance, rulesVersion }: SeedingSettings,
  all: Awaited<ReturnType<typeof readInstances>>,
): boolean {
  const others = all.filter(({ name }) => name !== instance)
  return others.every((other) => other.rulesVersion === rulesVersion && other.name > instance)
}

if (parentPort !== null) {
  const task = workerData as SeedingTask
  if (!task.hurries) lowerOwnPriority()
  const port = parentPort
  run(port, task)
    .catch((error: unknown): FromSeeder => ({ type: 'failed', problem: String(error) }))
    .then((said) => {
      port.postMessage(said)
      port.close()
    })
}
