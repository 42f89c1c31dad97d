import { type Store, StoreError } from '../../store/port.ts'
import type { Cache } from '../memory/cache.ts'
import { checkRoot, type Wanted } from '../memory/working-book.ts'
import type { EngineOptions } from '../options.ts'
import type { Queue, Queues } from './queue.ts'
import type { StoreWatch } from './store-watch.ts'

/** What a batch lacks is read before it is decided again. */
export interface Lacking {
  readonly queue: Queue
  readonly wanted: readonly Wanted[]
}

export interface Reading {
  readonly loads: number
  /** All that a turn lacks, in one call. */
  read(list: readonly Lacking[]): Promise<void>
}

export interface ReadingOptions extends Pick<EngineOptions, 'onTouch'> {
  readonly store: Store
  readonly cache: Cache
  readonly queues: Queues
  readonly noteStore: StoreWatch['note']
  readonly backOff: (queue: Queue, storeFails: boolean) => void
  readonly schedule: () => void
}

export function createReading(options: ReadingOptions): Reading {
  const { store, cache, queues } = options
  let loads = 0

  async function read(list: readonly Lacking[]): Promise<void> {
    const others: string[] = []
    const all = list.flatMap(({ queue: { aggregate }, wanted }) => {
      const cached = cache.open(aggregate)
      if (store.losses === undefined || !cached.loaded) return wanted
      return [checkRoot(cached, () => others.push(aggregate)), ...wanted]
    })
    loads++
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
      options.noteStore('', 'read')
      for (const { queue } of list) queues.arrive(queue)
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      options.noteStore(error.message, 'read')
      for (const { queue } of list) options.backOff(queue, true)
    }
    options.schedule()
  }

  return {
    get loads() {
      return loads
    },
    read,
  }
}
