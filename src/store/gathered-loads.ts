import { type Key, type Loaded, type Store, StoreError } from './port.ts'

/** What waits for the end of the loop's turn. */
interface Waiting {
  readonly keys: readonly Key[]
  readonly done: (loaded: (Loaded | undefined)[]) => void
  readonly fail: (error: unknown) => void
}

/** The server does one call at a time, and decisions wait for it: with so many keys the next read goes by itself. */
const enoughKeys = 200

/**
 * The same store; what is read in one turn of the loop goes in one call, because a call to a server has its price
 * whatever is in it.
 */
export function gatheringLoads(store: Store): Store {
  let waiting: Waiting[] = []
  let keysWaiting = 0

  async function loadAll(): Promise<void> {
    if (waiting.length === 0) return
    const gathered = waiting
    waiting = []
    keysWaiting = 0
    try {
      const loaded = await store.load(gathered.flatMap(({ keys }) => keys))
      let at = 0
      for (const { keys, done } of gathered) {
        done(loaded.slice(at, at + keys.length))
        at += keys.length
      }
    } catch (error) {
      if (!(error instanceof StoreError)) for (const { fail } of gathered) fail(error)
      // One of several places may be out of reach, and must not keep the others.
      else if (gathered.length > 1) for (const one of gathered) loadOne(one)
      else gathered[0]!.fail(error)
    }
  }

  function loadOne({ keys, done, fail }: Waiting): void {
    store.load(keys).then(done, fail)
  }

  return {
    ...store,
    load(keys) {
      return new Promise((resolve, fail) => {
        if (waiting.length === 0) setImmediate(() => void loadAll())
        waiting.push({ keys, done: resolve, fail })
        keysWaiting += keys.length
        if (keysWaiting >= enoughKeys) void loadAll()
      })
    },
  }
}
