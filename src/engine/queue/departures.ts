import type { Clock } from '../../clock.ts'
import { failureText } from '../../store/failure-text.ts'
import {
  type Command,
  PartlyFailed,
  type PartOutcome,
  type Store,
  StoreError,
} from '../../store/port.ts'
import type { Batch } from '../batch.ts'
import type { CachedAccount } from '../memory/cache.ts'
import type { Queue } from './queue.ts'
import type { StoreWatch } from './store-watch.ts'

/** A decided batch on its way to the store. */
export interface Flight {
  readonly queue: Queue
  /** What it was decided on. */
  readonly cached: CachedAccount
  readonly batch: Batch
  readonly startedMonoMs: number
  readonly decideMs: number
}

/** Flights that go to the store together. */
export interface Departures {
  readonly commits: number
  readonly commands: number
  /** Flights with a command. They leave at once, or with others while the store writes. */
  add(flights: readonly Flight[]): void
}

export interface DeparturesOptions {
  readonly store: Pick<Store, 'commit'>
  readonly clock: Clock
  /** Nothing is sent, or heard of, any more. */
  readonly isOver: () => boolean
  readonly noteStore: StoreWatch['note']
  readonly onArrived: (flight: Flight, outcome: PartOutcome, sentMonoMs: number) => void
}

/**
 * What is decided while the store writes waits for that, and then goes together: so commits grow when the
 * store is the bottleneck, and are small when it is not. They never wait long, because a store can hang.
 */
const maxHeld = 64
const maxHeldMs = 2

export function createDepartures(options: DeparturesOptions): Departures {
  const { store, clock, isOver } = options
  let held: Flight[] = []
  let timer: NodeJS.Timeout | undefined
  let underWay = 0
  let commits = 0
  let commands = 0

  function depart(): void {
    clearTimeout(timer)
    timer = undefined
    if (held.length === 0) return
    const flights = held
    held = []
    void send(flights)
  }

  async function send(flights: readonly Flight[]): Promise<void> {
    // After the last read of what it was decided on: see `isRetired`.
    if (isOver()) return
    const sentMonoMs = clock.monoMs()
    commits++
    commands += flights.length
    let outcomes: readonly PartOutcome[]
    underWay++
    try {
      outcomes = await store.commit(flights.map(({ batch }) => batch.command as Command))
      options.noteStore('', 'commit')
    } catch (error) {
      outcomes = failuresOf(error, flights.length)
      options.noteStore(outcomes.includes('committed') ? '' : failureText(error), 'commit')
    }
    underWay--
    depart()
    if (isOver()) return
    for (const [i, flight] of flights.entries()) {
      options.onArrived(flight, outcomes[i]!, sentMonoMs)
    }
  }

  return {
    get commits() {
      return commits
    },
    get commands() {
      return commands
    },
    add(flights) {
      for (const flight of flights) held.push(flight)
      if (underWay === 0 || held.length >= maxHeld) depart()
      else if (held.length > 0) timer ??= setTimeout(depart, maxHeldMs)
    },
  }
}

/** One account's failure, or one node's, does not fail the commits of the others. */
function failuresOf(error: unknown, count: number): readonly PartOutcome[] {
  if (error instanceof PartlyFailed) return error.outcomes
  const refused = error instanceof StoreError && error.executed === 'no'
  return new Array<PartOutcome>(count).fill(refused ? 'refused' : 'unknown')
}
