/** Waits that can be cut short, so that a run ends when it is told to. */
export interface Pauses {
  sleep(ms: number): Promise<void>
  /** Ends all that wait, and those to come at once. */
  end(): void
}

export function createPauses(): Pauses {
  const waiting = new Set<() => void>()
  let ended = false
  return {
    sleep(ms) {
      if (ended || ms <= 0) return Promise.resolve()
      return new Promise((resolve) => {
        const finish = () => {
          clearTimeout(timer)
          waiting.delete(finish)
          resolve()
        }
        const timer = setTimeout(finish, ms)
        waiting.add(finish)
      })
    },
    end() {
      ended = true
      for (const finish of [...waiting]) finish()
    },
  }
}
