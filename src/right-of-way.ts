import { setPriority } from 'node:os'
import { outcomesOf } from './store/outcome.ts'
import {
  type Command,
  type Outcome,
  PartlyFailed,
  type PartOutcome,
  type Store,
} from './store/port.ts'

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
/** Commands that are committed together: decisions wait for a whole transaction. */
const maxGroupCommands = 32
/** How many times as long as a group took the next one stays back: decisions have the writer for four fifths. */
const restTimes = 4
/** While somebody has more to write than goes together: the lists must not fall behind the decisions they show. */
const shortRestTimes = 1
const maxRestMs = 100

/** Commits of one caller that wait for their turn. */
interface Waiting {
  readonly commands: number
  readonly untilMonoMs: number
  readonly go: () => void
}

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
  const waiting: Waiting[] = []
  let inFlight = 0
  let longCalls = 0
  let begunMonoMs = 0
  let restUntilMonoMs = Number.NEGATIVE_INFINITY
  let lastSeenMonoMs = Number.NEGATIVE_INFINITY

  function isDeciding(): boolean {
    const deciding = Atomics.load(open, 0) > 0
    if (deciding) lastSeenMonoMs = monoMs()
    return deciding
  }

  function isQuiet(): boolean {
    return !isDeciding() && monoMs() - lastSeenMonoMs > quietMs
  }

  /** While decisions come, one group at a time: they share one writer, and it takes whoever waits. */
  function mayGo(untilMonoMs: number): boolean {
    if (isQuiet()) return true
    const nowMonoMs = monoMs()
    if (inFlight > 0 || nowMonoMs < restUntilMonoMs) return false
    return !isDeciding() || nowMonoMs >= untilMonoMs
  }

  function look(): void {
    while (waiting.length > 0 && mayGo(waiting[0]!.untilMonoMs)) releaseGroup()
    if (waiting.length > 0) setTimeout(look, lookMs)
  }

  /** What is begun in one turn becomes one transaction. */
  function releaseGroup(): void {
    let commands = 0
    do {
      const { commands: own, go } = waiting.shift()!
      commands += own
      begin()
      go()
    } while (waiting.length > 0 && commands + waiting[0]!.commands <= maxGroupCommands)
  }

  function begin(): void {
    if (inFlight++ === 0) begunMonoMs = monoMs()
  }

  function end(): void {
    if (--inFlight > 0) return
    const nowMonoMs = monoMs()
    const times = longCalls > 0 ? shortRestTimes : restTimes
    restUntilMonoMs = nowMonoMs + Math.min(maxRestMs, times * (nowMonoMs - begunMonoMs))
  }

  function commit(store: Store, commands: readonly Command[]): Promise<Outcome[]> {
    const isLong = commands.length > maxGroupCommands && !isQuiet()
    return isLong ? commitInParts(store, commands) : commitOnce(store, commands, maxWaitMs)
  }

  /** Each aggregate is committed on its own anyway. Only the first part waits for a moment without decisions. */
  async function commitInParts(store: Store, commands: readonly Command[]): Promise<Outcome[]> {
    const all: PartOutcome[] = []
    let why = ''
    longCalls++
    try {
      for (let at = 0; at < commands.length; at += maxGroupCommands) {
        const waitMs = at === 0 ? maxWaitMs : 0
        const part = commands.slice(at, at + maxGroupCommands)
        const commitPart = (some: readonly Command[]) => commitOnce(store, some, waitMs)
        const { outcomes, problem } = await outcomesOf(commitPart, part)
        all.push(...outcomes)
        why ||= problem
      }
    } finally {
      longCalls--
    }
    if (why !== '') throw new PartlyFailed(why, all)
    return all as Outcome[]
  }

  async function commitOnce(store: Store, commands: readonly Command[], waitMs: number) {
    const untilMonoMs = monoMs() + waitMs
    if (waiting.length === 0 && mayGo(untilMonoMs)) begin()
    else {
      await new Promise<void>((go) => {
        waiting.push({ commands: commands.length, untilMonoMs, go })
        if (waiting.length === 1) setTimeout(look, lookMs)
      })
    }
    return store.commit(commands).finally(end)
  }

  return {
    isPressed: () => Atomics.load(open, 0) >= pressedDecisions,
    behindDecisions: (store) => ({ ...store, commit: (commands) => commit(store, commands) }),
  }
}
