export interface Turns {
  /** What arrives in one turn of the loop is decided and committed together, in portions. */
  schedule(): void
  /** Whether nothing may be begun any more. */
  isOver(): boolean
  /** Resolves at the end of a turn after which nothing waits or is in flight. */
  idle(): Promise<void>
  stop(): void
}

interface TurnsOptions {
  readonly work: () => void
  readonly isBusy: () => boolean
  /** Another engine has taken over. */
  readonly isRetired?: (() => boolean) | undefined
}

/** When the engine works: once in each turn of the loop in which there is something to do. */
export function createTurns({ work, isBusy, isRetired }: TurnsOptions): Turns {
  let scheduled = false
  let stopped = false
  let waiters: (() => void)[] = []

  function schedule(): void {
    if (scheduled || stopped) return
    scheduled = true
    setImmediate(turn)
  }

  function turn(): void {
    scheduled = false
    if (stopped) return
    work()
    if (isBusy()) return
    const told = waiters
    waiters = []
    for (const tell of told) tell()
  }

  return {
    schedule,
    isOver() {
      stopped ||= isRetired?.() === true
      return stopped
    },
    idle() {
      return new Promise((resolve) => {
        waiters.push(resolve)
        schedule()
      })
    },
    stop() {
      stopped = true
    },
  }
}
