/** Work that is done again and again. */
export interface Routine {
  /** Does it now, unless it is under way. */
  now(): void
  stop(): void
}

/** Never twice at once: a turn that comes while the work is under way is left out. It keeps no process alive. */
export function startRoutine(everyMs: number, work: () => Promise<unknown>): Routine {
  let isUnderWay = false
  async function now(): Promise<void> {
    if (isUnderWay) return
    isUnderWay = true
    await work().finally(() => {
      isUnderWay = false
    })
  }
  const timer = setInterval(now, everyMs)
  timer.unref()
  return { now: () => void now(), stop: () => clearInterval(timer) }
}

/** What the work resolves to; what `late` gives when it takes longer: the work then goes on. */
export function within<T, L>(
  ms: number,
  work: Promise<T>,
  late: () => L | Promise<L>,
): Promise<T | L> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(late()), ms)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/** Resolves when the work ends, or when so much time has passed: the work then goes on. */
export async function waitAtMost(ms: number, work: Promise<unknown>): Promise<void> {
  await within(ms, work, () => undefined)
}
