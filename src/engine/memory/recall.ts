import { keepNewest } from '../../bounded-map.ts'
import { type Marks, maxPartitions } from '../../store/port.ts'

/**
 * What the relay was told, kept by the process over all its engines until it is known to be kept by the
 * store: should the store have lost it, an engine is given it to be booked again.
 */
export interface Recall {
  readonly size: number
  /** Let go before it was known to be kept, because there was too much of it. */
  readonly forgotten: number
  /** How often the store has lost what it acknowledged. */
  readonly losses: number
  /** What is kept of a slot. */
  find(slot: string): string | undefined
  /** What was told last in a slot. */
  note(slot: string, told: string, nowMonoMs: number): void
  /** The engine begins to look whether what was noted until now is kept. */
  onCheckpoint(number: number): void
  /** What was noted before that checkpoint is kept by the store. */
  onKept(number: number, nowMonoMs: number): void
  /** The store lacks what it acknowledged: the engine is given all of it. */
  onLost(): void
  /** All of it is booked again. */
  onRepeated(): void
  /** Another engine goes on where one has ended that was not done. */
  onEngineStart(): void
}

export interface RecallOptions {
  /** To the engine of the moment, in parts: it may be much, and nobody else may be held up by it. */
  readonly send: (told: readonly string[], last: boolean) => void
  readonly keptMs?: number
  readonly maxKept?: number
}

/** Also what is known to be kept stays this long: a master may be given up for a replica it did not know. */
const defaultKeptMs = 60_000
/** About 25 MB. Beyond it the oldest are let go before their time. */
const defaultMaxKept = 50_000
/** Those that are not answered for long are as good as none. */
const maxCheckpoints = 120
const sentAtOnce = 2_000

interface Kept {
  readonly told: string
  readonly toldMonoMs: number
  readonly order: number
}

export function createRecall(options: RecallOptions): Recall {
  const { send, keptMs = defaultKeptMs, maxKept = defaultMaxKept } = options
  const bySlot = new Map<string, Kept>()
  const checkpoints = new Map<number, number>()
  let noted = 0
  /** Everything noted up to this is known to be kept. */
  let safe = 0
  let forgotten = 0
  let losses = 0
  /** An engine was given what was told, and has not said that all of it is booked again. */
  let owed = false
  let sendings = 0

  function sendAll(): void {
    owed = true
    const sending = ++sendings
    const all = Array.from(bySlot.values(), ({ told }) => told)
    const sendFrom = (at: number) => {
      // Another engine, or another loss: all of it is sent anew.
      if (sending !== sendings) return
      const last = at + sentAtOnce >= all.length
      send(all.slice(at, at + sentAtOnce), last)
      if (!last) setImmediate(sendFrom, at + sentAtOnce)
    }
    sendFrom(0)
  }

  function letGo(nowMonoMs: number): void {
    for (const [slot, { toldMonoMs, order }] of bySlot) {
      const isSafe = order <= safe
      const isOld = isSafe && nowMonoMs - toldMonoMs > keptMs
      if (!isOld && bySlot.size <= maxKept) return
      if (!isSafe) forgotten++
      bySlot.delete(slot)
    }
  }

  return {
    get size() {
      return bySlot.size
    },
    get forgotten() {
      return forgotten
    },
    get losses() {
      return losses
    },
    find: (slot) => bySlot.get(slot)?.told,
    note(slot, told, nowMonoMs) {
      const known = bySlot.get(slot)
      // What is only booked again is no younger for it.
      if (known?.told === told) return
      // The last word counts, and what was told last is the last to go.
      if (known !== undefined) bySlot.delete(slot)
      bySlot.set(slot, { told, toldMonoMs: nowMonoMs, order: ++noted })
      letGo(nowMonoMs)
    },
    onCheckpoint(number) {
      // What is being booked again may not be there yet.
      if (owed) return
      keepNewest(checkpoints, number, noted, maxCheckpoints)
    },
    onKept(number, nowMonoMs) {
      safe = Math.max(safe, checkpoints.get(number) ?? 0)
      for (const each of checkpoints.keys()) if (each <= number) checkpoints.delete(each)
      letGo(nowMonoMs)
    },
    onLost() {
      losses++
      safe = 0
      checkpoints.clear()
      sendAll()
    },
    onRepeated() {
      owed = false
    },
    onEngineStart() {
      sendings++
      if (owed) sendAll()
    },
  }
}

/** Nothing was acknowledged yet. */
export function newMarks(writer: string): Marks {
  return {
    writer,
    acknowledged: new Float64Array(new SharedArrayBuffer(8 * maxPartitions)),
    epoch: new Int32Array(new SharedArrayBuffer(4)),
  }
}
