import type { Worker } from 'node:worker_threads'

/**
 * Engines that were replaced. Should one wake up, it sends no further command, nobody hears what it says, and
 * it ends by itself. Ending a thread by force while it is inside the store's native code aborts the whole
 * process, so that is left for one that is stuck for good.
 */
export interface Abandoned {
  add(stuck: Worker): void
}

/** A thread that is silent for this long after it was replaced will not wake up. */
const abandonedMs = 60_000
/** Each has a heap of its own, so only this many are waited for. */
const maxAbandoned = 2

export function createAbandoned(): Abandoned {
  const threads = new Set<Worker>()
  return {
    add(stuck) {
      threads.add(stuck)
      const timer = setTimeout(() => void stuck.terminate(), abandonedMs)
      timer.unref()
      stuck.once('exit', () => {
        clearTimeout(timer)
        threads.delete(stuck)
      })
      stuck.unref()
      const [oldest] = threads
      if (threads.size > maxAbandoned) void oldest?.terminate()
    },
  }
}
