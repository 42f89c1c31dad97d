import { setPriority } from 'node:os'
import type { Command, Store } from './store/port.ts'

/** How many decisions are open, as the gate writes it: one cell. */
export type OpenDecisions = Int32Array<SharedArrayBuffer>

/** Lets decisions go first, at the processor, at the store's only writer, and at the door. */
export interface RightOfWay {
  /** So many decisions are open that calls are turned away before they are looked at. */
  isPressed(): boolean
  /** The same store; what is committed waits a little for a moment without decisions. */
  behindDecisions(store: Store): Store
}

/** A tenth of the processor's time of the others when all cores are busy; all of it when they are not. */
const niceness = 10
/** At half as many the gate begins to answer by default; see `overload.ts`. */
const pressedDecisions = 128
/** Decisions may follow each other without a gap, and calls must end all the same. */
const maxWaitMs = 20
const lookMs = 1
/** For so long after a decision the next one is expected. */
const quietMs = 100

/** For the thread that calls it, and on Linux only: elsewhere it would count for the whole process. */
export function lowerOwnPriority(): void {
  if (process.platform !== 'linux') return
  try {
    setPriority(niceness)
  } catch {
    // Where a sandbox forbids it decisions have the other ways.
  }
}

export function createRightOfWay(open: OpenDecisions, monoMs: () => number): RightOfWay {
  const waiting: { readonly untilMonoMs: number; readonly go: () => void }[] = []
  let inFlight = 0
  let lastSeenMonoMs = Number.NEGATIVE_INFINITY

  function isDeciding(): boolean {
    const deciding = Atomics.load(open, 0) > 0
    if (deciding) lastSeenMonoMs = monoMs()
    return deciding
  }

  /** One call at a time while decisions come: they share one writer, and it takes whoever waits. */
  function isClear(): boolean {
    if (isDeciding()) return false
    return inFlight === 0 || monoMs() - lastSeenMonoMs > quietMs
  }

  function look(): void {
    while (waiting.length > 0) {
      if (!isClear() && waiting[0]!.untilMonoMs > monoMs()) break
      waiting.shift()!.go()
    }
    if (waiting.length > 0) setTimeout(look, lookMs)
  }

  async function commit(store: Store, commands: readonly Command[]) {
    if (waiting.length > 0 || !isClear()) {
      await new Promise<void>((resolve) => {
        waiting.push({ untilMonoMs: monoMs() + maxWaitMs, go: () => begin(resolve) })
        if (waiting.length === 1) setTimeout(look, lookMs)
      })
    } else inFlight++
    return store.commit(commands).finally(() => inFlight--)
  }

  function begin(resolve: () => void): void {
    inFlight++
    resolve()
  }

  return {
    isPressed: () => Atomics.load(open, 0) >= pressedDecisions,
    behindDecisions: (store) => ({ ...store, commit: (commands) => commit(store, commands) }),
  }
}
