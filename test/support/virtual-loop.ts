/**
 * Timers and immediates that run when a simulation says so: the same seed then gives the same
 * schedule on every machine, and waiting costs nothing.
 */
export interface VirtualLoop {
  /** Milliseconds since the loop began. */
  readonly nowMs: number
  /** What callbacks threw. */
  readonly errors: readonly unknown[]
  /** Runs the timers that come due, each with all promises that it settles before the next. */
  advance(ms: number): Promise<void>
  /** Runs the immediates of this turn, and every promise that they settle. */
  turn(): Promise<void>
  /** Nothing runs meanwhile: what comes due is late. */
  pause(ms: number): void
  /** Gives the real timers back. */
  uninstall(): void
}

interface Timer {
  readonly id: number
  readonly dueMs: number
  readonly run: () => void
}

type Callback = (...args: unknown[]) => void

const real = { setTimeout, clearTimeout, setImmediate }

/** Until `uninstall`, the global timers are those of this loop. */
export function installVirtualLoop(): VirtualLoop {
  let nowMs = 0
  let ids = 0
  let timers: Timer[] = []
  let immediates: (() => void)[] = []
  const errors: unknown[] = []

  Object.assign(globalThis, {
    setTimeout(callback: Callback, ms = 0, ...args: unknown[]) {
      const timer = { id: ids++, dueMs: nowMs + Math.max(0, ms), run: () => callback(...args) }
      timers.push(timer)
      return timer.id
    },
    clearTimeout(id: unknown) {
      timers = timers.filter((timer) => timer.id !== id)
    },
    setImmediate(callback: Callback, ...args: unknown[]) {
      immediates.push(() => callback(...args))
    },
  })

  function run(callback: () => void): void {
    try {
      callback()
    } catch (error) {
      errors.push(error)
    }
  }

  /** A turn of the real loop comes after all promises that can be settled. */
  function settle(): Promise<void> {
    return new Promise((resolve) => real.setImmediate(resolve))
  }

  function nextTimer(untilMs: number): Timer | undefined {
    let next: Timer | undefined
    for (const timer of timers) {
      if (timer.dueMs <= untilMs && (next === undefined || timer.dueMs < next.dueMs)) next = timer
    }
    return next
  }

  async function advance(ms: number): Promise<void> {
    const untilMs = nowMs + ms
    for (let timer = nextTimer(untilMs); timer !== undefined; timer = nextTimer(untilMs)) {
      const { id, dueMs } = timer
      timers = timers.filter((other) => other.id !== id)
      nowMs = Math.max(nowMs, dueMs)
      run(timer.run)
      await settle()
    }
    nowMs = untilMs
  }

  return {
    get nowMs() {
      return nowMs
    },
    errors,
    advance,
    async turn() {
      const batch = immediates
      immediates = []
      for (const immediate of batch) run(immediate)
      await settle()
      await advance(0)
    },
    pause(ms) {
      nowMs += ms
    },
    uninstall() {
      Object.assign(globalThis, real)
    },
  }
}
