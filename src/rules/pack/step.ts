/** Work that can be interrupted between any two of its steps. */
export type Steps<T> = Generator<void, T, void>

export function finish<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}

/** How long a slice may keep the event loop from its events. */
const sliceMs = 2

/** Does the work in slices, and lets the loop turn between them. */
export async function finishInSlices<T>(steps: Steps<T>, monoMs: () => number): Promise<T> {
  for (;;) {
    const untilMonoMs = monoMs() + sliceMs
    do {
      const { done, value } = steps.next()
      if (done === true) return value
    } while (monoMs() < untilMonoMs)
    await new Promise((resolve) => setImmediate(resolve))
  }
}
