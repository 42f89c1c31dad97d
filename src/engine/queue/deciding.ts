import { answerDelivery } from '../../domain/decide/answer.ts'
import type { Pack } from '../../domain/decide/pack.ts'
import { type Batch, damageOf, decideBatch } from '../batch.ts'
import { abandon, ChangeDamaged } from '../change/account-change.ts'
import type { DeliveryItem, Item } from '../item.ts'
import type { Cache, CachedAccount } from '../memory/cache.ts'
import type { Table } from '../memory/table.ts'
import { rootDamage } from '../memory/working-book.ts'
import type { EngineOptions } from '../options.ts'
import { type Damage, nameOfDamage } from '../quarantine/damage.ts'
import type { Quarantine } from '../quarantine/quarantine.ts'
import type { Repetition } from '../repetition.ts'
import type { Flight } from './departures.ts'
import type { Placing } from './placing.ts'
import type { Queue, Queues } from './queue.ts'

/** Makes a batch of what waits for an account, and lets go of what cannot be decided. */
export interface Deciding {
  readonly decided: number
  /** The next batch of one aggregate, or null when nothing is left for it. */
  decideNext(queue: Queue): Flight | null
  letGo(item: Item, damage: Damage): void
}

export interface DecidingOptions
  extends Pick<
    EngineOptions,
    'store' | 'clock' | 'condemned' | 'onTouch' | 'onSetAside' | 'answerDelivery' | 'shared'
  > {
  readonly cache: Cache
  readonly queues: Queues
  readonly placing: Pick<Placing, 'enqueueStray'>
  readonly quarantine: Quarantine
  readonly bySlot: Table<DeliveryItem>
  /** null where the store cannot lose what it acknowledged. */
  readonly repetition: Repetition | null
  readonly toldAt: (aggregate: string) => DeliveryItem[]
  /** Whether another writer came before us of late. */
  readonly isContested: () => boolean
  readonly pack: () => Pack
  readonly newVersion: () => string
  readonly schedule: () => void
}

const maxItemsPerCommand = 256

export function createDeciding(options: DecidingOptions): Deciding {
  const { clock, cache, queues, placing, quarantine, bySlot, repetition, schedule } = options
  let decided = 0

  function decideNext(queue: Queue): Flight | null {
    const startedMonoMs = clock.monoMs()
    const cached = openNewest(queue.aggregate)
    if (repetition !== null && repetition.size > 0) {
      queues.giveBack(queue, options.toldAt(queue.aggregate))
    }
    // The directory names an account that was never opened: its cards are as good as unknown.
    const unopened = cached.loaded && cached.root === null && !queue.stray
    if (unopened) for (const item of queues.takeDeliveries(queue)) placing.enqueueStray(item)
    const items = queues.first(queue, queue.suspects > 0 ? 1 : maxItemsPerCommand)
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
    // What was read beside a root that cannot be read is of no version: a root that is mended later is of another.
    if (rootDamage(cached) !== undefined) cache.drop(queue.aggregate)
    // Only for this batch: what cannot be read is read again by the next that needs it.
    cached.reads?.unreadable.clear()
    if (batch === null) return null
    setAside(queue, batch.failed)
    if (batch.decided.length + batch.wanted.length === 0) {
      queues.arrive(queue)
      schedule()
      return null
    }
    // One that failed may fail no more: then what comes behind all of them goes together again.
    queue.suspects = Math.max(0, queue.suspects - batch.decided.length)
    queues.depart(queue, batch.decided.length)
    decided += batch.decided.length
    return { queue, cached, batch, startedMonoMs, decideMs: clock.monoMs() - startedMonoMs }
  }

  /** While others write to the same accounts, memory is compared first: a conflict costs a whole commit. */
  function openNewest(aggregate: string): CachedAccount {
    const cached = cache.open(aggregate)
    const { store, isContested } = options
    if (store.hasVersion === undefined || cached.version === null || !isContested()) return cached
    if (store.hasVersion(aggregate, cached.version)) return cached
    cache.drop(aggregate)
    return cache.open(aggregate)
  }

  /** null when memory had to be dropped: then its items are decided again, one by one. */
  function tryBatch(queue: Queue, cached: CachedAccount, items: readonly Item[]): Batch | null {
    const context = {
      pack: options.pack(),
      nowMs: clock.nowMs(),
      newVersion: options.newVersion,
      answerDelivery: options.answerDelivery ?? answerDelivery,
      mayLose: repetition !== null,
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
      queue.suspects = items.length > 1 ? items.length : 0
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
      abandon(item, `${nameOfDamage(damage)} is damaged (${damage.problem})`, ChangeDamaged)
    } else if (item.said !== null) quarantine.keep(item, damage)
    else {
      bySlot.delete(item.slot)
      options.onSetAside?.(item.slot, item.mayStillCommit)
    }
  }

  return {
    get decided() {
      return decided
    },
    decideNext,
    letGo,
  }
}
