import type { Clock } from '../../clock.ts'
import type { PartOutcome } from '../../store/port.ts'
import { abandon, settle } from '../change/account-change.ts'
import type { Cache } from '../memory/cache.ts'
import type { OpenDeliveries } from '../open-deliveries.ts'
import type { StandInDesk } from '../stand-in/desk.ts'
import type { Flight } from './departures.ts'
import type { Patience } from './patience.ts'
import type { Queue, Queues } from './queue.ts'
import type { StoreWatch } from './store-watch.ts'

/** What becomes of a batch after its commit: it is said, or decided again. */
export interface Landings {
  /** Commits that another writer's commit came before. */
  readonly conflicts: number
  /** Whether another writer came before us of late. */
  readonly isContested: boolean
  /** Committed, or nothing had to be written: now, and only now, it may be said. */
  finish(flight: Flight, sentMonoMs: number): void
  /** Another version is there, or may be: forget what memory held, read again, decide again. */
  retry(flight: Flight, failure: Failure): void
  /** Lets an account rest after a try that did not commit. */
  backOff(queue: Queue, storeFails: boolean): void
}

export interface LandingsOptions {
  readonly clock: Clock
  readonly cache: Cache
  readonly queues: Queues
  readonly open: Pick<OpenDeliveries, 'tell'>
  readonly patience: Patience
  readonly standIns: StandInDesk
  readonly schedule: () => void
  readonly storeWatch: Pick<StoreWatch, 'problem'>
}

type Failure = Exclude<PartOutcome, 'committed'>

/** A writer that came before us once is expected again for so long. */
const contestedMs = 1_000

/** Tries in a row that did not commit, some six seconds of a store that is away: a call has ten. */
const maxChangeTries = 60

export function createLandings(options: LandingsOptions): Landings {
  const { clock, cache, queues, open, patience, standIns, schedule } = options
  let conflicts = 0
  let conflictMonoMs = Number.NEGATIVE_INFINITY

  function finish(flight: Flight, sentMonoMs: number): void {
    const { queue, cached, batch, decideMs, startedMonoMs } = flight
    if (batch.command !== null) cached.version = batch.command.newVersion
    standIns.landed(queue.aggregate)
    cache.settle(cached)
    // Another server may open it, and nothing that is said of what is not there is checked by a commit.
    if (cached.root === null) cache.drop(queue.aggregate)
    const commitMs = clock.monoMs() - sentMonoMs
    queue.failures = 0
    for (const item of batch.decided) {
      if (item.kind === 'sweep') item.done()
      else if (item.kind === 'operation') item.done(item.outcome)
      else if (item.kind === 'change') settle(item)
      else open.tell(item, { queueMs: startedMonoMs - item.enqueuedMonoMs, decideMs, commitMs })
    }
    if (queue.crowded) patience.giveWay(queue, commitMs)
    else queues.arrive(queue)
    schedule()
  }

  function retry({ queue, cached, batch }: Flight, failure: Failure): void {
    if (failure === 'refused' || failure === 'unknown') standIns.keep(cached)
    cache.drop(queue.aggregate)
    if (failure === 'conflict') {
      conflicts++
      conflictMonoMs = clock.monoMs()
    }
    for (const item of batch.decided) {
      if (item.kind !== 'delivery' && item.kind !== 'change') continue
      if (failure !== 'conflict') item.mayExist = true
      if (failure === 'unknown') item.mayStillCommit = true
      if (item.kind === 'change') continue
      // The last word counts: what was told may be booked again while the gate says otherwise.
      item.said = item.saidInFlight ?? item.said
      item.saidInFlight = null
    }
    queues.giveBack(queue, batch.decided)
    backOff(queue, failure === 'refused' || failure === 'unknown')
  }

  /** Events are tried for ever; who asked for a change is told, and can ask again. */
  function backOff(queue: Queue, storeFails: boolean): void {
    patience.backOff(queue, storeFails)
    if (queue.failures < maxChangeTries) return
    const over = queue.waiting.filter((item) => item.kind === 'change')
    queues.takeOut(queue, new Set(over))
    const { problem: why } = options.storeWatch
    const message = `the store takes no commits${why === '' ? '' : `: ${why}`}`
    for (const item of over) abandon(item, message)
  }

  return {
    get conflicts() {
      return conflicts
    },
    get isContested() {
      return clock.monoMs() - conflictMonoMs < contestedMs
    },
    finish,
    retry,
    backOff,
  }
}
