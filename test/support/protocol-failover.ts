import {
  type LossListener,
  type LossWatch,
  type Marks,
  type Outcome,
  StoreError,
} from '../../src/store/port.ts'
import type { MemoryState } from './memory-store.ts'
import type { StoreWeather } from './protocol-store.ts'

/** A server of the simulated store: what it holds, and the marks of all writers. */
interface Server {
  readonly state: MemoryState
  readonly marks: Map<string, number>
}

/**
 * Replicas that are behind, and take over: what was executed since they caught up is lost, or some of it.
 * The server that is left may come back as it was. Nothing tells the engines but the data.
 */
export interface Failovers {
  readonly happened: number
  /** Another server answers from now on. */
  failOver(): void
  /** The marks of one process at whatever server answers. */
  watch(marks: Marks): Watched
}

interface Watched extends LossWatch {
  readonly isLost: boolean
  /** Throws where less is than was acknowledged. */
  check(): void
  /** For one call, made now; executed it may be later. */
  guard(): (execute: () => Outcome[]) => Outcome[]
  /** The reply of the last call that was executed has arrived. */
  acknowledge(): void
}

/** Above every mark of before a loss. */
const epochSize = 1_000_000
const maxBehind = 6

export function createFailovers(state: MemoryState, weather: StoreWeather): Failovers {
  const { chance, pick, note, counts } = weather
  const marks = new Map<string, number>()
  /** What replicas may have: the oldest is what all of them have. */
  let behind: Server[] = [copy()]
  let left: Server | null = null
  let happened = 0
  /** New connections to whoever answers now. */
  const reconnects: (() => void)[] = []

  function copy(): Server {
    return structuredClone({ state, marks })
  }

  function become(server: Server): void {
    const next = structuredClone(server)
    refill(state.aggregates, next.state.aggregates)
    refill(state.indexes, next.state.indexes)
    state.log.splice(0, state.log.length, ...next.state.log)
    state.nextSequence = next.state.nextSequence
    refill(marks, next.marks)
  }

  function remember(): void {
    behind.push(copy())
    if (behind.length > maxBehind) behind = behind.slice(-maxBehind)
  }

  return {
    get happened() {
      return happened
    },
    failOver() {
      happened++
      const failsBack = left !== null && chance(0.4)
      const next = failsBack ? left! : pick(behind)
      note(failsBack ? 'the server that was left is back' : 'a replica takes over')
      counts[failsBack ? 'failBacks' : 'failovers']++
      left = copy()
      become(next)
      behind = [copy()]
      for (const reconnect of reconnects) reconnect()
    },
    watch({ writer, acknowledged, epoch }) {
      let listener: LossListener | null = null
      let isLost = false
      let telling = false
      let checkpoints = 0
      let executed = 0
      let resumed = 0
      let base = nextBase()
      reconnects.push(() => {
        base = nextBase()
      })

      function nextBase(): number {
        return epochSize * (Atomics.add(epoch, 0, 1) + 1)
      }

      const markHere = () => marks.get(writer) ?? 0

      function lose(): void {
        isLost = true
        if (telling || listener === null) return
        telling = true
        counts.losses++
        note(writer, 'finds that something is lost')
        listener.onLoss()
      }

      function checkAgainst(expected: number): void {
        if (markHere() >= expected) return
        // A command of before the last resumption is no second loss.
        if (expected >= resumed) lose()
        throw new StoreError('less is here than was acknowledged', 'no')
      }

      return {
        get isLost() {
          return isLost
        },
        watch(by) {
          listener = by
        },
        check: () => checkAgainst(acknowledged[0]!),
        guard() {
          const expected = acknowledged[0]!
          const above = base
          return (execute) => {
            checkAgainst(expected)
            const outcomes = execute()
            executed = Math.max(markHere(), above) + 1
            marks.set(writer, executed)
            remember()
            return outcomes
          }
        },
        acknowledge() {
          acknowledged[0] = Math.max(acknowledged[0]!, executed)
        },
        async look() {
          const number = ++checkpoints
          listener?.onCheckpoint(number)
          if (isLost || markHere() < acknowledged[0]!) lose()
          else if (left !== null) {
            // It follows the new one, and gives up what it had.
            if (chance(0.3)) left = null
          } else if (chance(0.6)) {
            behind = [copy()]
            listener?.onKept(number)
          }
        },
        async resume() {
          telling = false
          if (chance(weather.faults / 4)) throw new StoreError('cannot resume', 'no')
          resumed = nextBase()
          acknowledged[0] = resumed
          marks.set(writer, resumed)
          remember()
          isLost = false
        },
      }
    },
  }
}

function refill<K, V>(map: Map<K, V>, from: ReadonlyMap<K, V>): void {
  map.clear()
  for (const [key, value] of from) map.set(key, value)
}
