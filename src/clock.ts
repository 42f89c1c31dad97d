import { dayMs } from './domain/record/calendar.ts'

/** The only place that reads a clock; everything else is given the time. */
export interface Clock {
  /** Wall clock, in milliseconds since 1970. */
  nowMs(): number
  /** A clock that never goes back, for budgets and durations. */
  monoMs(): number
}

export { dayMs }

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monoMs: () => performance.now(),
}

/** The machine's clocks; unlike that of `systemClock`, this monotonic one is the same in all threads. */
export const machineClock: Clock = {
  nowMs: () => Date.now(),
  monoMs: () => Number(process.hrtime.bigint()) / 1e6,
}

/** The time that all threads of a process agree on: what to add to the monotonic clock, and any doubt. */
export type SharedTime = BigInt64Array<SharedArrayBuffer>

const offsetCell = 0
const doubtCell = 1

/** Clocks may differ by so much, and be set by so much, and nobody cares. */
export const maxSlipMs = 60_000

/** A wall clock that is followed while it goes with the monotonic one, and not when it jumps. */
export interface FollowedClock extends Clock {
  /** True while the wall clock is not believed: then nothing expires, and nothing is dropped for its age. */
  isDoubted(): boolean
}

export function followTime(
  time: SharedTime,
  machine = machineClock,
  monoMs = systemClock.monoMs,
): FollowedClock {
  return {
    monoMs,
    nowMs() {
      const wallMs = machine.nowMs()
      const expectedMs = expectedIn(time, machine)
      return Math.abs(wallMs - expectedMs) <= maxSlipMs ? wallMs : Math.floor(expectedMs)
    },
    isDoubted() {
      if (Atomics.load(time, doubtCell) !== 0n) return true
      return Math.abs(machine.nowMs() - expectedIn(time, machine)) > maxSlipMs
    },
  }
}

function expectedIn(time: SharedTime, machine: Clock): number {
  return Number(Atomics.load(time, offsetCell)) / 1_000 + machine.monoMs()
}

export interface TrustedClock extends FollowedClock {
  readonly time: SharedTime
  /** Why the wall clock is not believed, for people; '' while it is. */
  readonly doubt: string
  /** Looks at the wall clock; to be called every second. */
  observe(): void
  /** What the store's servers say, each less the monotonic clock of that moment. */
  hear(serverOffsetsMs: readonly number[]): void
  /**
   * When the store was last written, null for never; it counts if no time before this process is known.
   * Until it is called, once, nothing is certain.
   */
  remember(newestMs: number | null): void
  /** A person says that the wall clock is right. False when the store's servers say otherwise. */
  accept(): boolean
}

/** A larger difference is never believed without a person. */
const maxUnattendedMs = dayMs
/** So long a wall clock must go steadily before a smaller one is believed: a machine that was suspended. */
const steadyMs = 10 * 60_000
/** The same when the store's servers agree with it. */
const agreedMs = 10_000

/**
 * Compares the wall clock with the monotonic clock, with the last time that was trusted before this process
 * (`markMs`, null: none) and with the clocks of the store's servers. While it disagrees, time goes on from
 * what was trusted last, by the monotonic clock.
 */
export function createTrustedClock(
  markMs: number | null,
  machine = machineClock,
  monoMs = systemClock.monoMs,
): TrustedClock {
  const time: SharedTime = new BigInt64Array(new SharedArrayBuffer(16))
  const followed = followTime(time, machine, monoMs)
  let memoryMs = markMs
  let servers: readonly number[] = []
  let heard = false
  let remembers = false
  /** Of a wall clock that jumped: what it has been ahead of the monotonic one, and since when. */
  let jumped: { readonly offsetMs: number; readonly sinceMonoMs: number } | null = null
  let doubt = ''

  const aheadMs = () => machine.nowMs() - expectedIn(time, machine)

  function follow(wallMs: number): void {
    Atomics.store(time, offsetCell, BigInt(Math.round((wallMs - machine.monoMs()) * 1_000)))
  }

  /** From the wall clock when it is not long after the last time that was trusted; else from that time. */
  function begin(): void {
    const wallMs = machine.nowMs()
    const sinceMs = memoryMs === null ? 0 : wallMs - memoryMs
    const isLikely = sinceMs >= -maxSlipMs && sinceMs <= maxUnattendedMs
    follow(isLikely ? wallMs : memoryMs!)
  }

  /** By how much a server differs, the one that differs most. */
  function serversAheadOf(wallMs: number): number {
    let most = 0
    for (const offsetMs of servers) {
      const differs = offsetMs + machine.monoMs() - wallMs
      if (Math.abs(differs) > Math.abs(most)) most = differs
    }
    return most
  }

  function judge(): void {
    const wallMs = machine.nowMs()
    if (Math.abs(aheadMs()) <= maxSlipMs || mayBeBelieved(wallMs)) {
      jumped = null
      follow(wallMs)
    }
    doubt = doubtNow(wallMs)
    Atomics.store(time, doubtCell, doubt === '' && remembers ? 0n : 1n)
  }

  function mayBeBelieved(wallMs: number): boolean {
    const offsetMs = wallMs - machine.monoMs()
    const isSteady = jumped !== null && Math.abs(jumped.offsetMs - offsetMs) <= maxSlipMs
    if (!isSteady) jumped = { offsetMs, sinceMonoMs: machine.monoMs() }
    const forMs = machine.monoMs() - jumped!.sinceMonoMs
    const agreed = servers.length > 0 && Math.abs(serversAheadOf(wallMs)) <= maxSlipMs
    return Math.abs(aheadMs()) <= maxUnattendedMs && forMs >= (agreed ? agreedMs : steadyMs)
  }

  function doubtNow(wallMs: number): string {
    const ahead = aheadMs()
    if (Math.abs(ahead) > maxSlipMs) {
      return `the wall clock is ${span(ahead)} the time that was trusted last`
    }
    const server = serversAheadOf(wallMs)
    return Math.abs(server) <= maxSlipMs ? '' : `the clock of Redis is ${span(server)} ours`
  }

  begin()
  judge()
  return {
    ...followed,
    time,
    get doubt() {
      return doubt
    },
    observe: judge,
    hear(serverOffsetsMs) {
      if (serverOffsetsMs.length === 0) return
      servers = serverOffsetsMs
      const differs = serversAheadOf(machine.nowMs())
      // At the start nothing speaks for the wall clock, and the servers are what all instances share.
      if (!heard && Math.abs(differs) > maxSlipMs) follow(machine.nowMs() + differs)
      heard = true
      judge()
    },
    remember(newestMs) {
      if (remembers) return
      remembers = true
      if (memoryMs === null) {
        memoryMs = newestMs
        begin()
      }
      judge()
    },
    accept() {
      const wallMs = machine.nowMs()
      if (Math.abs(serversAheadOf(wallMs)) > maxSlipMs) return false
      jumped = null
      follow(wallMs)
      judge()
      return true
    },
  }
}

const units = [
  [dayMs, 'days'],
  [3_600_000, 'hours'],
  [60_000, 'minutes'],
] as const

function span(ms: number): string {
  const size = Math.abs(ms)
  const [unitMs, name] = units.find(([unitMs]) => size >= 2 * unitMs) ?? [1_000, 'seconds']
  return `${Math.round(size / unitMs)} ${name} ${ms > 0 ? 'ahead of' : 'behind'}`
}
