import { decodeEntry } from '../../src/engine/format/entry-codec.ts'
import { type Command, type Marks, type Store, StoreError } from '../../src/store/port.ts'
import { createMemoryStore, type Fault, type MemoryState } from './memory-store.ts'
import { createFailovers } from './protocol-failover.ts'
import type { Counts } from './protocol-story.ts'

/** What is kept back until the simulation lets it go on. */
interface Held {
  readonly kind: 'late' | 'delayed' | 'reply' | 'read'
  readonly release: () => void
  /** Its connection breaks. */
  readonly cut: () => void
}

export interface StoreWeather {
  readonly chance: (probability: number) => boolean
  readonly pick: <T>(values: readonly T[]) => T
  readonly note: (...words: unknown[]) => void
  readonly counts: Counts
  /** Of commits, how many go wrong. */
  faults: number
  /** Of those that add a claim to an ask that is approved already: few, and the delicate ones. */
  claimFaults: number
}

/** One database that any number of engines open, in the weather that the seed makes. */
export interface SharedStore {
  readonly state: MemoryState
  readonly held: readonly Held[]
  release(which: readonly Held[]): void
  /** How often another server has taken over. */
  readonly failovers: number
  /** Another server takes over: connections break, and what it lacks is lost. */
  failOver(): void
  /** A handle of one engine; `flying` holds its commands while they are on their way. */
  open(nowMs: () => number, flying: Set<readonly Command[]>, marks: Marks): Store
}

const faultKinds = ['refused', 'replyLost', 'late', 'late', 'delayed', 'delayed'] as const
const countOf = {
  refused: 'refused',
  replyLost: 'repliesLost',
  late: 'lateCommands',
  delayed: 'delayedCommands',
} as const

export function createSharedStore(state: MemoryState, weather: StoreWeather): SharedStore {
  const { chance, pick, note, counts } = weather
  const failovers = createFailovers(state, weather)
  let held: Held[] = []

  function hold(kind: Held['kind']): Promise<void> {
    return new Promise((resolve, reject) => {
      const cut = () => reject(new StoreError('cut off', kind === 'read' ? 'no' : 'unknown'))
      held.push({ kind, release: resolve, cut })
    })
  }

  function nextFault(commands: readonly Command[]): Fault {
    const claims = commands.some(isClaim)
    if (!chance(claims ? weather.claimFaults : weather.faults)) return { kind: 'none' }
    const kind = claims && chance(0.5) ? 'late' : pick(faultKinds)
    note('the store:', kind)
    counts[countOf[kind]]++
    if (kind === 'late') return { kind, release: hold(kind) }
    if (kind === 'delayed') return { kind, until: hold(kind) }
    return { kind }
  }

  return {
    state,
    get held() {
      return held
    },
    release(which) {
      held = held.filter((one) => !which.includes(one))
      for (const one of which) {
        note('releases', one.kind)
        one.release()
      }
    },
    get failovers() {
      return failovers.happened
    },
    failOver() {
      const cutOff = held
      held = []
      for (const one of cutOff) one.cut()
      failovers.failOver()
    },
    open(nowMs, flying, marks) {
      const losses = failovers.watch(marks)
      const { guard } = losses
      const store = createMemoryStore(state, { faults: nextFault, nowMs, guard })
      return {
        ...store,
        losses,
        async commit(commands) {
          if (losses.isLost) throw new StoreError('something is lost', 'no')
          flying.add(commands)
          try {
            const outcomes = await store.commit(commands)
            counts.conflicts += outcomes.filter((outcome) => outcome !== 'committed').length
            // Executed, while its reply is on the way: others may speak meanwhile.
            if (chance(weather.faults / 2)) await hold('reply')
            losses.acknowledge()
            return outcomes
          } finally {
            flying.delete(commands)
          }
        },
        async load(keys) {
          if (chance(weather.faults / 4)) throw new StoreError('cannot read', 'no')
          if (chance(weather.faults / 4)) await hold('read')
          if (!losses.isLost) losses.check()
          const loaded = await store.load(keys)
          if (chance(weather.faults / 4)) await hold('read')
          return loaded
        },
      }
    },
  }
}

function isClaim({ log }: Command): boolean {
  return log.some((line) => {
    const types = decodeEntry(line).changes.map(({ type }) => type)
    return types.includes('claimed') && !types.includes('holdPlaced')
  })
}

/** Whether a command that carries something for this slot is on its way. */
export function isFlying(flying: ReadonlySet<readonly Command[]>, slot: string): boolean {
  const name = `"${slot}"`
  for (const commands of flying) {
    if (commands.some(({ log }) => log.some((entry) => entry.includes(name)))) return true
  }
  return false
}
